import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onlyLong } from '../test/scope.ts';
import { besideSection, compareRounds, measureBeside } from './beside.ts';
import type { Round } from './testbed.ts';

const round = (p99: number): Round => ({
  ...{ perSecond: 500, p50: p99 / 2, p99, usualP99: p99, cpu: 100, databaseCpu: 0, loadShare: 0.1 },
});

test('the cost of other work is the median of the ratios of rounds that follow each other', () => {
  const compared = compareRounds([
    { alone: round(10), webhooks: round(11), largest: round(20), few: round(10) },
    { alone: round(20), webhooks: round(40), largest: round(40), few: round(20) },
    { alone: round(40), webhooks: round(44), largest: round(80), few: round(60) },
  ]);
  assert.deepEqual(compared.alone, { p50: 10, p99: 20, usualP99: 20 });
  assert.deepEqual(compared.beside.webhooks, {
    latency: { p50: 20, p99: 40, usualP99: 40 },
    ratio: { p50: 1.1, p99: 1.1, usualP99: 1.1 },
  });
  assert.deepEqual([compared.beside.largest.ratio.p99, compared.beside.few.ratio.p99], [2, 1]);
  const conditions = {
    ...{ date: '2026-01-31', cores: 2, processor: 'CPU', memoryGiB: 4, node: '24', version: '1', settings: {} },
  };
  const section = besideSection({ rounds: 3, seconds: 5, held: 130, ...compared }, conditions);
  assert.match(section, /\| nothing +\| 10\.00 ms \| - +\| 20\.00 ms \| - +\|/);
  assert.match(section, /\| 130 webhooks in progress +\| 20\.00 ms \| 1\.10 +\| 40\.00 ms \| 1\.10 +\|/);
  assert.match(section, /\| 2 requests a second with 1,000 cards +\| 20\.00 ms \| 2\.00 +\|/);
});

test('the API is measured beside other work', { skip: onlyLong, timeout: 180_000 }, async () => {
  const { held, beside } = await measureBeside({ rounds: 1, seconds: 0.5 }, () => undefined);
  assert.ok(held > 100 && beside.largest.ratio.p50 > 0);
});
