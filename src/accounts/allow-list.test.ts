import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isAllowed, normalizeAddress, parseCidr } from './allow-list.ts';

/** Formats that some address parsers accept and that others understand differently. */
const AMBIGUOUS = [
  '010.0.0.1',
  '10.0.0.01',
  '0x0a.0.0.1',
  '0x0a000001',
  '167772161',
  '10.1',
  '10.0.1',
  '1',
  '10.0.0.256',
  '10.0.0.0.1',
  '10.0.0.',
  '.10.0.0.1',
  '10.0.0.-1',
  '10.0.0.1 ,10.0.0.2',
  '１０.0.0.1',
  'fe80::1%eth0',
  '::1%1',
  '::ffff:010.0.0.1',
  '::ffff:0xa.0.0.1',
  '::ffff:10.1',
  '::ffff:10.0.0.256',
  '::10.0.0.1',
  '[::1]',
  '1::2::3',
  ':::',
  '12345::',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  'g::1',
  ':',
  '',
  'localhost',
  'example.com',
];

const octet = fc.integer({ min: 0, max: 255 });
const ipv4 = fc.tuple(octet, octet, octet, octet);
const dotted = (parts: readonly number[]): string => parts.join('.');
const toBits = (parts: readonly number[], width: number): string =>
  parts.map((part) => part.toString(2).padStart(width, '0')).join('');
const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
const colons = (parts: readonly number[]): string => parts.map((part) => part.toString(16)).join(':');
const isMapped = (parts: readonly number[]): boolean =>
  parts.slice(0, 5).every((part) => part === 0) && parts[5] === 0xffff;

describe('readAddress', () => {
  it('returns the normal form', () => {
    assert.equal(normalizeAddress('192.0.2.1'), '192.0.2.1');
    assert.equal(normalizeAddress('2001:DB8:0:0::0001'), '2001:db8::1');
    assert.equal(normalizeAddress('::'), '::');
    assert.equal(normalizeAddress('0:0:0:0:0:0:0:1'), '::1');
    assert.equal(normalizeAddress('64:ff9b::192.0.2.1'), '64:ff9b::c000:201');
  });

  it('returns IPv4-mapped IPv6 as IPv4, however it is spelled', () => {
    for (const text of [
      '::ffff:192.0.2.1',
      '::FFFF:192.0.2.1',
      '::ffff:c000:201',
      '0:0:0:0:0:ffff:c000:0201',
      '0:0::ffff:192.0.2.1',
    ]) {
      assert.equal(normalizeAddress(text), '192.0.2.1', text);
    }
  });

  it('accepts no ambiguous form and no network', () => {
    for (const text of [...AMBIGUOUS, '10.0.0.0/8', ' 10.0.0.1', '10.0.0.1\n', '10.0.0.1:443']) {
      assert.equal(normalizeAddress(text), undefined, JSON.stringify(text));
    }
  });
});

describe('readCidr', () => {
  it('accepts addresses and networks, and keeps the bits that were entered', () => {
    const read: [string, string][] = [
      ['192.0.2.1', '192.0.2.1'],
      [' 192.0.2.1 ', '192.0.2.1'],
      ['192.0.2.77/24', '192.0.2.77/24'],
      ['0.0.0.0/0', '0.0.0.0/0'],
      ['192.0.2.1/32', '192.0.2.1/32'],
      ['2001:DB8::/32', '2001:db8::/32'],
      ['::/0', '::/0'],
      ['::1/128', '::1/128'],
    ];
    for (const [text, expected] of read) assert.equal(parseCidr(text), expected, text);
  });

  it('returns IPv4-mapped networks as IPv4', () => {
    assert.equal(parseCidr('::ffff:192.0.2.1'), '192.0.2.1');
    assert.equal(parseCidr('::ffff:192.0.2.0/120'), '192.0.2.0/24');
    assert.equal(parseCidr('::ffff:0:0/96'), '0.0.0.0/0');
    assert.equal(parseCidr('::ffff:192.0.2.0/128'), '192.0.2.0/32');
  });

  it('rejects mapped networks that are wider than all of IPv4', () => {
    assert.equal(parseCidr('::ffff:192.0.2.0/95'), undefined);
    assert.equal(parseCidr('::ffff:192.0.2.0/24'), undefined);
  });

  it('rejects lengths that do not exist', () => {
    for (const text of [
      '10.0.0.0/33',
      '::/129',
      '10.0.0.0/',
      '10.0.0.0/-1',
      '10.0.0.0/+8',
      '10.0.0.0/8.0',
      '10.0.0.0/ 8',
      '10.0.0.0/0x8',
      '10.0.0.0/8/8',
      '/8',
      '10.0.0.0/255.0.0.0',
      '10.0.0.0/1000',
    ]) {
      assert.equal(parseCidr(text), undefined, text);
    }
  });

  it('accepts no ambiguous form, with or without a length', () => {
    for (const text of AMBIGUOUS) {
      assert.equal(parseCidr(text), undefined, text);
      assert.equal(parseCidr(`${text}/8`), undefined, text);
    }
  });

  it('returns a form that it parses to the same form', () => {
    const texts = fc.oneof(
      fc.tuple(ipv4.map(dotted), fc.integer({ min: 0, max: 32 })),
      fc.tuple(groups.map(colons), fc.integer({ min: 96, max: 128 })),
    );
    fc.assert(
      fc.property(texts, ([address, length]) => {
        const cidr = parseCidr(`${address}/${length}`);
        assert.ok(cidr !== undefined);
        assert.equal(parseCidr(cidr), cidr);
      }),
    );
  });
});

