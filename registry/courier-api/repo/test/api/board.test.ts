import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { delivery, scan } from '../helpers/build.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

interface Board {
  deliveries: { reference: string; status: string }[];
  cursor: string;
}

interface Page {
  changes: { reference: string; depot: string; status: string }[];
  cursor: string;
  more: boolean;
}

const TOMORROW = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
const LONG_AGO = '2026-01-02';

describe('board', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const board = async (depot: string): Promise<Board> => (await service.get<Board>(`/board?depot=${depot}`)).body;
  const changes = async (cursor: string, limit = 25): Promise<Page> =>
    (await service.get<Page>(`/changes?after=${cursor}&limit=${limit}`)).body;

  test('a board has what is on its way and what is promised from today on', async () => {
    const open = await delivery(service, [], { depot: 'HEL', promised_on: LONG_AGO });
    const through = ['collected', 'at_depot', 'on_van', 'delivered'];
    const fresh = await delivery(service, through, { depot: 'HEL', promised_on: TOMORROW });
    await delivery(service, through, { depot: 'HEL', promised_on: LONG_AGO });
    await delivery(service, [], { depot: 'AKL' });
    assert.deepEqual(
      (await board('HEL')).deliveries.map((each) => [each.reference, each.status]),
      [
        [open, 'booked'],
        [fresh, 'delivered'],
      ],
    );
  });

  test('nothing has changed since the board was read', async () => {
    await delivery(service);
    const { cursor } = await board('LIS');
    const page = await changes(cursor);
    assert.deepEqual(page.changes, []);
    assert.equal(page.more, false);
    assert.equal(page.cursor, cursor);
  });

  test('a change follows the board', async () => {
    const reference = await delivery(service);
    const { cursor } = await board('LIS');
    await service.post('/scans', scan(reference, 'collected'));
    const page = await changes(cursor);
    assert.deepEqual(
      page.changes.map(({ reference, depot, status }) => ({ reference, depot, status })),
      [{ reference, depot: 'LIS', status: 'collected' }],
    );
    assert.deepEqual((await changes(page.cursor)).changes, []);
  });

  test('changes come in pages', async () => {
    const { cursor } = await board('LIS');
    const wanted: string[] = [];
    for (let each = 0; each < 5; each += 1) {
      wanted.push(await delivery(service));
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    const first = await changes(cursor, 3);
    const second = await changes(first.cursor, 3);
    assert.deepEqual(
      [...first.changes, ...second.changes].map((each) => each.reference),
      wanted,
    );
    assert.deepEqual([first.more, second.more], [true, false]);
  });

  test('a full page that is the last says so', async () => {
    const { cursor } = await board('LIS');
    await delivery(service);
    assert.equal((await changes(cursor, 1)).more, false);
  });

  test('a scan that moves nothing is no change', async () => {
    const reference = await delivery(service, ['collected']);
    const { cursor } = await board('LIS');
    await service.post('/scans', scan(reference, 'at_depot', { scanned_at: '2026-03-01T00:00:00Z' }));
    assert.deepEqual((await changes(cursor)).changes, []);
  });

  test('without a cursor changes start at the beginning', async () => {
    const page = (await service.get<Page>('/changes?limit=1')).body;
    assert.equal(page.changes.length, 1);
    assert.equal(page.changes[0]!.status, 'booked');
    assert.equal(page.more, true);
  });

  test('a board needs a depot, a page its own cursor', async () => {
    assert.equal((await service.get('/board')).status, 400);
    assert.equal((await service.get('/board?depot=XXX')).status, 404);
    assert.equal((await service.get('/changes?after=nonsense')).status, 400);
    assert.equal((await service.get(`/changes?after=${Buffer.from('changes:x').toString('base64url')}`)).status, 400);
    assert.equal((await service.get('/changes?limit=201')).status, 400);
  });
});
