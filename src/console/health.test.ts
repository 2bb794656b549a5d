import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { checksOf } from './health.ts';

const NOW = Date.UTC(2027, 0, 1);
const WELL = {
  now: NOW,
  isReady: true,
  isLogSealed: true,
  waitingWrites: 0,
  doubtfulPayments: 0,
  certificateEnd: NOW + 31 * DAY,
  proxyEnds: [NOW + 31 * DAY],
};

const states = (changed: Partial<Parameters<typeof checksOf>[0]>): string[] =>
  checksOf({ ...WELL, ...changed }).map(({ state }) => state);
const at = (index: number, state: string): string[] => states({}).with(index, state);

describe('health', () => {
  test('is good when nothing is wrong', () => assert.deepEqual([...new Set(states({}))], ['good']));

  for (const [what, changed, expected] of [
    ['a database that does not write', { isReady: false }, at(0, 'bad')],
    ['a seal of the audit log that is wrong', { isLogSealed: false }, at(1, 'bad')],
    ['an audit log that cannot be read', { isLogSealed: undefined }, at(1, 'bad')],
    ['a tenth of the queue', { waitingWrites: LIMITS.waitingUnits / 10 }, states({})],
    ['more than that', { waitingWrites: LIMITS.waitingUnits / 10 + 1 }, at(2, 'warning')],
    ['a certificate that ends within 30 days', { certificateEnd: NOW + 30 * DAY - 1 }, at(3, 'warning')],
    ['a certificate that has ended', { certificateEnd: NOW }, at(3, 'bad')],
    ['a certificate that is not known', { certificateEnd: undefined }, at(3, 'warning')],
    ['a proxy without certificate', { proxyEnds: [] }, states({})],
    ['a certificate of a proxy near its end', { proxyEnds: [NOW + 1, NOW + 99 * DAY] }, at(4, 'warning')],
    ['one that has ended, and another near its end', { proxyEnds: [NOW + 1, NOW] }, at(4, 'bad')],
    ['a payment in doubt', { doubtfulPayments: 1 }, at(5, 'warning')],
  ] as const)
    test(`tells of ${what}`, () => assert.deepEqual(states(changed), expected));

  test('counts what it is about', () => {
    const waitingWrites = LIMITS.waitingUnits / 2;
    const found = checksOf({ ...WELL, waitingWrites, doubtfulPayments: 3, proxyEnds: [NOW, NOW, NOW + 1] });
    const numbers = found.map(({ finding, count, limit }) => [finding, count, limit]);
    assert.deepEqual(numbers.slice(2), [
      ['writes-wait', waitingWrites, LIMITS.waitingUnits],
      ['certificate-ends', 0, 0],
      ['proxies-ended', 2, 0],
      ['payments-doubtful', 3, 0],
    ]);
    assert.equal(found[3]?.endsAt, WELL.certificateEnd);
  });
});
