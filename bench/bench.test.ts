import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findPostgres } from '../test/fixtures/postgres-binaries.ts';
import { inScope } from '../test/scope.ts';
import { measure } from './measure.ts';
import { ratios, resultsPage } from './report.ts';
import { needsPostgres } from './scenario.ts';
import { SCENARIOS } from './scenarios.ts';

/** One scenario of each kind on SQLite; `npm run test:long` measures all of them, also over PostgreSQL. */
const USUAL = ['tokenize 1 card, durable', 'jose nested, audit record durable', 'envelopes'];

test('the benchmark reports figures for every scenario', async () => {
  const settings = {
    rounds: 1,
    seconds: 0.05,
    warmUpSeconds: 0.02,
    connections: 8,
    rows: 200,
    // Each start of the service takes more than a second of a core.
    starts: inScope({ usual: 0, long: 1 }),
    only: inScope({ usual: USUAL, long: [] }),
  };
  const figures = await measure(settings, () => undefined);
  const scenarios = SCENARIOS.filter(
    ({ name }) => settings.only.length === 0 || settings.only.some((part) => name.includes(part)),
  );
  assert.equal(figures.results.length + figures.shortfalls.length, scenarios.length);
  const skipped = findPostgres() === undefined ? scenarios.filter(needsPostgres) : [];
  assert.deepEqual(
    figures.shortfalls.map(({ scenario }) => scenario),
    skipped,
  );
  for (const result of figures.results) {
    assert.ok(ratios(result).median > 0);
    for (const round of [...result.durable, ...result.comparison])
      for (const [name, value] of Object.entries({ ...round, ...round.groups, groups: 1 }))
        assert.ok(value > 0 && Number.isFinite(value), name);
  }
  assert.ok(figures.envelopes !== undefined);
  for (const rounds of Object.values(figures.envelopes)) assert.ok(rounds.every((count) => count > 0));
  assert.ok(figures.rss.loaded > 0);
  assert.equal(figures.starts.length, settings.starts);
  assert.ok(figures.starts.every(({ first, second }) => first > 0 && second > 0));
  assert.match(resultsPage(figures, new Date(0)), /^1970-01-01; /m);
});
