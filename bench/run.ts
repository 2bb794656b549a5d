import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Settings } from './bench.ts';
import { measure } from './measure.ts';
import { resultsPage, tables } from './report.ts';
import { withSectionsOf } from './sections.ts';

/** `npm run bench`: prints the figures and keeps them in RESULTS.md. */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    rows: { type: 'string' },
    profile: { type: 'string' },
  },
});
const { quick, only, rounds, seconds, rows, profile } = values;
const settings: Settings = {
  rounds: Number(rounds ?? (quick ? 2 : 6)),
  seconds: Number(seconds ?? (quick ? 1 : 2)),
  warmUpSeconds: quick ? 0.5 : 2,
  connections: 64,
  rows: Number(rows ?? 20_000),
  starts: quick ? 1 : 3,
  only,
  profiles: profile,
};
const figures = await measure(settings, (line) => process.stderr.write(`${line}\n`));
process.stdout.write(`${tables(figures)}\n`);
const isWhole = !quick && only.length === 0 && profile === undefined;
const file = join(import.meta.dirname, 'RESULTS.md');
if (isWhole) writeFileSync(file, withSectionsOf(resultsPage(figures, new Date()), readFileSync(file, 'utf8')));
