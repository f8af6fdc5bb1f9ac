import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';

import { withTransaction } from './pool.ts';

const DIRECTORY = new URL('../../migrations/', import.meta.url);
const LOCK = 7_140_021;

/** Applies every file of migrations/ that this database has not seen, in name order. */
export async function migrate(pool: pg.Pool): Promise<string[]> {
  const names = (await readdir(DIRECTORY)).filter((name) => name.endsWith('.sql')).sort();
  return await withTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    await client.query('CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY)');
    const { rows } = await client.query<{ name: string }>('SELECT name FROM schema_migrations');
    const known = new Set(rows.map((row) => row.name));
    const fresh = names.filter((name) => !known.has(name));
    for (const name of fresh) {
      await client.query(await readFile(new URL(name, DIRECTORY), 'utf8'));
      await client.query('INSERT INTO schema_migrations (name) VALUES ($1)', [name]);
    }
    return fresh;
  });
}
