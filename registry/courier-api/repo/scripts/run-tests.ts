/**
 * Runs suites of tests, each in a process of its own: `node scripts/run-tests.ts [--bare] SUITE...`
 * Every suite leaves reports/SUITE.xml (JUnit) and, unless --bare, coverage/SUITE.lcov.
 * Exit code 0 only when every suite ran and passed.
 */
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, rmSync } from 'node:fs';

const bare = process.argv.includes('--bare');
const suites = process.argv.slice(2).filter((word) => !word.startsWith('--'));
if (suites.length === 0) {
  console.error('usage: run-tests [--bare] SUITE...');
  process.exit(2);
}

mkdirSync('reports', { recursive: true });
mkdirSync('coverage', { recursive: true });
const failed: string[] = [];
for (const suite of suites) {
  rmSync(`reports/${suite}.xml`, { force: true });
  rmSync(`coverage/${suite}.lcov`, { force: true });
  const files = globSync(`test/${suite}/**/*.test.ts`).sort();
  if (files.length === 0) {
    console.error(`suite ${suite} has no tests`);
    failed.push(suite);
    continue;
  }
  console.log(`suite ${suite}`);
  const coverage = [
    '--experimental-test-coverage',
    '--test-coverage-include=src/**',
    '--test-reporter=lcov',
    `--test-reporter-destination=coverage/${suite}.lcov`,
  ];
  const { status } = spawnSync(
    process.execPath,
    [
      '--test',
      // One process a suite: starting Node.js and taking the types off costs more than the tests of a file.
      '--test-isolation=none',
      '--test-timeout=60000',
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      '--test-reporter=junit',
      `--test-reporter-destination=reports/${suite}.xml`,
      ...(bare ? [] : coverage),
      ...files,
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  if (status !== 0) failed.push(suite);
}
if (failed.length > 0) {
  console.error(`failed: ${failed.join(', ')}`);
  process.exit(1);
}
