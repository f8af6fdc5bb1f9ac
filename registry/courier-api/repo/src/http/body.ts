import type { IncomingMessage } from 'node:http';

import { badRequest, Refusal } from '../domain/errors.ts';

const JSON_BYTES = 16_384;
const LINE_BYTES = 4_096;

/** The whole body as one JSON value. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of chunks(request)) {
    text += chunk;
    if (text.length > JSON_BYTES) throw tooLarge(`a body has at most ${JSON_BYTES} characters`);
  }
  return parse(text, 'the body');
}

/** The JSON values of a body that has one on each line, as they arrive; empty lines are skipped. */
export async function* readLines(request: IncomingMessage, most: number): AsyncGenerator<unknown> {
  let pending = '';
  let count = 0;
  for await (const chunk of chunks(request)) {
    pending += chunk;
    let end = pending.indexOf('\n');
    while (end >= 0) {
      const line = pending.slice(0, end).trim();
      pending = pending.slice(end + 1);
      if (line !== '') {
        if (++count > most) throw tooLarge(`an upload has at most ${most} lines`);
        yield parse(line, `line ${count}`);
      }
      end = pending.indexOf('\n');
    }
    if (pending.length > LINE_BYTES) throw tooLarge(`a line has at most ${LINE_BYTES} characters`);
  }
  if (!request.complete) throw badRequest('upload_cut_off', 'the upload ended too early');
  if (pending.trim() !== '') {
    if (++count > most) throw tooLarge(`an upload has at most ${most} lines`);
    yield parse(pending, `line ${count}`);
  }
}

/** The body's text. Who stops early leaves the connection open: the answer still goes out on it. */
function chunks(request: IncomingMessage): AsyncIterable<string> {
  request.setEncoding('utf8');
  return request.iterator({ destroyOnReturn: false }) as AsyncIterable<string>;
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest('bad_json', `${what} is not JSON`);
  }
}

function tooLarge(message: string): Refusal {
  return new Refusal(413, 'too_large', message);
}