describe('isAllowed', () => {
  it('is true when an address shares the leading bits of a network: IPv4', () => {
    fc.assert(
      fc.property(ipv4, fc.integer({ min: 0, max: 32 }), fc.nat(31), (base, length, flipped) => {
        const candidate = [...base];
        candidate[flipped >> 3] = (candidate[flipped >> 3] ?? 0) ^ (0x80 >> (flipped & 7));
        const networks = [`${dotted(base)}/${length}`];
        assert.equal(isAllowed(networks, dotted(base)), true);
        const shared = toBits(base, 8).slice(0, length) === toBits(candidate, 8).slice(0, length);
        assert.equal(isAllowed(networks, dotted(candidate)), shared);
        assert.equal(isAllowed(networks, `::ffff:${dotted(candidate)}`), shared);
      }),
      { numRuns: 500 },
    );
  });

  it('is true when an address shares the leading bits of a network: IPv6', () => {
    fc.assert(
      fc.property(groups, fc.integer({ min: 0, max: 128 }), fc.nat(127), (base, length, flipped) => {
        const candidate = [...base];
        candidate[flipped >> 4] = (candidate[flipped >> 4] ?? 0) ^ (0x8000 >> (flipped & 15));
        fc.pre(!isMapped(base) && !isMapped(candidate));
        const networks = [`${colons(base)}/${length}`];
        assert.equal(isAllowed(networks, colons(base)), true);
        const shared = toBits(base, 16).slice(0, length) === toBits(candidate, 16).slice(0, length);
        assert.equal(isAllowed(networks, colons(candidate)), shared);
      }),
      { numRuns: 500 },
    );
  });

  it('treats an address without a length as that address alone', () => {
    assert.equal(isAllowed(['192.0.2.1', '2001:db8::1'], '192.0.2.1'), true);
    assert.equal(isAllowed(['192.0.2.1', '2001:db8::1'], '2001:db8:0::1'), true);
    assert.equal(isAllowed(['192.0.2.1', '2001:db8::1'], '192.0.2.2'), false);
    assert.equal(isAllowed(['192.0.2.1', '2001:db8::1'], '2001:db8::2'), false);
  });

  it('checks every network', () => {
    const networks = ['10.0.0.0/8', '2001:db8::/32', '192.0.2.0/24'];
    for (const address of ['10.255.0.1', '2001:db8:ffff::', '192.0.2.255']) assert.ok(isAllowed(networks, address));
    for (const address of ['11.0.0.0', '2001:db9::', '192.0.3.0']) assert.ok(!isAllowed(networks, address));
  });

  it('never confuses the two families', () => {
    assert.equal(isAllowed(['0.0.0.0/0'], '2001:db8::1'), false);
    assert.equal(isAllowed(['::/0'], '192.0.2.1'), false);
    assert.equal(isAllowed(['::/0'], '::ffff:192.0.2.1'), false);
    assert.equal(isAllowed(['0.0.0.0/0'], '::ffff:192.0.2.1'), true);
    assert.equal(isAllowed(['0.0.0.0/0'], '::192.0.2.1'), false);
  });

  it('is false for an empty list, and for a text that is no address', () => {
    assert.equal(isAllowed([], '127.0.0.1'), false);
    for (const text of AMBIGUOUS) assert.equal(isAllowed(['0.0.0.0/0', '::/0'], text), false, text);
  });
});
