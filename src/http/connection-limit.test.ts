import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MINUTE } from '../kernel/clock.ts';
import { ConnectionLimit, exemptAddresses } from './connection-limit.ts';

const newLimit = (perAddress: number, isExempt = (_address: string): boolean => false) => {
  const seen = { now: 0, refused: 0, reports: [] as [string, number][] };
  const limit = new ConnectionLimit({
    perAddress,
    isExempt,
    clock: () => seen.now,
    onRefused: () => {
      seen.refused++;
    },
    onReport: (address, count) => seen.reports.push([address, count]),
  });
  return { limit, seen };
};

describe('connections of one address', () => {
  test('are rejected beyond the limit, until one of them closes', () => {
    const { limit, seen } = newLimit(2);
    const first = limit.admit('203.0.113.7');
    assert.ok(first && limit.admit('203.0.113.7'));
    assert.equal(limit.admit('203.0.113.7'), undefined);
    assert.ok(limit.admit('203.0.113.8'), 'another address');
    first();
    first();
    assert.ok(limit.admit('203.0.113.7'));
    assert.equal(limit.admit('203.0.113.7'), undefined, 'an end that is reported twice counts once');
    assert.equal(seen.refused, 2);
  });

  test('are no longer stored when all have closed', () => {
    const { limit } = newLimit(2);
    const ends = ['203.0.113.7', '203.0.113.7', '2001:db8::1', '::ffff:203.0.113.9'].map((each) => limit.admit(each));
    assert.equal(limit.size, 3);
    for (const end of ends) end?.();
    assert.equal(limit.size, 0);
  });

  test('are counted by IPv6 network of 64 bits, and by IPv4 address in either form', () => {
    const { limit } = newLimit(1);
    assert.ok(limit.admit('2001:db8:1:2::1'));
    assert.equal(limit.admit('2001:db8:1:2:ffff:ffff:ffff:ffff'), undefined);
    assert.ok(limit.admit('2001:db8:1:3::1'));
    assert.ok(limit.admit('198.51.100.1'));
    assert.equal(limit.admit('::ffff:198.51.100.1'), undefined);
    assert.ok(limit.admit('fe80::1%eth0'));
    assert.equal(limit.admit('fe80::2%eth0'), undefined);
  });

  test('are not counted when they are exempt or without a limit', () => {
    const { limit } = newLimit(1, (address) => address === '192.0.2.1');
    const { limit: none } = newLimit(0);
    for (let index = 0; index < 10; index++) assert.ok(limit.admit('192.0.2.1') && none.admit('203.0.113.7'));
    assert.deepEqual([limit.size, none.size], [0, 0]);
  });

  test('are reported once a minute, with the number of rejected connections', () => {
    const { limit, seen } = newLimit(1);
    limit.admit('203.0.113.7');
    for (let index = 0; index < 5; index++) limit.admit('203.0.113.7');
    seen.now = MINUTE - 1;
    limit.admit('203.0.113.7');
    assert.deepEqual(seen.reports, [['203.0.113.7', 1]]);
    seen.now = MINUTE;
    limit.admit('203.0.113.7');
    assert.deepEqual(seen.reports[1], ['203.0.113.7', 6]);
    assert.equal(seen.refused, 7);
  });

  test('of this machine and of trusted proxies are exempt', () => {
    const isExempt = exemptAddresses(['10.0.0.0/8', '2001:db8::1']);
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '10.1.2.3', '2001:db8::1'])
      assert.equal(isExempt(address), true, address);
    for (const address of ['203.0.113.7', '2001:db8::2', '::2', '']) assert.equal(isExempt(address), false, address);
  });
});
