import type pg from 'pg';

import { decodeCursor, encodeCursor } from '../../domain/cursor.ts';
import { badRequest } from '../../domain/errors.ts';
import { readBooking, readLimit } from '../../domain/input.ts';
import { isStatus } from '../../domain/status.ts';
import { withTransaction } from '../../db/pool.ts';
import { book, findDelivery, listDeliveries } from '../../store/deliveries.ts';
import { history } from '../../store/scans.ts';
import { readJson } from '../body.ts';
import { json, type Router } from '../router.ts';

export function deliveryRoutes(router: Router, pool: pg.Pool): void {
  router.on('POST', '/deliveries', async ({ request }) => {
    const booking = readBooking(await readJson(request));
    return json(await withTransaction(pool, (client) => book(client, booking)), 201);
  });

  router.on('GET', '/deliveries', async ({ query }) => {
    const status = query.get('status');
    if (status !== null && !isStatus(status)) throw badRequest('bad_input', `there is no status ${status}`);
    const after = query.get('after');
    const page = await listDeliveries(pool, {
      depot: query.get('depot'),
      status,
      after: after === null ? null : decodeCursor('deliveries', after),
      limit: readLimit(query.get('limit'), 50, 200),
    });
    const last = page.deliveries.at(-1);
    return json({
      deliveries: page.deliveries,
      next: page.more && last ? encodeCursor('deliveries', last.reference) : null,
    });
  });

  router.on('GET', '/deliveries/:reference', async ({ params }) => {
    const delivery = await findDelivery(pool, params['reference']!);
    return json({ ...delivery, scans: await history(pool, delivery.reference) });
  });
}
