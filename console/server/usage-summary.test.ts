import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countRequest } from '../../src/http/request-counters.ts';
import { HOUR } from '../../src/kernel/clock.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import { STATUSES } from '../../src/payments/transitions.ts';
import { latencyPercentile, summarizeUsage } from './usage-summary.ts';

const TENANT: Tenant = { account: 'one', environment: 'sandbox' };

const counted = (numbers: Readonly<Record<string, number>>) =>
  Object.entries(numbers).map(([name, number]) => ({ name, number }));

const within = (numbers: Readonly<Record<string, number>>, share: number): number | undefined =>
  latencyPercentile(summarizeUsage(counted(numbers), []), share);

describe('a usage summary', () => {
  it('adds up requests of all operations, and counts captures and tokens separately', () => {
    const tally = summarizeUsage(
      counted({
        tokens: 7,
        'createCapture.ok': 2,
        'createCapture.refused': 3,
        'tokenizeCards.ok': 5,
        'createPayment.failed': 1,
        'ms.le_5': 11,
      }),
      [],
    );
    const { tokens, captures, requests, refused, failed } = tally;
    assert.deepEqual(
      { tokens, captures, requests, refused, failed },
      { tokens: 7, captures: 2, requests: 11, refused: 3, failed: 1 },
    );
  });

  it('counts every payment, and those with an outcome as approved or not', () => {
    const payments = STATUSES.map((status, index) => ({ hour: HOUR, status, number: 10 ** index }));
    const { payments: all, approved, notApproved } = summarizeUsage([], payments);
    // Authorized, Collected and Voided; Declined and ProcessorError.
    assert.deepEqual([all, approved, notApproved], [1_111_111, 10_110, 1_100_000]);
  });

  it('is empty without counts', () => {
    const { steps, ...numbers } = summarizeUsage([], []);
    assert.deepEqual(new Set(Object.values(numbers)), new Set([0]));
    assert.equal(latencyPercentile({ steps }, 0.5), undefined);
  });
});

describe('a latency percentile', () => {
  it('is the upper bound of the bucket that contains it, whatever the order of the buckets', () => {
    const numbers = { 'ms.le_100': 5, 'ms.le_2': 90, 'ms.le_10': 5 };
    assert.equal(within(numbers, 0.5), 2);
    assert.equal(within(numbers, 0.9), 2);
    assert.equal(within(numbers, 0.91), 10);
    assert.equal(within(numbers, 0.95), 10);
    assert.equal(within(numbers, 0.96), 100);
    assert.equal(within(numbers, 1), 100);
  });

  it('is reported up to a minute, and above it as longer', () => {
    const took = [1000, 1001, 2001, 5001, 10_001, 30_001, 60_000, 60_001, 600_000];
    const answered = took.map((milliseconds) => {
      const names: string[] = [];
      countRequest({ note: (_tenant, name) => names.push(name) }, TENANT, 'ping', { status: 200, milliseconds });
      return within(Object.fromEntries(names.map((name) => [name, 1])), 1);
    });
    assert.deepEqual(answered, [1000, 2000, 5000, 10_000, 30_000, 60_000, 60_000, 60_001, 60_001]);
  });

  it('is above a minute in a bucket without an upper bound', () => {
    assert.equal(within({ 'ms.le_1': 1, 'ms.longer': 99 }, 0.5), 60_001);
  });

  it('adds up buckets of several hours', () => {
    const hours = [...counted({ 'ms.le_1': 4 }), ...counted({ 'ms.le_1': 4 }), ...counted({ 'ms.le_5': 7 })];
    assert.equal(latencyPercentile(summarizeUsage(hours, []), 0.5), 1);
  });
});
