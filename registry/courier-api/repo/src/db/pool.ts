import pg from 'pg';

export type Queryable = Pick<pg.PoolClient, 'query'>;

export function openPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({ connectionTimeoutMillis: 10_000, ...config });
  // A connection that dies while idle is replaced at the next use.
  pool.on('error', (error) => console.error(`database connection lost: ${error.message}`));
  return pool;
}

/** Runs `work` in one transaction: its result is committed, an error undoes everything. */
export async function withTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  mode: 'READ COMMITTED' | 'REPEATABLE READ READ ONLY' = 'READ COMMITTED',
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(`BEGIN ISOLATION LEVEL ${mode}`);
    const result = await work(client);
    await client.query('COMMIT');
    client.release();
    return result;
  } catch (error) {
    const broken = await client.query('ROLLBACK').then(
      () => false,
      () => true,
    );
    client.release(broken);
    throw error;
  }
}
