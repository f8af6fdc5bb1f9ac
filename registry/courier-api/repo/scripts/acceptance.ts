/**
 * The symptom as dispatchers see it most: one van's upload, then a board that follows the changes.
 * Red as long as the board misses any of it. Green is necessary for the milestone, not sufficient.
 */
import { delivery, scan } from '../test/helpers/build.ts';
import { startTestService } from '../test/helpers/service.ts';

interface Page {
  changes: { reference: string }[];
  cursor: string;
  more: boolean;
}

const SCANS = 40;
const service = await startTestService();
try {
  const references: string[] = [];
  for (let each = 0; each < SCANS; each += 1) references.push(await delivery(service));
  let { cursor } = (await service.get<Page>('/board?depot=LIS')).body;
  const upload = await service.upload(references.map((reference) => scan(reference, 'collected')));
  if (upload.status !== 201) throw new Error(`the upload was answered ${upload.status}`);

  const seen: string[] = [];
  for (let polls = 0, more = true; more && polls < SCANS; polls += 1) {
    const { body } = await service.get<Page>(`/changes?after=${cursor}`);
    seen.push(...body.changes.map((change) => change.reference));
    ({ cursor, more } = body);
  }
  const once = references.filter((reference) => seen.filter((each) => each === reference).length === 1);
  console.log(`${once.length} of ${SCANS} changes came exactly once`);
  if (once.length < SCANS) process.exitCode = 1;
} finally {
  await service.stop();
}
