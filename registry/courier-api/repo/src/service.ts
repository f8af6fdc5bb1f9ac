import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PoolConfig } from 'pg';

import type { Config } from './config.ts';
import { migrate } from './db/migrate.ts';
import { openPool } from './db/pool.ts';
import { createHandler } from './http/handler.ts';

export interface Service {
  url: string;
  stop(): Promise<void>;
}

/** Brings the schema up to date, then serves until `stop` is called. */
export async function startService(config: Config, database: PoolConfig = {}): Promise<Service> {
  const pool = openPool({ max: config.poolSize, ...database });
  await migrate(pool);
  const server = createServer(createHandler(pool));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.port, config.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${config.host}:${port}`,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await pool.end();
    },
  };
}
