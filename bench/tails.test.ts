import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onlyLong } from '../test/scope.ts';
import { measureTails, tailFigure, tailSection } from './tails.ts';
import type { Round } from './testbed.ts';

const round = (p50: number, p99: number): Round => ({
  ...{ perSecond: 500, p50, p99, usualP99: p99, cpu: 100, databaseCpu: 0, loadShare: 0.1 },
});
const settings = { rounds: 3, seconds: 3, warmSeconds: 3, only: [] };
const conditions = {
  ...{ date: '2026-01-31', cores: 2, processor: 'CPU', memoryGiB: 4, node: '24', version: '1', settings: {} },
};

test('each cause is compared with the median of its own rounds', () => {
  const figure = tailFigure('inspect a token', 'SQLite', [
    { name: 'bare echo', rounds: [round(2, 4), round(2, 5), round(2, 6)] },
    { name: 'usual', rounds: [round(5, 20), round(10, 20), round(10, 30)] },
    { name: 'without flushes', rounds: [round(10, 20)] },
  ]);
  assert.deepEqual(figure, {
    ...{ request: 'inspect a token', database: 'SQLite', p50: 10, p99: 20 },
    spread: { 'bare echo': 2.5, usual: 3, 'without flushes': 2 },
  });
  const section = tailSection({ ...settings, figures: [figure].flatMap((each) => each ?? []) }, conditions);
  assert.match(section, /\| inspect a token \| SQLite +\| 10\.00 +\| 20\.0 +\| 2\.5 +\| - +\| 3\.0 +\| 2\.0 +\|/);
  assert.equal(tailFigure('inspect a token', 'PostgreSQL', [{ name: 'bare echo', rounds: [round(2, 4)] }]), undefined);
});

test('the causes of the tails are measured', { skip: onlyLong, timeout: 180_000 }, async () => {
  const short = { rounds: 1, seconds: 0.5, warmSeconds: 0.5, only: ['tokenize a capture'] };
  const { figures } = await measureTails(short, () => undefined);
  const [sqlite] = figures;
  assert.equal(sqlite?.database, 'SQLite');
  for (const name of ['bare echo', 'service echo', 'usual'] as const) assert.ok((sqlite?.spread[name] ?? 0) >= 1);
});
