import { readFile } from 'node:fs/promises';
import type pg from 'pg';

import { notFound } from '../../domain/errors.ts';
import { findDelivery } from '../../store/deliveries.ts';
import { findDepot, listDepots } from '../../store/depots.ts';
import { history } from '../../store/scans.ts';
import { boardPage } from '../../web/board-page.ts';
import { trackingPage } from '../../web/tracking-page.ts';
import { html, type Router } from '../router.ts';

const PUBLIC = new URL('../../../public/', import.meta.url);
const ASSETS: Record<string, string> = {
  'board.js': 'text/javascript; charset=utf-8',
  'board.css': 'text/css; charset=utf-8',
};

export function pageRoutes(router: Router, pool: pg.Pool): void {
  router.on('GET', '/', async ({ query }) => {
    const depots = await listDepots(pool);
    const chosen = depots.find((depot) => depot.code === query.get('depot')) ?? depots[0];
    return html(boardPage(depots, chosen?.code ?? ''));
  });

  router.on('GET', '/track/:reference', async ({ params }) => {
    const delivery = await findDelivery(pool, params['reference']!);
    const depot = await findDepot(pool, delivery.depot);
    return html(trackingPage(delivery, depot, await history(pool, delivery.reference)));
  });

  router.on('GET', '/public/:name', async ({ params }) => {
    const name = params['name']!;
    const type = ASSETS[name];
    if (!type) throw notFound(`there is no ${name}`);
    return { status: 200, type, body: await readFile(new URL(name, PUBLIC)) };
  });
}
