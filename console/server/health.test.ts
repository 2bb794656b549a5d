import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { runHealthChecks } from './health.ts';

const NOW = Date.UTC(2027, 0, 1);
const WELL = {
  now: NOW,
  isReady: true,
  isLogSealed: true,
  waitingWrites: 0,
  inDoubtPayments: 0,
  inactiveUsers: 0,
  blockedPasswords: 0,
  isTimeTrusted: true,
  alteredRows: 0,
  certificateEnd: NOW + 31 * DAY,
  proxyEnds: [NOW + 31 * DAY],
  coreDumps: false,
  isRootKeyExposed: false,
};

const states = (changed: Partial<Parameters<typeof runHealthChecks>[0]>): string[] =>
  runHealthChecks({ ...WELL, ...changed }).map(({ state }) => state);
const at = (index: number, state: string): string[] => states({}).with(index, state);

describe('health', () => {
  test('has no finding when nothing is wrong', () => assert.deepEqual([...new Set(states({}))], ['good']));

  for (const [what, changed, expected] of [
    ['a database that does not write', { isReady: false }, at(0, 'bad')],
    ['a seal of the audit log that is wrong', { isLogSealed: false }, at(1, 'bad')],
    ['an audit log that cannot be read', { isLogSealed: undefined }, at(1, 'bad')],
    ['a row that was altered', { alteredRows: 1 }, at(2, 'bad')],
    ['a tenth of the queue', { waitingWrites: LIMITS.queuedUnits / 10 }, states({})],
    ['more than that', { waitingWrites: LIMITS.queuedUnits / 10 + 1 }, at(3, 'warning')],
    ['a certificate that ends within 30 days', { certificateEnd: NOW + 30 * DAY - 1 }, at(4, 'warning')],
    ['a certificate that has ended', { certificateEnd: NOW }, at(4, 'bad')],
    ['a certificate that is not known', { certificateEnd: undefined }, at(4, 'warning')],
    ['a proxy without certificate', { proxyEnds: [] }, states({})],
    ['a certificate of a proxy near its end', { proxyEnds: [NOW + 1, NOW + 99 * DAY] }, at(5, 'warning')],
    ['one that has ended, and another near its end', { proxyEnds: [NOW + 1, NOW] }, at(5, 'bad')],
    ['a root key beside the data', { isRootKeyExposed: true }, at(10, 'warning')],
    ['core dumps that are allowed', { coreDumps: true }, at(11, 'warning')],
    ['core dumps only where the system says', { coreDumps: undefined }, states({}).slice(0, 11)],
    ['a payment in doubt', { inDoubtPayments: 1 }, at(6, 'warning')],
    ['a clock that is not trusted', { isTimeTrusted: false }, at(9, 'bad')],
    ['users who are away and stay enabled', { inactiveUsers: 1 }, at(7, 'warning')],
    ['a password that is blocked', { blockedPasswords: 1 }, at(8, 'warning')],
  ] as const)
    test(`reports ${what}`, () => assert.deepEqual(states(changed), expected));

  test('counts the affected records', () => {
    const waitingWrites = LIMITS.queuedUnits / 2;
    const found = runHealthChecks({
      ...WELL,
      alteredRows: 2,
      waitingWrites,
      inDoubtPayments: 3,
      inactiveUsers: 2,
      proxyEnds: [NOW, NOW, NOW + 1],
    });
    const numbers = found.map(({ finding, count, limit }) => [finding, count, limit]);
    assert.deepEqual(numbers.slice(2), [
      ['rows-altered', 2, 0],
      ['writes-wait', waitingWrites, LIMITS.queuedUnits],
      ['certificate-ends', 0, 0],
      ['proxies-ended', 2, 0],
      ['payments-in-doubt', 3, 0],
      ['users-inactive', 2, 0],
      ['passwords-accepted', 0, 0],
      ['time-trusted', 0, 0],
      ['custody-good', 0, 0],
      ['dumps-off', 0, 0],
    ]);
    assert.equal(found[4]?.expiresAt, WELL.certificateEnd);
  });
});
