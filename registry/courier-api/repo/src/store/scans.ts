import { conflict, notFound } from '../domain/errors.ts';
import type { Scan } from '../domain/input.ts';
import { mayFollow, type Status } from '../domain/status.ts';
import type { Queryable } from '../db/pool.ts';
import { addChange } from './changes.ts';

/** `late`: kept for the history, but an older scan never overrides a newer one. */
export type Outcome = 'applied' | 'late' | 'repeated';

export interface HistoryLine {
  status: Status;
  scanned_at: Date;
  note: string;
  applied: boolean;
}

/** Takes one scan in; must run inside a transaction. */
export async function recordScan(client: Queryable, scan: Scan): Promise<Outcome> {
  const found = await client.query<{ id: string; status: Status; last_scan_at: Date | null }>(
    'SELECT id, status, last_scan_at FROM deliveries WHERE reference = $1 FOR UPDATE',
    [scan.reference],
  );
  const delivery = found.rows[0];
  if (!delivery) throw notFound(`there is no delivery ${scan.reference}`);

  const known = await client.query('SELECT 1 FROM scans WHERE delivery_id = $1 AND scan_key = $2', [
    delivery.id,
    scan.key,
  ]);
  if (known.rows.length > 0) return 'repeated';

  if (delivery.last_scan_at !== null && scan.scannedAt < delivery.last_scan_at) {
    await insertScan(client, delivery.id, scan, false);
    return 'late';
  }
  if (!mayFollow(delivery.status, scan.status)) {
    throw conflict('bad_transition', `${scan.reference} is ${delivery.status} and cannot become ${scan.status}`);
  }
  await insertScan(client, delivery.id, scan, true);
  await client.query('UPDATE deliveries SET status = $2, last_scan_at = $3 WHERE id = $1', [
    delivery.id,
    scan.status,
    scan.scannedAt,
  ]);
  await addChange(client, delivery.id, scan.status);
  return 'applied';
}

async function insertScan(client: Queryable, deliveryId: string, scan: Scan, applied: boolean): Promise<void> {
  await client.query(
    `INSERT INTO scans (delivery_id, scan_key, status, scanned_at, note, applied)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [deliveryId, scan.key, scan.status, scan.scannedAt, scan.note, applied],
  );
}

/** All scans of a delivery, by the time of the scan. */
export async function history(client: Queryable, reference: string): Promise<HistoryLine[]> {
  const { rows } = await client.query<HistoryLine>(
    `SELECT s.status, s.scanned_at, s.note, s.applied FROM scans s
     JOIN deliveries d ON d.id = s.delivery_id
     WHERE d.reference = $1 ORDER BY s.scanned_at, s.id`,
    [reference],
  );
  return rows;
}
