import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatJson } from '../console/web/src/pages/capture/format-json.ts';
import { splitDuration } from '../console/web/src/pages/captures/duration.ts';
import { hasWideNetwork, mergeEntries, parseList } from '../console/web/src/pages/keys/allow-list.ts';
import { findAddressFault, NEW_KEY, toFormValues, toKeyAttributes } from '../console/web/src/pages/keys/key-values.ts';
import { isNetwork, parseNetwork } from '../console/web/src/pages/keys/network.ts';
import { GROUPS, isPresetChosen, listPermissions, PRESETS } from '../console/web/src/pages/keys/permissions.ts';
import { buildCommands } from '../console/web/src/pages/onboarding/commands.ts';
import { findFault, toSearch } from '../console/web/src/pages/tokens/search.ts';
import { parseCidr } from '../src/accounts/allow-list.ts';
import { PERMISSIONS } from '../src/accounts/permission.ts';

/** The computations of the pages of keys, tokens, captures and onboarding. */

const NOW = Date.parse('2026-11-22T10:00:00.000Z');
const CONTEXT = { now: NOW, timeZone: 'America/Bogota', current: null };

describe('an allow-list that a user enters', () => {
  it('accepts the networks that the service accepts, and no others', () => {
    const octet = fc.oneof(fc.integer({ min: 0, max: 300 }).map(String), fc.constantFrom('', '01', '0x1', '-1'));
    const bits = fc.option(fc.oneof(fc.integer({ min: 0, max: 130 }).map(String), fc.constantFrom('', '-1', 'x')));
    const four = fc.array(octet, { minLength: 3, maxLength: 5 }).map((parts) => parts.join('.'));
    const six = fc.oneof(fc.ipV6(), fc.constantFrom('::', '::1', ':::', '1::2::3', 'fe80::1%eth0', 'g::1', '1:2:3'));
    const text = fc
      .tuple(fc.oneof(fc.ipV4(), four, six), bits)
      .map(([address, length]) => (length === null ? address : `${address}/${length}`))
      // The service drops blanks and zeros that the page need not, and reads mapped addresses as the older ones.
      .filter((each) => !/\/0\d|^[0:]*:ffff:|^::\d+\./i.test(each));
    fc.assert(
      fc.property(text, (each) => isNetwork(each) === (parseCidr(each) !== undefined)),
      { numRuns: 2000 },
    );
  });

  it('recognizes the entire internet', () => {
    assert.ok(parseNetwork('0.0.0.0/0')?.isEverywhere);
    assert.ok(parseNetwork(' ::/0 ')?.isEverywhere);
    assert.ok(!parseNetwork('10.0.0.0/8')?.isEverywhere);
    assert.equal(parseNetwork('nonsense/0'), undefined);
  });

  it('recognizes very wide networks, and counts the addresses of those of IPv4', () => {
    const rows = (...all: string[]) => all.map((cidr) => ({ cidr, note: '' }));
    assert.ok(hasWideNetwork(rows('10.0.0.0/8', '64.0.0.0/7')));
    assert.ok(hasWideNetwork(rows('2001::/31')));
    assert.ok(!hasWideNetwork(rows('10.0.0.0/8', '2001:db8::/32', '203.0.113.7', '::1', 'nonsense', '')));
    assert.equal(parseNetwork('64.0.0.0/7')?.addresses, 2 ** 25);
    assert.equal(parseNetwork('203.0.113.7')?.addresses, 1);
    assert.equal(parseNetwork('2001::/31')?.addresses, undefined);
  });

  it('shows the effective network when more bits were entered', () => {
    const meant = (text: string) => {
      const { network, hasHostBits } = parseNetwork(text) ?? {};
      return [network, hasHostBits];
    };
    assert.deepEqual(meant('10.9.9.9/8'), ['10.0.0.0/8', true]);
    assert.deepEqual(meant('10.0.0.0/8'), ['10.0.0.0/8', false]);
    assert.deepEqual(meant('203.0.113.255/25'), ['203.0.113.128/25', true]);
    assert.deepEqual(meant('203.0.113.7'), ['203.0.113.7/32', false]);
    assert.deepEqual(meant('2001:DB8:0:0::1/32'), ['2001:db8::/32', true]);
    assert.deepEqual(meant('2001:db8:1:2:3:4:5:6'), ['2001:db8:1:2:3:4:5:6/128', false]);
    assert.deepEqual(meant('::ffff:192.0.2.1/120'), ['192.0.2.0/24', true]);
  });

  it('parses many lines with notes, and reports invalid lines', () => {
    const text = '203.0.113.7  shop server\n\n# office\n198.51.100.0/24, office; 2nd floor\r\nnonsense\n::1';
    assert.deepEqual(parseList(text), {
      rows: [
        { cidr: '203.0.113.7', note: 'shop server' },
        { cidr: '198.51.100.0/24', note: 'office; 2nd floor' },
        { cidr: '::1', note: '' },
      ],
      invalidLines: [5],
    });
  });

  it('parses several networks in one line, and no ambiguous line', () => {
    const text = '10.0.0.0/8, 10.9.9.9\n::1 ::2;::3 \n10.0.0.1 10.0.0.2 was it before\n10.0.0.3 (10.0.0.4 before)';
    assert.deepEqual(parseList(text), {
      rows: [
        ...['10.0.0.0/8', '10.9.9.9', '::1', '::2', '::3'].map((cidr) => ({ cidr, note: '' })),
        { cidr: '10.0.0.3', note: '(10.0.0.4 before)' },
      ],
      invalidLines: [3],
    });
  });

  it('adds no network twice, and drops empty rows', () => {
    const rows = [
      { cidr: ' ', note: '' },
      { cidr: '::1', note: 'old' },
    ];
    const added = [
      { cidr: '::1', note: 'new' },
      { cidr: '::2', note: '' },
    ];
    assert.deepEqual(mergeEntries(rows, added), [
      { cidr: '::1', note: 'old' },
      { cidr: '::2', note: '' },
    ]);
  });

  it('reports invalid rows, and duplicates', () => {
    const rows = ['::1', '', 'x', '::1', ' '].map((cidr) => ({ cidr, note: '' }));
    const faults = rows.map((_, index) => findAddressFault(rows, index));
    assert.deepEqual(faults, [undefined, undefined, 'address', 'twice', undefined]);
  });
});

