import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addCounts, mergeMetrics, type ReportedMetric } from './merged-metrics.ts';
import { Metrics } from './metrics.ts';

const counted = async (failures: number): Promise<readonly ReportedMetric[]> => {
  const metrics = new Metrics(() => ({ waiting: failures, executed: { groups: failures, units: 2 * failures } }));
  for (let count = 0; count < failures; count++) {
    metrics.countFailure('sandbox', 'rate_limited');
    metrics.observeRequest('sandbox', 'GET', '/v1/account', 429, 3);
  }
  if (failures > 2) metrics.countFailure('production', 'internal');
  return (await (await metrics.registry()).getMetricsAsJSON()) as readonly ReportedMetric[];
};
const linesOf = (text: string, start: string): string[] => text.split('\n').filter((line) => line.startsWith(start));

test('counters, histograms and gauges of threads are added up by labels', async () => {
  const threads = [
    { thread: '1', metrics: await counted(3) },
    { thread: '2', metrics: await counted(4) },
  ];
  const text = await (await mergeMetrics(await counted(1), threads)).metrics();
  assert.deepEqual(linesOf(text, 'cardvault_failures_total'), [
    'cardvault_failures_total{listener="sandbox",failure="rate_limited"} 8',
    'cardvault_failures_total{listener="production",failure="internal"} 2',
  ]);
  assert.deepEqual(linesOf(text, 'cardvault_waiting_writes'), ['cardvault_waiting_writes 8']);
  const labels = 'listener="sandbox",method="GET",route="/v1/account",status="429"';
  const duration = 'cardvault_http_request_duration_seconds';
  assert.deepEqual(linesOf(text, `${duration}_count`), [`${duration}_count{${labels}} 8`]);
  assert.deepEqual(linesOf(text, `${duration}_bucket{le="0.0025"`), [`${duration}_bucket{le="0.0025",${labels}} 0`]);
  assert.deepEqual(linesOf(text, `${duration}_bucket{le="0.005"`), [`${duration}_bucket{le="0.005",${labels}} 8`]);
});

test('metrics of the process are counted once, and delays of the event loop have the name of their thread', async () => {
  const main = await counted(0);
  const text = await (await mergeMetrics(main, [{ thread: '1', metrics: await counted(0) }])).metrics();
  assert.equal(linesOf(text, 'cardvault_process_start_time_seconds').length, 1);
  const started = main.find(({ name }) => name === 'cardvault_process_start_time_seconds')?.values[0]?.value;
  assert.deepEqual(linesOf(text, 'cardvault_process_start_time_seconds'), [
    `cardvault_process_start_time_seconds ${started}`,
  ]);
  assert.deepEqual(
    linesOf(text, 'cardvault_nodejs_eventloop_lag_seconds').map((line) => line.replace(/ .*/, '')),
    ['main', '1'].map((thread) => `cardvault_nodejs_eventloop_lag_seconds{thread="${thread}"}`),
  );
});

test('the counts of ended threads are added up, and not their gauges', async () => {
  const counts = addCounts(addCounts([], await counted(3)), await counted(4));
  const names = counts.map(({ name }) => name);
  assert.ok(names.includes('cardvault_failures_total') && !names.includes('cardvault_waiting_writes'));
  const failures = counts.find(({ name }) => name === 'cardvault_failures_total');
  assert.deepEqual(
    failures?.values.map(({ value }) => value),
    [7, 2],
  );
});
