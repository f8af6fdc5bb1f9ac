import { parseDay } from './calendar.ts';
import { badRequest, type Refusal } from './errors.ts';
import { isStatus, type Status } from './status.ts';

export interface Booking {
  reference: string;
  depot: string;
  recipient: string;
  address: string;
  promisedOn: string;
}

export interface Scan {
  reference: string;
  status: Status;
  scannedAt: Date;
  key: string;
  note: string;
}

const REFERENCE = /^[A-Z0-9-]{4,20}$/;
const KEY = /^[A-Za-z0-9_-]{1,64}$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/;
const NOTE_LENGTH = 200;

export function readBooking(value: unknown): Booking {
  const fields = readObject(value);
  return {
    reference: matching(fields, 'reference', REFERENCE, '4 to 20 capital letters, digits or dashes'),
    depot: words(fields, 'depot', 3),
    recipient: words(fields, 'recipient', 100),
    address: words(fields, 'address', 200),
    promisedOn: day(words(fields, 'promised_on', 10)),
  };
}

export function readScan(value: unknown): Scan {
  const fields = readObject(value);
  const status = fields['status'];
  if (!isStatus(status) || status === 'booked') {
    throw invalid('status', 'a status that a handheld can set');
  }
  const note = fields['note'] ?? '';
  if (typeof note !== 'string' || note.length > NOTE_LENGTH) {
    throw invalid('note', `text of at most ${NOTE_LENGTH} characters`);
  }
  const moment = matching(fields, 'scanned_at', MOMENT, 'a time with its offset, like 2026-03-01T08:15:00+02:00');
  const scannedAt = new Date(moment);
  if (Number.isNaN(scannedAt.getTime())) throw invalid('scanned_at', 'a time that exists');
  return {
    reference: matching(fields, 'reference', REFERENCE, 'a delivery reference'),
    status,
    scannedAt,
    key: matching(fields, 'key', KEY, '1 to 64 letters, digits, dashes or underscores'),
    note,
  };
}

/** `limit` of a paged list: 1 to `most`, `usual` when not given. */
export function readLimit(text: string | null, usual: number, most: number): number {
  if (text === null) return usual;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > most) {
    throw invalid('limit', `a whole number from 1 to ${most}`);
  }
  return value;
}

export function day(text: string): string {
  const found = parseDay(text);
  if (found === null) throw invalid('day', 'a calendar day like 2026-03-29');
  return found;
}

function readObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest('bad_input', 'expected a JSON object');
  }
  return value as Record<string, unknown>;
}

function words(fields: Record<string, unknown>, name: string, most: number): string {
  const value = fields[name];
  if (typeof value !== 'string' || value.trim() === '' || value.length > most) {
    throw invalid(name, `text of 1 to ${most} characters`);
  }
  return value.trim();
}

function matching(fields: Record<string, unknown>, name: string, pattern: RegExp, wanted: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || !pattern.test(value)) throw invalid(name, wanted);
  return value;
}

function invalid(name: string, wanted: string): Refusal {
  return badRequest('bad_input', `${name} must be ${wanted}`);
}