describe('the form of a key', () => {
  const key = {
    id: 'key_1',
    name: 'shop',
    description: '',
    prefix: 'cv_sandbox_a',
    permissions: ['tokens:create'],
    allow_list: [{ cidr: '::1', note: 'here' }],
    state: 'active',
    successor: null,
    created_at: '2026-01-01T00:00:00.000Z',
    expires_at: '2027-01-01T00:00:00.000Z',
    revoked_at: null,
    last_used_at: null,
    revision: 3,
  } as const;

  it('sends unchanged values as they were', () => {
    assert.deepEqual(toKeyAttributes(toFormValues(key), { ...CONTEXT, current: key.expires_at }), {
      name: 'shop',
      description: '',
      permissions: ['tokens:create'],
      allow_list: [{ cidr: '::1', note: 'here' }],
      expires_at: '2027-01-01T00:00:00.000Z',
    });
    assert.equal(toKeyAttributes(toFormValues({ ...key, expires_at: null }), CONTEXT).expires_at, undefined);
  });

  it('counts days from now, and expires at the end of the day in the time zone of the user', () => {
    const ends = (expiry: 'd30' | 'date', date = '') =>
      toKeyAttributes({ ...NEW_KEY, expiry, date }, CONTEXT).expires_at;
    assert.equal(ends('d30'), '2026-12-22T10:00:00.000Z');
    assert.equal(ends('date', '2026-12-31'), '2027-01-01T04:59:59.999Z');
  });

  it('has every permission in one group, and distinct presets', () => {
    assert.deepEqual(GROUPS.flatMap(listPermissions).sort(), [...PERMISSIONS].sort());
    for (const preset of ['all', 'store', 'payments', 'read', 'none'] as const) {
      const same = (['all', 'store', 'payments', 'read', 'none'] as const).filter((each) =>
        isPresetChosen(each, PRESETS[preset]),
      );
      assert.deepEqual(same, [preset]);
    }
    const fitForReading = ['inspect', 'read'];
    assert.ok(PRESETS.read.every((permission) => fitForReading.includes(permission.split(':')[1] ?? '')));
  });
});

describe('searching for tokens', () => {
  it('accepts digits with blanks between them', () => {
    assert.deepEqual(toSearch('bin', ' 4111 11'), { by: 'bin', value: '411111' });
    assert.deepEqual(toSearch('tag', ' two words '), { by: 'tag', value: 'two words' });
  });

  it('sends tokens and tags, but no complete card number where digits of one are expected', () => {
    for (const by of ['last_four', 'bin'] as const)
      assert.equal(findFault(toSearch(by, '4111 1111 1111 1111')), 'card');
    for (const by of ['token', 'tag'] as const) assert.equal(findFault(toSearch(by, '4111111111111111')), undefined);
  });

  it('reports invalid input before it is sent', () => {
    assert.equal(findFault(toSearch('token', '  ')), 'empty');
    assert.equal(findFault(toSearch('last_four', '123')), 'last_four');
    assert.equal(findFault(toSearch('bin', '1234567')), 'bin');
    assert.equal(findFault(toSearch('bin', '12345678')), undefined);
    assert.equal(findFault(toSearch('tag', 'x'.repeat(256))), 'long');
  });
});

describe('a capture', () => {
  it('shows its additional information on several lines, unchanged', () => {
    assert.equal(
      formatJson('{"a":[1,{}],"b":"x, {y}: \\"z\\""}'),
      '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": "x, {y}: \\"z\\""\n}',
    );
    fc.assert(
      fc.property(fc.jsonValue(), (value) =>
        assert.deepEqual(JSON.parse(formatJson(JSON.stringify(value))), JSON.parse(JSON.stringify(value))),
      ),
    );
  });

  it('loses no digit of a long number, and escapes bidirectional characters', () => {
    assert.equal(formatJson('[12345678901234567890.10]'), '[\n  12345678901234567890.10\n]');
    assert.equal(formatJson('"\u202eabc"'), '"\\u202eabc"');
  });

  it('counts down in its two largest units', () => {
    assert.deepEqual(splitDuration(90_061_000), [
      ['day', 1],
      ['hour', 1],
    ]);
    assert.deepEqual(splitDuration(3_600_000), [
      ['hour', 1],
      ['minute', 0],
    ]);
    assert.deepEqual(splitDuration(61_999), [
      ['minute', 1],
      ['second', 1],
    ]);
    assert.deepEqual(splitDuration(59_999), [['second', 59]]);
    assert.deepEqual(splitDuration(999), [['second', 0]]);
  });
});

describe('the commands of the first steps', () => {
  it('contain JSON bodies, and no key', () => {
    const { card, capture, payment } = buildCommands('curl https://vault.example', 2031);
    for (const command of [card, capture, payment]) {
      assert.match(command, /^curl https:\/\/vault\.example\//);
      assert.match(command, /-H "x-api-key: \$KEY"/);
      const [, body = ''] = /-d '(.*)'$/.exec(command) ?? [];
      assert.ok(Object.keys(JSON.parse(body)).length > 0);
    }
    assert.match(card, /"exp":"12\/31"/);
    assert.match(payment, /"expiration_date":"12\/2031"/);
  });
});
