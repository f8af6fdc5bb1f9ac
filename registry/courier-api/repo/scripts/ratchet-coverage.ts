/** Refuses coverage below coverage-baseline.json. Reads what merge-coverage wrote. */
import { readFileSync } from 'node:fs';

interface Summary {
  suites: number;
  lines: { percent: number };
}

interface Baseline {
  suites: number;
  percent: number;
}

const read = (name: string): unknown => JSON.parse(readFileSync(name, 'utf8'));
const summary = read('coverage/summary.json') as Summary;
const baseline = read('coverage-baseline.json') as Baseline;
const { percent } = summary.lines;

if (summary.suites < baseline.suites) {
  console.error(`coverage of ${summary.suites} suites, expected ${baseline.suites}`);
  process.exit(1);
}
if (!(percent >= baseline.percent)) {
  console.error(`coverage fell to ${percent.toFixed(2)} %, it was ${baseline.percent} %`);
  process.exit(1);
}
console.log(`coverage ${percent.toFixed(2)} % (at least ${baseline.percent} %)`);
