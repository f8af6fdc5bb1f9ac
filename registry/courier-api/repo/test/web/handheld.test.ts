import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, test } from 'node:test';

import { delivery, scan } from '../helpers/build.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const CLIENT = new URL('../../bin/handheld.ts', import.meta.url).pathname;

async function handheld(url: string, input: string): Promise<{ code: number | null; output: string }> {
  const client = spawn(process.execPath, [CLIENT, url], { stdio: ['pipe', 'pipe', 'inherit'] });
  client.stdin.end(input);
  let output = '';
  client.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const code = await new Promise<number | null>((resolve) => client.on('close', resolve));
  return { code, output };
}

describe('handheld', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  test('sends what it gathered', async () => {
    const reference = await delivery(service);
    const lines = [scan(reference, 'collected'), scan(reference, 'at_depot')];
    const { code, output } = await handheld(service.url, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(output), { applied: 2, late: 0, repeated: 0 });
  });

  test('tells what was refused', async () => {
    const { code, output } = await handheld(service.url, `${JSON.stringify(scan('NONE-1', 'collected'))}\n`);
    assert.equal(code, 1);
    assert.match(output, /"error":"not_found"/);
  });
});
