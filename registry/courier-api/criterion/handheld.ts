/**
 * What a van's handheld runs when it is in reach again: sends the scans on standard input, one JSON
 * object a line, as one upload, each line as soon as it is there. Prints the answer.
 *
 *     node bin/handheld.ts http://127.0.0.1:8080 < scans.ndjson
 */
import { request } from 'node:http';

const base = process.argv[2];
if (!base) {
  console.error('usage: handheld URL < scans.ndjson');
  process.exit(2);
}

const upload = request(new URL('/uploads', base), {
  method: 'POST',
  headers: { 'content-type': 'application/x-ndjson' },
});
upload.on('response', (response) => {
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => (text += chunk));
  response.on('end', () => {
    console.log(text);
    process.exit(response.statusCode === 201 ? 0 : 1);
  });
});
upload.on('error', (error) => {
  console.error(error.message);
  process.exit(1);
});
upload.flushHeaders();
process.stdin.pipe(upload);
