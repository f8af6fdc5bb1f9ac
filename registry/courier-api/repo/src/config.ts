/** Where the service listens and which database it uses. PG* variables are read by `pg` itself. */
export interface Config {
  host: string;
  port: number;
  poolSize: number;
}

export function readConfig(env: NodeJS.ProcessEnv): Config {
  return {
    host: env['HOST'] ?? '127.0.0.1',
    port: wholeNumber(env['PORT'] ?? '8080', 'PORT', 0, 65_535),
    poolSize: wholeNumber(env['POOL_SIZE'] ?? '12', 'POOL_SIZE', 2, 50),
  };
}

function wholeNumber(text: string, name: string, low: number, high: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < low || value > high) {
    throw new Error(`${name} must be a whole number from ${low} to ${high}, not '${text}'`);
  }
  return value;
}
