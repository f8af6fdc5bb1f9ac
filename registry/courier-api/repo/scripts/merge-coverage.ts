/** Adds up coverage/*.lcov of all suites: a line counts as covered when any suite ran it. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';

const reports = globSync('coverage/*.lcov').sort();
if (reports.length === 0) {
  console.error('no coverage to merge: run the tests first');
  process.exit(1);
}

const files = new Map<string, Map<number, number>>();
for (const report of reports) {
  let lines = new Map<number, number>();
  for (const entry of readFileSync(report, 'utf8').split('\n')) {
    if (entry.startsWith('SF:')) {
      const name = entry.slice(3);
      lines = files.get(name) ?? new Map<number, number>();
      files.set(name, lines);
    } else if (entry.startsWith('DA:')) {
      const [line, hits] = entry.slice(3).split(',').map(Number) as [number, number];
      lines.set(line, (lines.get(line) ?? 0) + hits);
    }
  }
}

const count = (lines: Map<number, number>): { found: number; hit: number } => ({
  found: lines.size,
  hit: [...lines.values()].filter((hits) => hits > 0).length,
});
const each = Object.fromEntries([...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, lines]) => [name, count(lines)]));
const found = Object.values(each).reduce((sum, file) => sum + file.found, 0);
const hit = Object.values(each).reduce((sum, file) => sum + file.hit, 0);
writeFileSync(
  'coverage/summary.json',
  `${JSON.stringify({ suites: reports.length, lines: { found, hit, percent: (100 * hit) / found }, files: each }, null, 2)}\n`,
);
console.log(`${hit} of ${found} lines covered by ${reports.length} suites`);
