import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY, HOUR } from '../kernel/clock.ts';
import type { Check } from './check.ts';
import { checkAuditLog, checkBackups, checkCustody, checkKeyAges } from './vault.ts';

const states = (checks: readonly Check[]): string[] => checks.map(({ state }) => state);

describe('rules about a vault', () => {
  test('a root key beside the data is a problem once production has keys', () => {
    const facts = { kind: 'file', isKeyBesideData: true, hasProductionKeys: true, hasPrevious: false };
    assert.deepEqual(states(checkCustody(facts)), ['problem']);
    assert.deepEqual(states(checkCustody({ ...facts, hasProductionKeys: false })), ['warning']);
    assert.deepEqual(states(checkCustody({ ...facts, hasProductionKeys: undefined })), ['warning']);
    assert.deepEqual(states(checkCustody({ ...facts, isKeyBesideData: false })), ['ok']);
    assert.deepEqual(states(checkCustody({ ...facts, isKeyBesideData: false, hasPrevious: true })), ['warning']);
  });

  test('backups and drills are as old as the settings allow', () => {
    const none = { backup: undefined, drill: undefined };
    const limits = { backup: 24 * HOUR, drill: 30 * DAY };
    assert.deepEqual(states(checkBackups({ ages: none, maxAges: none })), ['warning', 'warning']);
    assert.deepEqual(states(checkBackups({ ages: none, maxAges: limits })), ['problem', 'problem']);
    assert.deepEqual(states(checkBackups({ ages: { backup: HOUR, drill: DAY }, maxAges: limits })), ['ok', 'ok']);
    assert.deepEqual(states(checkBackups({ ages: { backup: 25 * HOUR, drill: 31 * DAY }, maxAges: limits })), [
      'problem',
      'problem',
    ]);
    assert.deepEqual(states(checkBackups({ ages: { backup: 3 * DAY, drill: 90 * DAY }, maxAges: none })), [
      'warning',
      'ok',
    ]);
  });

  test('the audit log was verified in time, and without a fault', () => {
    const now = 100 * DAY;
    const verified = (kind: 'daily' | 'full', age: number, fault = '') =>
      ({ kind, at: now, succeededAt: now - age, records: 1, fault }) as const;
    assert.deepEqual(states(checkAuditLog([verified('daily', DAY), verified('full', 7 * DAY)], now)), ['ok']);
    assert.deepEqual(states(checkAuditLog([verified('daily', 3 * DAY), verified('full', 9 * DAY)], now)), [
      'warning',
      'warning',
    ]);
    assert.deepEqual(states(checkAuditLog([verified('daily', DAY, 'seal'), verified('full', DAY)], now)), ['problem']);
    assert.deepEqual(states(checkAuditLog([], now)), ['warning', 'warning']);
  });

  test('old keys are counted', () => {
    assert.deepEqual([checkKeyAges(0).state, checkKeyAges(2).state], ['ok', 'warning']);
  });
});
