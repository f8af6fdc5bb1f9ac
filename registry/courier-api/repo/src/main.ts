import { readConfig } from './config.ts';
import { startService } from './service.ts';

const service = await startService(readConfig(process.env));
console.log(`courier listens on ${service.url}`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void service.stop().then(() => process.exit(0));
  });
}
