import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { decodeCursor, encodeCursor } from '../../src/domain/cursor.ts';
import { Refusal } from '../../src/domain/errors.ts';
import { readBooking, readLimit, readScan } from '../../src/domain/input.ts';
import { readConfig } from '../../src/config.ts';
import { booking, scan } from '../helpers/build.ts';

const refused = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code;

describe('input', () => {
  test('a booking is trimmed', () => {
    assert.equal(readBooking(booking({ recipient: '  Rosa ' })).recipient, 'Rosa');
  });

  test('a booking needs every field', () => {
    for (const name of ['reference', 'depot', 'recipient', 'address', 'promised_on']) {
      assert.throws(() => readBooking(booking({ [name]: undefined })), refused('bad_input'), name);
    }
    assert.throws(() => readBooking([]), refused('bad_input'));
  });

  test('a scan keeps its moment', () => {
    const read = readScan(scan('T-00001', 'on_van', { scanned_at: '2026-03-01T08:15:00.250+02:00' }));
    assert.equal(read.scannedAt.toISOString(), '2026-03-01T06:15:00.250Z');
    assert.equal(read.note, '');
  });

  test('a scan without an offset, with an unknown status or without a key is refused', () => {
    const good = scan('T-00001', 'on_van');
    for (const bad of [
      { scanned_at: '2026-03-01T08:15:00' },
      { scanned_at: '2026-99-01T08:15:00Z' },
      { status: 'booked' },
      { status: 'lost' },
      { key: '' },
    ]) {
      assert.throws(() => readScan({ ...good, ...bad }), refused('bad_input'), JSON.stringify(bad));
    }
  });

  test('a note has at most 200 characters', () => {
    assert.equal(readScan(scan('T-00001', 'on_van', { note: 'x'.repeat(200) })).note.length, 200);
    assert.throws(() => readScan(scan('T-00001', 'on_van', { note: 'x'.repeat(201) })), refused('bad_input'));
  });

  test('a limit stays within its bounds', () => {
    assert.equal(readLimit(null, 25, 200), 25);
    assert.equal(readLimit('200', 25, 200), 200);
    for (const bad of ['0', '201', '1.5', '-1', 'ten', '']) {
      assert.throws(() => readLimit(bad, 25, 200), refused('bad_input'), bad);
    }
  });

  test('a cursor is read only where it was given out', () => {
    assert.equal(decodeCursor('deliveries', encodeCursor('deliveries', 'T-00001')), 'T-00001');
    for (const bad of ['', 'xyz', encodeCursor('changes', 'T-00001'), `${encodeCursor('deliveries', 'a')}=`]) {
      assert.throws(() => decodeCursor('deliveries', bad), refused('bad_cursor'), bad);
    }
  });

  test('the configuration has defaults and bounds', () => {
    assert.deepEqual(readConfig({}), { host: '127.0.0.1', port: 8080, poolSize: 12 });
    assert.throws(() => readConfig({ PORT: 'http' }), /PORT must be a whole number/);
    assert.throws(() => readConfig({ POOL_SIZE: '1' }), /POOL_SIZE/);
  });
});
