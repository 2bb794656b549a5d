import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onlyLong } from '../test/scope.ts';
import { compareRounds, isWithinCost, measureRequestLog, requestLogTable } from './request-log.ts';
import type { Round } from './testbed.ts';

const round = (perSecond: number, cpu: number, databaseCpu = 0): Round => ({
  ...{ perSecond, cpu, databaseCpu },
  ...{ p50: 1, p99: 2, usualP99: 2, loadShare: 0.1 },
});

test('the cost of the request log is the median of the ratios of rounds that follow each other', () => {
  // The machine is slower from round to round: medians of each side would compare different minutes.
  const without = [round(1000, 100), round(500, 200), round(250, 400, 100)];
  const withLog = [round(990, 101), round(495, 202), round(240, 405, 105)];
  const figure = compareRounds('inspect a token', without, withLog);
  assert.deepEqual(figure, {
    request: 'inspect a token',
    perSecondWithout: 500,
    perSecondWith: 495,
    cpu: 1.01,
    rate: 0.99,
  });
  assert.equal(isWithinCost([figure]), true);
  assert.match(requestLogTable([figure]), /\| inspect a token +\| 500 +\| 495 +\| 0\.99 +\| 1\.010 +\| 1\.0 % /);
  assert.match(requestLogTable([figure]), /is within its limit of 2 %\.$/);
  const above = { ...figure, cpu: 1.021 };
  assert.equal(isWithinCost([figure, above]), false);
  assert.match(requestLogTable([figure, above]), /is above its limit of 2 %\.$/);
});

test('the service is measured with and without the request log', { skip: onlyLong }, async () => {
  const settings = { rounds: 1, seconds: 0.05, warmSeconds: 0.05, database: 'SQLite' } as const;
  const figures = await measureRequestLog(settings, () => undefined);
  assert.equal(figures.length, 2);
  for (const { request, ...numbers } of figures)
    for (const [name, value] of Object.entries(numbers)) assert.ok(value > 0, `${request}: ${name}`);
});
