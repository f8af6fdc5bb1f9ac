import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { clockIn, dayIn, parseDay } from '../../src/domain/calendar.ts';

describe('calendar', () => {
  test('a day must exist', () => {
    assert.equal(parseDay('2028-02-29'), '2028-02-29');
    assert.equal(parseDay('2026-02-29'), null);
    assert.equal(parseDay('2026-13-01'), null);
    assert.equal(parseDay('29.03.2026'), null);
  });

  test('the day is the one on the wall of the depot', () => {
    const moment = new Date('2026-03-28T11:30:00Z');
    assert.equal(dayIn('Europe/Lisbon', moment), '2026-03-28');
    assert.equal(dayIn('Pacific/Auckland', moment), '2026-03-29');
  });

  test('the clock follows summer time', () => {
    assert.equal(clockIn('Europe/Helsinki', new Date('2026-03-29T00:59:00Z')), '2026-03-29 02:59');
    assert.equal(clockIn('Europe/Helsinki', new Date('2026-03-29T01:00:00Z')), '2026-03-29 04:00');
  });

  test('midnight is hour zero', () => {
    assert.equal(clockIn('Europe/Lisbon', new Date('2026-01-05T00:00:00Z')), '2026-01-05 00:00');
  });
});
