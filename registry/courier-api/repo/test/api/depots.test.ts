import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { delivery, scan } from '../helpers/build.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

describe('depots', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const handOver = async (depot: string, promisedOn: string, scannedAt: string): Promise<void> => {
    const reference = await delivery(service, [], { depot, promised_on: promisedOn });
    for (const status of ['collected', 'at_depot', 'on_van', 'delivered']) {
      await service.post('/scans', scan(reference, status, { scanned_at: scannedAt }));
    }
  };

  test('depots are listed by code', async () => {
    const { body } = await service.get<{ depots: { code: string }[] }>('/depots');
    assert.deepEqual(
      body.depots.map((depot) => depot.code),
      ['AKL', 'HEL', 'LIS'],
    );
  });

  test('a day is the one on the wall of the depot', async () => {
    await handOver('AKL', '2026-03-10', '2026-03-09T11:30:00Z');
    const { body } = await service.get('/depots/AKL/day?on=2026-03-10');
    assert.equal(body['delivered'], 1);
    assert.equal(body['delivered_late'], 0);
    assert.equal((await service.get('/depots/AKL/day?on=2026-03-09')).body['delivered'], 0);
  });

  test('the short day of the change to summer time has 23 hours', async () => {
    await handOver('HEL', '2026-03-29', '2026-03-28T21:59:00Z');
    await handOver('HEL', '2026-03-29', '2026-03-28T22:00:00Z');
    await handOver('HEL', '2026-03-29', '2026-03-29T20:59:00Z');
    await handOver('HEL', '2026-03-29', '2026-03-29T21:00:00Z');
    const { body } = await service.get('/depots/HEL/day?on=2026-03-29');
    assert.equal(body['delivered'], 2);
    assert.equal((await service.get('/depots/HEL/day?on=2026-03-30')).body['delivered_late'], 1);
  });

  test('a sheet counts what was promised by how it stands', async () => {
    const promised = { depot: 'LIS', promised_on: '2026-04-01' };
    await delivery(service, [], promised);
    await delivery(service, ['collected'], promised);
    await delivery(service, ['collected'], promised);
    const { body } = await service.get<{ promised: number; statuses: Record<string, number> }>(
      '/depots/LIS/day?on=2026-04-01',
    );
    assert.equal(body.promised, 3);
    assert.equal(body.statuses['booked'], 1);
    assert.equal(body.statuses['collected'], 2);
    assert.equal(body.statuses['delivered'], 0);
  });

  test('a sheet needs a day that exists and a depot that does', async () => {
    assert.equal((await service.get('/depots/LIS/day?on=2026-02-30')).status, 400);
    assert.equal((await service.get('/depots/XXX/day?on=2026-02-01')).status, 404);
    assert.equal((await service.get('/depots/LIS/day')).status, 200);
  });
});
