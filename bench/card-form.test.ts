import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onlyLong } from '../test/scope.ts';
import { cardFormSection, compareRounds, measureCardForm } from './card-form.ts';
import type { Round } from './testbed.ts';

const round = (p99: number, cpu: number): Round => ({
  ...{ perSecond: 500, p50: p99 / 2, p99, usualP99: p99, cpu, databaseCpu: 0, loadShare: 0.1 },
});
const sessions = { sessions: 1000, seconds: 5, p50: 10, p99: 20 };
const plain = { ...sessions, sessions: 500 };

test('the cost of sessions is the median of the ratios of rounds that follow each other', () => {
  // The machine is slower from round to round: medians of each side would compare different minutes.
  const figures = compareRounds([
    {
      without: round(10, 100),
      beside: round(11, 300),
      sessions,
      plain,
      besidePlain: round(11, 300),
      besideEcho: round(5, 100),
      echoCpu: 800,
      busy: 0.5,
    },
    {
      without: round(20, 100),
      beside: round(22, 300),
      sessions,
      plain,
      besidePlain: round(44, 300),
      besideEcho: round(20, 100),
      echoCpu: 900,
      busy: 0.6,
    },
    {
      without: round(40, 100),
      beside: round(44, 300),
      sessions,
      plain,
      besidePlain: round(44, 300),
      besideEcho: round(22, 100),
      echoCpu: 1000,
      busy: 0.7,
    },
  ]);
  assert.deepEqual(figures, {
    perSecond: 500,
    without: { p50: 10, p99: 20, usualP99: 20 },
    beside: { p50: 11, p99: 22, usualP99: 22 },
    besidePlain: { p50: 22, p99: 44, usualP99: 44 },
    besideEcho: { p50: 10, p99: 20, usualP99: 20 },
    ratio: { p50: 1.1, p99: 1.1, usualP99: 1.1 },
    ratioToPlain: { p50: 1, p99: 1, usualP99: 1 },
    ratioToEcho: { p50: 2, p99: 2, usualP99: 2 },
    sessions: { perSecond: 200, p50: 10, p99: 20 },
    cpu: 500,
    plainCpu: 1000,
    echoCpu: 900,
    busy: 0.6,
  });
  const conditions = {
    date: '2026-01-31',
    cores: 2,
    processor: 'CPU',
    memoryGiB: 4,
    node: '24',
    version: '1',
    settings: {},
  };
  const settings = { database: 'SQLite', rounds: 3, seconds: 5, workers: 1, sessionsPerSecond: 200 } as const;
  const section = cardFormSection([{ ...settings, ...figures }], conditions);
  assert.match(
    section,
    /\| 200 +\| 1 +\| p99 +\| 20\.00 ms +\| 22\.00 ms +\| 1\.10 +\| 44\.00 ms +\| 1\.00 +\| 20\.00 ms +\| 2\.00 +\|/,
  );
  assert.match(section, /\| 200 +\| 1 +\| 200 +\| 10\.00 ms +\| 20\.00 ms +\| 500 +\| 1,000 +\| 900 +\| 60 % +\|/);
});

test('sessions are measured beside the API', { skip: onlyLong }, async () => {
  const { sessions, ratio } = await measureCardForm(
    { rounds: 1, seconds: 0.5, database: 'SQLite', workers: 1, sessionsPerSecond: 200 },
    () => undefined,
  );
  assert.ok(sessions.perSecond > 0 && sessions.p99 >= sessions.p50 && ratio.p99 > 0);
});
