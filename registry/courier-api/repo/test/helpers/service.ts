/** A service of its own on a database of its own, for one test file or one test. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';

import { startService } from '../../src/service.ts';

export interface Reply<T = Record<string, unknown>> {
  status: number;
  headers: Headers;
  body: T;
}

export interface TestService {
  url: string;
  database: string;
  get<T = Record<string, unknown>>(path: string): Promise<Reply<T>>;
  page(path: string): Promise<Reply<string>>;
  post<T = Record<string, unknown>>(path: string, value: unknown): Promise<Reply<T>>;
  upload(scans: unknown[]): Promise<Reply>;
  stop(): Promise<void>;
}

async function asAdmin(statement: string): Promise<void> {
  const client = new pg.Client({ database: process.env['PGDATABASE'] ?? 'courier' });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

export async function startTestService(): Promise<TestService> {
  const database = `courier_test_${process.pid}_${randomBytes(4).toString('hex')}`;
  await asAdmin(`CREATE DATABASE ${database} TEMPLATE template0`);
  const service = await startService({ host: '127.0.0.1', port: 0, poolSize: 12 }, { database });

  async function call<T>(path: string, init?: RequestInit): Promise<Reply<T>> {
    const response = await fetch(`${service.url}${path}`, init);
    return { status: response.status, headers: response.headers, body: (await response.json()) as T };
  }

  return {
    url: service.url,
    database,
    get: (path) => call(path),
    post: (path, value) => call(path, { method: 'POST', body: JSON.stringify(value) }),
    upload: (scans) =>
      call('/uploads', { method: 'POST', body: scans.map((scan) => `${JSON.stringify(scan)}\n`).join('') }),
    async page(path) {
      const response = await fetch(`${service.url}${path}`);
      return { status: response.status, headers: response.headers, body: await response.text() };
    },
    async stop() {
      await service.stop();
      await asAdmin(`DROP DATABASE ${database} WITH (FORCE)`);
    },
  };
}
