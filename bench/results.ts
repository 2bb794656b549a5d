import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../src/version.ts';
import { capacityTables } from './capacity.ts';
import type { Conditions, Results } from './figures.ts';
import { picture } from './picture.ts';
import { resultsPage } from './report.ts';
import { withSection, withSectionsOf } from './sections.ts';

const SETTINGS = /^CARDVAULT_(WORKERS|DATABASE_WRITERS|DATABASE_READERS)$/;
const ROOT = join(import.meta.dirname, '..');

export const FILES = {
  results: join(ROOT, 'bench', 'results.json'),
  page: join(ROOT, 'bench', 'RESULTS.md'),
  picture: join(ROOT, 'bench', 'results.svg'),
  capacity: join(ROOT, 'docs', 'capacity.md'),
};

export const conditionsNow = (date: Date): Conditions => ({
  date: date.toISOString().slice(0, 10),
  cores: availableParallelism(),
  processor: cpus()[0]?.model.trim() ?? '',
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.versions.node,
  version: VERSION,
  settings: Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (SETTINGS.test(name) ? [[name, value ?? '']] : [])),
  ),
});

export const readResults = (): Results =>
  existsSync(FILES.results) ? (JSON.parse(readFileSync(FILES.results, 'utf8')) as Results) : {};

/** Returns the text of each page and of the picture. Sections of other commands stay as they are. */
export function render(results: Results): { page: string; picture: string; capacity: string } {
  return {
    page: withSectionsOf(resultsPage(results), readFileSync(FILES.page, 'utf8')),
    picture: picture(results),
    capacity: withSection(readFileSync(FILES.capacity, 'utf8'), 'measured', capacityTables(results)),
  };
}

const DIGITS = 5;

/** Writes the results and everything that is made of them. */
export function writeResults(results: Results): void {
  const rounded = (_name: string, value: unknown): unknown =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(DIGITS)) : value;
  writeFileSync(FILES.results, `${JSON.stringify(results, rounded, 1)}\n`);
  const { page, picture: drawn, capacity } = render(readResults());
  writeFileSync(FILES.page, page);
  writeFileSync(FILES.picture, drawn);
  writeFileSync(FILES.capacity, capacity);
}
