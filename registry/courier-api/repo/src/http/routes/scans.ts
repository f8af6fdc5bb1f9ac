import type pg from 'pg';

import { Refusal } from '../../domain/errors.ts';
import { readScan } from '../../domain/input.ts';
import { withTransaction } from '../../db/pool.ts';
import { recordScan, type Outcome } from '../../store/scans.ts';
import { readJson, readLines } from '../body.ts';
import { json, type Router } from '../router.ts';

const UPLOAD_LINES = 200;

export function scanRoutes(router: Router, pool: pg.Pool): void {
  router.on('POST', '/scans', async ({ request }) => {
    const scan = readScan(await readJson(request));
    const outcome = await withTransaction(pool, (client) => recordScan(client, scan));
    return json({ outcome }, outcome === 'repeated' ? 200 : 201);
  });

  // A handheld that was out of reach sends what it has gathered as one upload, one scan a line.
  // Either every line is taken in or none is.
  router.on('POST', '/uploads', async ({ request }) => {
    const counts: Record<Outcome, number> = { applied: 0, late: 0, repeated: 0 };
    let line = 0;
    try {
      await withTransaction(pool, async (client) => {
        for await (const value of readLines(request, UPLOAD_LINES)) {
          line += 1;
          counts[await recordScan(client, readScan(value))] += 1;
        }
      });
    } catch (error) {
      if (error instanceof Refusal && line > 0) {
        throw new Refusal(error.status, error.code, `line ${line}: ${error.message}`);
      }
      throw error;
    }
    return json(counts, 201);
  });
}
