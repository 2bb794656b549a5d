import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ENDPOINTS } from '../src/http/endpoints.ts';
import { findPostgres } from '../test/fixtures/postgres-binaries.ts';
import { inScope, onlyLong } from '../test/scope.ts';
import { type DatabaseName, type Matrix, rankCorrelation, trendOf } from './figures.ts';
import { withEarlier } from './growth.ts';
import { measureImport } from './import.ts';
import { measureMatrix } from './matrix.ts';
import { describeFiles, resultsPage } from './report.ts';
import { ECHO, panWriter, REQUESTS } from './requests.ts';
import { conditionsNow, FILES, readResults, render } from './results.ts';
import { SERVER_OPTIONS } from './testbed.ts';

/** A request with a write, and one with a signature; `npm run test:long` measures all of them, also over PostgreSQL and with the echo of the service. */
const USUAL = ['tokenize 1 card, scheme 7', 'JOSE, plain'];

test('the benchmark reports figures for every request', async () => {
  const only = inScope({ usual: USUAL, long: [] });
  const databases: DatabaseName[] = inScope<DatabaseName[]>({ usual: ['SQLite'], long: ['SQLite', 'PostgreSQL'] });
  const settings = {
    rounds: 1,
    seconds: 0.05,
    connections: [64],
    only,
    databases,
    warmRequests: 0,
    warmSeconds: 0,
    openSeconds: 0.05,
    settleSeconds: 0,
    records: 100,
  };
  const matrix: Matrix = await measureMatrix(settings, () => undefined);
  const isWithout = databases.length > 1 && findPostgres() === undefined;
  assert.deepEqual(matrix.problems, isWithout ? ['PostgreSQL: there is none on this machine'] : []);
  const names = only.length > 0 ? only : REQUESTS.map(({ name }) => name);
  const expected = names.length * (isWithout ? 1 : databases.length) + (only.length > 0 ? 0 : 1);
  assert.equal(matrix.figures.length, expected);
  for (const figure of matrix.figures) {
    const { database, databaseCpu, signing = 1, bareSigning = 1, open, ...numbers } = figure;
    for (const [name, value] of Object.entries({ ...numbers, ...open, signing, bareSigning }))
      assert.ok(typeof value === 'string' || value > 0, `${figure.request}: ${name}`);
    assert.equal(databaseCpu > 0, database === 'PostgreSQL');
  }
  assert.ok(matrix.memory.every(({ idle, loaded, startMs }) => idle > 0 && loaded > 0 && startMs > 0));
  const page = resultsPage({ matrix: { conditions: conditionsNow(new Date(0)), ...matrix } });
  assert.match(page, /^1970-01-01; /m);
  for (const name of names) assert.ok(page.includes(`| ${name} `), name);
});

test('the servers beside the service have its options of Node', () => {
  const starter = readFileSync(new URL('../bin/cardvault.mjs', import.meta.url), 'utf8');
  for (const option of SERVER_OPTIONS) assert.ok(starter.includes(`'${option}'`), option);
});

/**
 * An account has at most ten webhooks, and few trials in a minute, so no load of these can be made. Both spellings of
 * the account are one handler.
 */
const UNMEASURED = ['POST /v1/webhooks', 'DELETE /v1/webhooks/:', 'POST /v1/webhooks/:/test', 'POST /v1/account'];

