import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { isFinal, isStatus, mayFollow, STATUSES } from '../../src/domain/status.ts';

describe('status', () => {
  test('a delivery goes from booking to hand-over', () => {
    const way = ['booked', 'collected', 'at_depot', 'on_van', 'delivered'] as const;
    way.slice(1).forEach((status, index) => assert.ok(mayFollow(way[index]!, status), status));
  });

  test('nothing is skipped on the way', () => {
    assert.equal(mayFollow('booked', 'at_depot'), false);
    assert.equal(mayFollow('collected', 'on_van'), false);
    assert.equal(mayFollow('at_depot', 'delivered'), false);
  });

  test('a missed recipient is tried again, or the parcel goes back', () => {
    assert.deepEqual(
      STATUSES.filter((status) => mayFollow('attempted', status)),
      ['at_depot', 'on_van', 'returned'],
    );
  });

  test('only a booking can be cancelled', () => {
    assert.deepEqual(
      STATUSES.filter((status) => mayFollow(status, 'cancelled')),
      ['booked'],
    );
  });

  test('three states are final', () => {
    assert.deepEqual(
      STATUSES.filter((status) => isFinal(status)),
      ['delivered', 'returned', 'cancelled'],
    );
  });

  test('a status is one of the known words', () => {
    assert.equal(isStatus('on_van'), true);
    assert.equal(isStatus('lost'), false);
    assert.equal(isStatus(null), false);
  });
});
