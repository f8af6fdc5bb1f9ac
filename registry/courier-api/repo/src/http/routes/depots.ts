import type pg from 'pg';

import { dayIn } from '../../domain/calendar.ts';
import { day } from '../../domain/input.ts';
import { daySheet, findDepot, listDepots } from '../../store/depots.ts';
import { json, type Router } from '../router.ts';

export function depotRoutes(router: Router, pool: pg.Pool): void {
  router.on('GET', '/depots', async () => json({ depots: await listDepots(pool) }));

  router.on('GET', '/depots/:code/day', async ({ params, query }) => {
    const depot = await findDepot(pool, params['code']!);
    const on = query.get('on');
    return json(await daySheet(pool, depot, on === null ? dayIn(depot.time_zone, new Date()) : day(on)));
  });
}
