import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';

import { delivery, scan } from '../helpers/build.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

describe('uploads', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const statusOf = async (reference: string): Promise<unknown> =>
    (await service.get(`/deliveries/${reference}`)).body['status'];

  test('every line is taken in', async () => {
    const [one, two] = [await delivery(service), await delivery(service, ['collected', 'at_depot'])];
    const first = scan(one, 'collected');
    const reply = await service.upload([
      first,
      first,
      scan(one, 'at_depot'),
      scan(two, 'on_van', { scanned_at: '2026-03-27T09:00:00Z' }),
    ]);
    assert.equal(reply.status, 201);
    assert.deepEqual(reply.body, { applied: 2, late: 1, repeated: 1 });
    assert.equal(await statusOf(one), 'at_depot');
    assert.equal(await statusOf(two), 'at_depot');
  });

  test('one bad line and nothing is taken in', async () => {
    const [one, two] = [await delivery(service), await delivery(service)];
    const reply = await service.upload([scan(one, 'collected'), scan(two, 'delivered')]);
    assert.equal(reply.status, 409);
    assert.match(String(reply.body['message']), /^line 2: /);
    assert.equal(await statusOf(one), 'booked');
  });

  test('a line that is not JSON is named', async () => {
    const one = await delivery(service);
    const body = `${JSON.stringify(scan(one, 'collected'))}\n\nnot json\n`;
    const reply = await fetch(`${service.url}/uploads`, { method: 'POST', body });
    assert.equal(reply.status, 400);
    assert.match(((await reply.json()) as { message: string }).message, /line 2 is not JSON/);
    assert.equal(await statusOf(one), 'booked');
  });

  test('an upload has at most 200 lines', async () => {
    const one = await delivery(service);
    const line = scan(one, 'collected');
    const most = await service.upload(Array.from({ length: 200 }, () => line));
    assert.deepEqual(most.body, { applied: 1, late: 0, repeated: 199 });
    const tooMany = await service.upload(Array.from({ length: 201 }, () => line));
    assert.equal(tooMany.status, 413);
  });

  test('a last line without its line end counts', async () => {
    const one = await delivery(service);
    const reply = await fetch(`${service.url}/uploads`, { method: 'POST', body: JSON.stringify(scan(one, 'collected')) });
    assert.equal(reply.status, 201);
    assert.equal(await statusOf(one), 'collected');
  });

  test('a handheld that loses its connection has changed nothing', async () => {
    const one = await delivery(service);
    await new Promise<void>((resolve) => {
      const upload = request(`${service.url}/uploads`, { method: 'POST' });
      upload.on('error', () => resolve());
      upload.write(`${JSON.stringify(scan(one, 'collected'))}\n`);
      setTimeout(() => upload.destroy(), 150);
    });
    const retry = await service.post('/scans', scan(one, 'collected'));
    assert.deepEqual(retry.body, { outcome: 'applied' });
  });
});
