import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { booking, delivery } from '../helpers/build.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

interface Page {
  deliveries: { reference: string; status: string }[];
  next: string | null;
}

describe('deliveries', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  test('a booking is answered as it is kept', async () => {
    const wanted = booking();
    const reply = await service.post('/deliveries', wanted);
    assert.equal(reply.status, 201);
    assert.deepEqual(reply.body, { ...wanted, status: 'booked' });
    const again = await service.get(`/deliveries/${wanted['reference']}`);
    assert.deepEqual(again.body, { ...wanted, status: 'booked', scans: [] });
  });

  test('a reference is taken once', async () => {
    const reference = await delivery(service);
    const reply = await service.post('/deliveries', booking({ reference }));
    assert.equal(reply.status, 409);
    assert.equal(reply.body['error'], 'reference_taken');
  });

  test('a booking for an unknown depot or an impossible day is refused', async () => {
    for (const bad of [{ depot: 'XXX' }, { promised_on: '2026-02-30' }, { reference: 'low' }]) {
      const reply = await service.post('/deliveries', booking(bad));
      assert.equal(reply.status, 400, JSON.stringify(bad));
      assert.equal(reply.body['error'], 'bad_input');
    }
  });

  test('what is not there is not found', async () => {
    assert.equal((await service.get('/deliveries/NONE-1')).status, 404);
    assert.equal((await service.get('/nothing')).status, 404);
    assert.equal((await service.get('/deliveries/%E0%A4%A')).status, 404);
  });

  test('a wrong method names the right ones', async () => {
    const reply = await service.post('/depots', {});
    assert.equal(reply.status, 405);
    assert.equal(reply.headers.get('allow'), 'GET');
    const both = await fetch(`${service.url}/deliveries`, { method: 'DELETE' });
    assert.equal(both.headers.get('allow'), 'GET, POST');
  });

  test('a body that is not JSON or too long is refused', async () => {
    const text = await fetch(`${service.url}/deliveries`, { method: 'POST', body: '{' });
    assert.equal(text.status, 400);
    const long = await fetch(`${service.url}/deliveries`, { method: 'POST', body: 'x'.repeat(17_000) });
    assert.equal(long.status, 413);
  });

  test('a list goes on where the last page ended', async () => {
    const wanted: string[] = [];
    for (let each = 0; each < 7; each += 1) wanted.push(await delivery(service, [], { depot: 'HEL' }));
    const seen: string[] = [];
    const sizes: number[] = [];
    let path = '/deliveries?depot=HEL&limit=3';
    for (;;) {
      const { body } = await service.get<Page>(path);
      seen.push(...body.deliveries.map((each) => each.reference));
      sizes.push(body.deliveries.length);
      if (body.next === null) break;
      path = `/deliveries?depot=HEL&limit=3&after=${body.next}`;
    }
    assert.deepEqual(seen, wanted.toSorted());
    assert.deepEqual(sizes, [3, 3, 1]);
  });

  test('a full last page is the last', async () => {
    for (let each = 0; each < 2; each += 1) await delivery(service, ['collected'], { depot: 'AKL' });
    const { body } = await service.get<Page>('/deliveries?depot=AKL&limit=2');
    assert.equal(body.deliveries.length, 2);
    assert.equal(body.next, null);
  });

  test('a list can be narrowed to a status', async () => {
    const reference = await delivery(service, ['collected', 'at_depot']);
    const { body } = await service.get<Page>('/deliveries?status=at_depot');
    assert.deepEqual(
      body.deliveries.map((each) => each.reference),
      [reference],
    );
    assert.equal((await service.get('/deliveries?status=lost')).status, 400);
    assert.equal((await service.get('/deliveries?limit=0')).status, 400);
    assert.equal((await service.get('/deliveries?after=zzz')).status, 400);
  });

  test('the service tells that it is well', async () => {
    assert.deepEqual((await service.get('/healthz')).body, { status: 'ok' });
  });
});
