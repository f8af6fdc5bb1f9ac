import pg from 'pg';

import { conflict, badRequest, notFound } from '../domain/errors.ts';
import type { Booking } from '../domain/input.ts';
import type { Status } from '../domain/status.ts';
import type { Queryable } from '../db/pool.ts';
import { addChange } from './changes.ts';

export interface Delivery {
  reference: string;
  depot: string;
  recipient: string;
  address: string;
  promised_on: string;
  status: Status;
}

export interface ListFilter {
  depot: string | null;
  status: Status | null;
  after: string | null;
  limit: number;
}

const COLUMNS = `reference, depot, recipient, address, to_char(promised_on, 'YYYY-MM-DD') AS promised_on, status`;

export async function book(client: Queryable, booking: Booking): Promise<Delivery> {
  try {
    const { rows } = await client.query<Delivery & { id: string }>(
      `INSERT INTO deliveries (reference, depot, recipient, address, promised_on)
       VALUES ($1, $2, $3, $4, $5) RETURNING id, ${COLUMNS}`,
      [booking.reference, booking.depot, booking.recipient, booking.address, booking.promisedOn],
    );
    const { id, ...delivery } = rows[0]!;
    await addChange(client, id, delivery.status);
    return delivery;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === '23505') {
      throw conflict('reference_taken', `delivery ${booking.reference} exists already`);
    }
    if (error instanceof pg.DatabaseError && error.code === '23503') {
      throw badRequest('bad_input', `there is no depot ${booking.depot}`);
    }
    throw error;
  }
}

export async function findDelivery(client: Queryable, reference: string): Promise<Delivery> {
  const { rows } = await client.query<Delivery>(`SELECT ${COLUMNS} FROM deliveries WHERE reference = $1`, [reference]);
  if (!rows[0]) throw notFound(`there is no delivery ${reference}`);
  return rows[0];
}

/** One page in the order of the references; `more` tells whether another page follows. */
export async function listDeliveries(
  client: Queryable,
  filter: ListFilter,
): Promise<{ deliveries: Delivery[]; more: boolean }> {
  const { rows } = await client.query<Delivery>(
    `SELECT ${COLUMNS} FROM deliveries
     WHERE ($1::text IS NULL OR depot = $1) AND ($2::text IS NULL OR status = $2)
       AND ($3::text IS NULL OR reference > $3)
     ORDER BY reference LIMIT $4`,
    [filter.depot, filter.status, filter.after, filter.limit + 1],
  );
  return { deliveries: rows.slice(0, filter.limit), more: rows.length > filter.limit };
}

/** What a depot's board shows: everything still on its way, and whatever is promised for `today` or later. */
export async function boardDeliveries(client: Queryable, depot: string, today: string): Promise<Delivery[]> {
  const { rows } = await client.query<Delivery>(
    `SELECT ${COLUMNS} FROM deliveries
     WHERE depot = $1 AND (status NOT IN ('delivered', 'returned', 'cancelled') OR promised_on >= $2)
     ORDER BY reference`,
    [depot, today],
  );
  return rows;
}