test('every endpoint is measured, or named as one that is not', () => {
  const toPattern = (path: string): string => path.replace(/\?.*$/, '').replace(/[:{][^/]+/g, ':');
  const measured = new Set(REQUESTS.map(({ method, path }) => `${method} ${toPattern(path)}`));
  const missing = ENDPOINTS.map(({ method, path }) => `${method} ${toPattern(path)}`).filter(
    (each) => !measured.has(each),
  );
  assert.deepEqual(missing.sort(), UNMEASURED.toSorted());
});

test('the growth of the files is compared with the table of sizes', () => {
  const interval = { perSecond: 100, p50: 1, p99: 2, cpu: 1, memory: 1, logBytes: 1 };
  const text = describeFiles([
    { ...interval, seconds: 100, databaseBytes: 1_000_000 },
    { ...interval, seconds: 200, databaseBytes: 6_000_000 },
  ]);
  assert.match(text, /grew by 500 bytes a request .* computes 480 \(± 10 %: met\):/);
});

test('the import is measured beside requests', { skip: onlyLong }, async () => {
  const measured = await measureImport({ cards: 2000, databases: ['SQLite'] }, () => undefined);
  const [figure] = measured.figures;
  assert.ok(figure !== undefined && figure.requested > 0 && figure.imported > 0);
  assert.match(resultsPage({ import: { conditions: conditionsNow(new Date(0)), ...measured } }), /^## Import$/m);
});

test('card numbers pass the Luhn check and differ', () => {
  const write = panWriter(7);
  const bytes = Buffer.alloc(16);
  const seen = new Set<string>();
  for (let count = 0; count < 1000; count++) {
    write(bytes, 0);
    const pan = bytes.toString();
    const sum = [...pan].reduce((total, digit, index) => {
      const value = Number(digit) * (index % 2 === 0 ? 2 : 1);
      return total + (value > 9 ? value - 9 : value);
    }, 0);
    assert.match(pan, /^[3-6][0-9]{15}$/);
    assert.equal(sum % 10, 0);
    seen.add(pan);
  }
  assert.ok(seen.size > 990);
});

test('pages and picture are those of the stored results', () => {
  const { page, picture, capacity } = render(readResults());
  assert.equal(readFileSync(FILES.page, 'utf8'), page);
  assert.equal(readFileSync(FILES.picture, 'utf8'), picture);
  assert.equal(readFileSync(FILES.capacity, 'utf8'), capacity);
});

test('a database that a growth measurement leaves out keeps its figures and their conditions', () => {
  const conditionsOf = (day: number) => conditionsNow(new Date(day * 86_400_000));
  const growthOf = (day: number, ...databases: DatabaseName[]) => ({
    conditions: conditionsOf(day),
    settings: { sizes: [1000], databases, rounds: 1, seconds: 1 },
    ...(databases.includes('PostgreSQL') && { postgres: '15.18' }),
    fillings: databases.map((database) => ({ database, tokens: 1000, cardsPerSecond: day, cpu: 1, bytes: 1 })),
    figures: databases.map((database) => ({
      ...{ database, request: 'x', tokens: 1000, perSecond: day, p50: 1, p99: 1, rate: 1, cpuRatio: 1 },
    })),
  });
  const first = growthOf(1, 'SQLite', 'PostgreSQL');
  const second = withEarlier(growthOf(2, 'SQLite'), first);
  const third = withEarlier(growthOf(3, 'SQLite'), second);
  assert.deepEqual(third.figures, growthOf(3, 'SQLite').figures);
  assert.deepEqual(third.before?.figures, growthOf(1, 'PostgreSQL').figures);
  assert.deepEqual(third.before?.conditions, conditionsOf(1));
  assert.equal(withEarlier(growthOf(4, 'SQLite', 'PostgreSQL'), third).before, undefined);
  assert.match(resultsPage({ growth: third }), /Measured before: 1970-01-02; .*PostgreSQL 15\.18/);
});

test('every request has a name of its own', () => {
  assert.equal(new Set([...REQUESTS, ECHO].map(({ name }) => name)).size, REQUESTS.length + 1);
});

test('a trend is found in values that rise or fall, and none in values that scatter', () => {
  const near = (value: number, expected: number): void => assert.ok(Math.abs(value - expected) < 1e-9, `${value}`);
  const rising = trendOf([100, 101, 102, 103, 104, 105, 106]);
  near(rising.change, 6 / 103);
  assert.equal(rising.isSignificant, true);
  const falling = trendOf([106, 105, 104, 103, 102, 101, 100]);
  near(falling.change, -6 / 103);
  assert.equal(falling.isSignificant, true);
  // One value is that of a stall: the slopes are -4995, -2497, 0, 1/3, 1 and 4995.
  assert.deepEqual(trendOf([5, 5000, 5, 6]), { change: 0.5 / 5.5, isSignificant: false });
  // Kendall's sums are 15 and 13. Tables have 15 for 7 values and 5 %, two-sided.
  assert.equal(trendOf([1, 2, 4, 3, 7, 5, 6]).isSignificant, true);
  assert.equal(trendOf([2, 1, 4, 3, 7, 5, 6]).isSignificant, false);
});

test('a rank correlation is that of orders', () => {
  assert.equal(rankCorrelation([1, 2, 3, 4], [10, 20, 30, 1000]), 1);
  assert.equal(rankCorrelation([1, 2, 3, 4], [4, 3, 2, 1]), -1);
  // The two sides order five pairs alike, and one differently.
  assert.equal(rankCorrelation([1, 2, 3, 4], [1, 2, 4, 3]), 4 / 6);
});
