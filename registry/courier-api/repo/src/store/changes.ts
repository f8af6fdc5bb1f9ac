import { decodeCursor, encodeCursor } from '../domain/cursor.ts';
import { badRequest } from '../domain/errors.ts';
import type { Status } from '../domain/status.ts';
import type { Queryable } from '../db/pool.ts';

export interface Change {
  reference: string;
  depot: string;
  status: Status;
  changed_at: Date;
}

export interface ChangePage {
  changes: Change[];
  cursor: string;
  more: boolean;
}

const KIND = 'changes';
const BEGINNING = '1970-01-01T00:00:00.000Z';

export async function addChange(client: Queryable, deliveryId: string, status: Status): Promise<void> {
  await client.query('INSERT INTO changes (delivery_id, status) VALUES ($1, $2)', [deliveryId, status]);
}

/** The page of changes after `cursor` (null: from the beginning), oldest first. */
export async function readChanges(client: Queryable, cursor: string | null, limit: number): Promise<ChangePage> {
  const after = cursor === null ? BEGINNING : moment(decodeCursor(KIND, cursor));
  const { rows } = await client.query<Change>(
    `SELECT d.reference, d.depot, c.status, c.changed_at
     FROM changes c JOIN deliveries d ON d.id = c.delivery_id
     WHERE c.changed_at > $1 ORDER BY c.changed_at, c.id LIMIT $2`,
    [after, limit + 1],
  );
  const changes = rows.slice(0, limit);
  const last = changes.at(-1)?.changed_at.toISOString() ?? after;
  return { changes, cursor: encodeCursor(KIND, last), more: rows.length > limit };
}

/** The cursor behind everything that `client` can see now. */
export async function latestCursor(client: Queryable): Promise<string> {
  const { rows } = await client.query<{ last: Date | null }>('SELECT max(changed_at) AS last FROM changes');
  return encodeCursor(KIND, rows[0]?.last?.toISOString() ?? BEGINNING);
}

function moment(text: string): string {
  if (Number.isNaN(Date.parse(text))) throw badRequest('bad_cursor', 'this cursor was not given out here');
  return text;
}
