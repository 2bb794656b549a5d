import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findPostgres } from '../test/fixtures/postgres-binaries.ts';
import { measure } from './measure.ts';
import { ratios, resultsPage } from './report.ts';
import { needsPostgres } from './scenario.ts';
import { SCENARIOS } from './scenarios.ts';

test('the benchmark gives figures for every scenario', async () => {
  const settings = { rounds: 1, seconds: 0.05, warmUpSeconds: 0.02, connections: 8, rows: 200, starts: 1, only: [] };
  const figures = await measure(settings, () => undefined);
  assert.equal(figures.results.length + figures.missed.length, SCENARIOS.length);
  const told = findPostgres() === undefined ? SCENARIOS.filter(needsPostgres) : [];
  assert.deepEqual(
    figures.missed.map(({ scenario }) => scenario),
    told,
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
  assert.ok(figures.starts.every(({ first, second }) => first > 0 && second > 0));
  assert.match(resultsPage(figures, new Date(0)), /^1970-01-01; /m);
});
