import { notFound } from '../domain/errors.ts';
import { STATUSES, type Status } from '../domain/status.ts';
import type { Queryable } from '../db/pool.ts';

export interface Depot {
  code: string;
  name: string;
  time_zone: string;
}

export interface DaySheet {
  depot: string;
  on: string;
  promised: number;
  statuses: Record<Status, number>;
  delivered: number;
  delivered_late: number;
}

export async function listDepots(client: Queryable): Promise<Depot[]> {
  const { rows } = await client.query<Depot>('SELECT code, name, time_zone FROM depots ORDER BY code');
  return rows;
}

export async function findDepot(client: Queryable, code: string): Promise<Depot> {
  const { rows } = await client.query<Depot>('SELECT code, name, time_zone FROM depots WHERE code = $1', [code]);
  if (!rows[0]) throw notFound(`there is no depot ${code}`);
  return rows[0];
}

/**
 * A depot's day by the clock on its own wall: what was promised for it and how that stands, and
 * what was handed over on it (late when it had been promised for an earlier day).
 */
export async function daySheet(client: Queryable, depot: Depot, on: string): Promise<DaySheet> {
  const statuses = Object.fromEntries(STATUSES.map((status) => [status, 0])) as Record<Status, number>;
  const promised = await client.query<{ status: Status; count: number }>(
    `SELECT status, count(*)::int AS count FROM deliveries
     WHERE depot = $1 AND promised_on = $2 GROUP BY status`,
    [depot.code, on],
  );
  for (const row of promised.rows) statuses[row.status] = row.count;
  const handed = await client.query<{ delivered: number; delivered_late: number }>(
    `SELECT count(*)::int AS delivered, count(*) FILTER (WHERE d.promised_on < $2::date)::int AS delivered_late
     FROM scans s JOIN deliveries d ON d.id = s.delivery_id
     WHERE d.depot = $1 AND s.status = 'delivered' AND s.applied
       AND (s.scanned_at AT TIME ZONE $3)::date = $2::date`,
    [depot.code, on, depot.time_zone],
  );
  const { delivered, delivered_late } = handed.rows[0]!;
  const total = promised.rows.reduce((sum, row) => sum + row.count, 0);
  return { depot: depot.code, on, promised: total, statuses, delivered, delivered_late };
}
