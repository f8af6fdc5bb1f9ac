import { badRequest } from './errors.ts';

/** Cursors are opaque to clients: text that only the endpoint which gave it out can read. */
export function encodeCursor(kind: string, value: string): string {
  return Buffer.from(`${kind}:${value}`).toString('base64url');
}

export function decodeCursor(kind: string, cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  if (!text.startsWith(`${kind}:`) || encodeCursor(kind, text.slice(kind.length + 1)) !== cursor) {
    throw badRequest('bad_cursor', 'this cursor was not given out here');
  }
  return text.slice(kind.length + 1);
}
