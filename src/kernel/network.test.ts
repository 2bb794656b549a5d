import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { normalizeAddress } from '../accounts/allow-list.ts';
import { subscriberNetwork } from './network.ts';

describe('subscriberNetwork', () => {
  it('is an IPv4 address itself', () => {
    assert.equal(subscriberNetwork('192.0.2.1'), '192.0.2.1');
  });

  it('is the network of 64 bits of an IPv6 address', () => {
    const expected: [string, string][] = [
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['2001:db8::1', '2001:db8:0:0::/64'],
      ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
      ['::1', '0:0:0:0::/64'],
      ['::', '0:0:0:0::/64'],
      ['1::', '1:0:0:0::/64'],
      ['1:2:3:4::', '1:2:3:4::/64'],
      ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
    ];
    for (const [address, network] of expected) assert.equal(subscriberNetwork(address), network, address);
  });

  it('is the same for two addresses exactly when their first 64 bits are', () => {
    const group = fc.constantFrom(0, 0, 1, 0xdb8, 0xffff);
    const half = fc.array(group, { minLength: 4, maxLength: 4 });
    const usual = (groups: readonly number[]): string =>
      normalizeAddress(groups.map((part) => part.toString(16)).join(':')) ?? '';
    fc.assert(
      fc.property(half, half, half, half, (network, other, one, two) => {
        const here = usual([...network, ...one]);
        const there = usual([...other, ...two]);
        // The normal form of an IPv4-mapped address is IPv4.
        fc.pre(here.includes(':') && there.includes(':'));
        assert.equal(subscriberNetwork(here), subscriberNetwork(usual([...network, 1, 2, 3, 4])));
        assert.equal(subscriberNetwork(here) === subscriberNetwork(there), network.join() === other.join());
      }),
      { numRuns: 1000 },
    );
  });
});
