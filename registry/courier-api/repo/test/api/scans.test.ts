import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { delivery, scan } from '../helpers/build.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

interface Detail {
  status: string;
  scans: { status: string; applied: boolean; note: string; scanned_at: string }[];
}

describe('scans', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const detail = async (reference: string): Promise<Detail> =>
    (await service.get<Detail>(`/deliveries/${reference}`)).body;

  test('a scan moves the delivery on', async () => {
    const reference = await delivery(service);
    const reply = await service.post('/scans', scan(reference, 'collected', { note: 'side door' }));
    assert.equal(reply.status, 201);
    assert.deepEqual(reply.body, { outcome: 'applied' });
    const { status, scans } = await detail(reference);
    assert.equal(status, 'collected');
    assert.deepEqual(scans, [
      { status: 'collected', scanned_at: '2026-03-28T09:00:00.000Z', note: 'side door', applied: true },
    ]);
  });

  test('the same scan sent twice counts once', async () => {
    const reference = await delivery(service);
    const once = scan(reference, 'collected');
    await service.post('/scans', once);
    const again = await service.post('/scans', once);
    assert.equal(again.status, 200);
    assert.deepEqual(again.body, { outcome: 'repeated' });
    assert.equal((await detail(reference)).scans.length, 1);
  });

  test('a scan that comes too late is kept but moves nothing', async () => {
    const reference = await delivery(service, ['collected', 'at_depot']);
    const late = await service.post('/scans', scan(reference, 'on_van', { scanned_at: '2026-03-28T08:59:59Z' }));
    assert.deepEqual(late.body, { outcome: 'late' });
    const { status, scans } = await detail(reference);
    assert.equal(status, 'at_depot');
    assert.deepEqual(
      scans.map((each) => [each.status, each.applied]),
      [
        ['on_van', false],
        ['collected', true],
        ['at_depot', true],
      ],
    );
  });

  test('a step that is not allowed is refused', async () => {
    const reference = await delivery(service);
    const reply = await service.post('/scans', scan(reference, 'delivered'));
    assert.equal(reply.status, 409);
    assert.equal(reply.body['error'], 'bad_transition');
    assert.equal((await service.post('/scans', scan('NONE-1', 'collected'))).status, 404);
    assert.deepEqual(await detail(reference).then(({ scans }) => scans), []);
  });

  test('two vans cannot both hand over one parcel', async () => {
    const reference = await delivery(service, ['collected', 'at_depot', 'on_van']);
    const replies = await Promise.all(
      [1, 2, 3, 4].map(() => service.post('/scans', scan(reference, 'delivered'))),
    );
    assert.deepEqual(replies.map((reply) => reply.status).sort(), [201, 409, 409, 409]);
  });
});
