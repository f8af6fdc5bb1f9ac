import type pg from 'pg';

import { dayIn } from '../../domain/calendar.ts';
import { badRequest } from '../../domain/errors.ts';
import { readLimit } from '../../domain/input.ts';
import { withTransaction } from '../../db/pool.ts';
import { latestCursor, readChanges } from '../../store/changes.ts';
import { boardDeliveries } from '../../store/deliveries.ts';
import { findDepot } from '../../store/depots.ts';
import { json, type Router } from '../router.ts';

export function boardRoutes(router: Router, pool: pg.Pool): void {
  // The board as it stands, and the cursor from which its changes are to be followed.
  router.on('GET', '/board', async ({ query }) => {
    const code = query.get('depot');
    if (code === null) throw badRequest('bad_input', 'which depot?');
    return await withTransaction(
      pool,
      async (client) => {
        const depot = await findDepot(client, code);
        const deliveries = await boardDeliveries(client, depot.code, dayIn(depot.time_zone, new Date()));
        return json({ depot: depot.code, deliveries, cursor: await latestCursor(client) });
      },
      'REPEATABLE READ READ ONLY',
    );
  });

  router.on('GET', '/changes', async ({ query }) => {
    const limit = readLimit(query.get('limit'), 25, 200);
    return json(await readChanges(pool, query.get('after'), limit));
  });
}
