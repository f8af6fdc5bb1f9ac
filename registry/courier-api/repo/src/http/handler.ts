import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import pg from 'pg';

import { Refusal } from '../domain/errors.ts';
import { boardRoutes } from './routes/board.ts';
import { deliveryRoutes } from './routes/deliveries.ts';
import { depotRoutes } from './routes/depots.ts';
import { pageRoutes } from './routes/pages.ts';
import { scanRoutes } from './routes/scans.ts';
import { json, Router, type Answer } from './router.ts';

/** Deadlock, serialisation failure, too many connections: the same request may well succeed next time. */
const TRY_AGAIN = new Set(['40P01', '40001', '53300']);

export function createHandler(pool: pg.Pool): RequestListener {
  const router = new Router();
  router.on('GET', '/healthz', async () => {
    await pool.query('SELECT 1');
    return json({ status: 'ok' });
  });
  for (const add of [boardRoutes, deliveryRoutes, depotRoutes, pageRoutes, scanRoutes]) add(router, pool);

  return (request, response) => {
    void router.run(request).then(
      (answer) => send(request, response, answer),
      (error: unknown) => refuse(request, response, error),
    );
  };
}

function send(request: IncomingMessage, response: ServerResponse, answer: Answer, headers = {}): void {
  if (response.destroyed) return;
  // What is left of a body that nobody wants is not read: the connection ends with the answer.
  const close = request.complete ? {} : { connection: 'close' };
  response.writeHead(answer.status, {
    'content-type': answer.type,
    'content-length': Buffer.byteLength(answer.body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...close,
    ...headers,
  });
  response.end(answer.body);
}

function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (error instanceof Refusal) {
    send(request, response, json({ error: error.code, message: error.message }, error.status), error.headers);
  } else if (error instanceof pg.DatabaseError && TRY_AGAIN.has(error.code ?? '')) {
    send(request, response, json({ error: 'busy', message: 'too much at once, try again' }, 503), { 'retry-after': '1' });
  } else if (request.destroyed && !request.complete) {
    response.destroy(); // The client went away in the middle of its request.
  } else {
    console.error(error);
    send(request, response, json({ error: 'internal', message: 'something broke on our side' }, 500));
  }
}
