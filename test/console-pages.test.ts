import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatJson } from '../console/web/src/pages/capture/format-json.ts';
import { splitDuration } from '../console/web/src/pages/captures/duration.ts';
import { hasWideNetwork, mergeEntries, parseList } from '../console/web/src/pages/keys/allow-list.ts';
import { findAddressFault, NEW_KEY, toFormValues, toKeyAttributes } from '../console/web/src/pages/keys/key-values.ts';
import { isNetwork, parseNetwork } from '../console/web/src/pages/keys/network.ts';
import { GROUPS, isPresetChosen, listPermissions, PRESETS } from '../console/web/src/pages/keys/permissions.ts';
import { containsPrivateKey } from '../console/web/src/pages/proxy/key-file.ts';
import {
  DEFAULT_ROW,
  TRIGGER_ROWS,
  toRequestBody,
  toTestValues,
} from '../console/web/src/pages/test-payment/triggers.ts';
import { findFault, toSearch } from '../console/web/src/pages/tokens/search.ts';
import { containsCardOfPerson } from '../console/web/src/pages/workbench/card-numbers.ts';
import {
  buildExample,
  findPathRecord,
  GROUP_NAMES,
  OPERATION_GROUPS,
} from '../console/web/src/pages/workbench/examples.ts';
import { type ComposedRequest, toCurl } from '../console/web/src/pages/workbench/workbench-run.ts';
import {
  buildCaptureCall,
  buildCardCall,
  buildFirstCall,
  buildPaymentCall,
  buildPost,
} from '../console/web/src/parts/curl-commands.ts';
import { OPERATIONS } from '../console/wire/workbench.ts';
import { parseCidr } from '../src/accounts/allow-list.ts';
import { PERMISSIONS } from '../src/accounts/permission.ts';
import { createSelfSigned } from '../src/crypto/certificate.ts';
import type { Currency } from '../src/kernel/currency.ts';
import { decide, RULES } from '../src/payments/processors/simulator/rules.ts';
import { parseTriggers } from '../src/payments/processors/simulator/triggers.ts';
import { luhnPan } from './fixtures/test-service.ts';

/** The computations of the pages of keys, tokens, captures and onboarding. */

const NOW = Date.parse('2026-11-22T10:00:00.000Z');
const CONTEXT = { now: NOW, timeZone: 'America/Bogota', current: null };

describe('a file for a public key or a certificate', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const base64 = (der: Buffer): string => der.toString('base64').replace(/(.{64})/g, '$1\n');

  it('is refused when it is or contains a private key, in every form that the service reads', () => {
    const encrypted = { cipher: 'aes-256-cbc', passphrase: 'sesame' };
    const pems = [
      privateKey.export({ type: 'pkcs8', format: 'pem' }),
      privateKey.export({ type: 'pkcs1', format: 'pem' }),
      privateKey.export({ type: 'pkcs8', format: 'pem', ...encrypted }),
      privateKey.export({ type: 'pkcs1', format: 'pem', ...encrypted }),
    ].map(String);
    for (const pem of pems) assert.ok(containsPrivateKey(`Bag Attributes\n${pem}`), pem.slice(0, 40));
    assert.ok(containsPrivateKey(JSON.stringify(privateKey.export({ format: 'jwk' }))));
    for (const type of ['pkcs1', 'pkcs8'] as const)
      assert.ok(containsPrivateKey(base64(privateKey.export({ type, format: 'der' }))), type);
    assert.ok(containsPrivateKey(base64(privateKey.export({ type: 'pkcs8', format: 'der', ...encrypted }))));
  });

  it('is accepted as a public key or a certificate', async () => {
    for (const type of ['spki', 'pkcs1'] as const) {
      assert.ok(!containsPrivateKey(publicKey.export({ type, format: 'pem' }).toString()), type);
      assert.ok(!containsPrivateKey(base64(publicKey.export({ type, format: 'der' }))), type);
    }
    assert.ok(!containsPrivateKey(JSON.stringify(publicKey.export({ format: 'jwk' }))));
    const certificate = Buffer.from(await createSelfSigned(privateKey, 'acc_1', NOW));
    assert.ok(!containsPrivateKey(base64(certificate)));
    assert.ok(!containsPrivateKey('') && !containsPrivateKey('nonsense'));
  });
});

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

describe('the triggers of a test payment', () => {
  const decisionOf = (body: ReturnType<typeof toRequestBody>) => {
    const [month = '', year = ''] = body.card.expiration_date.split('/');
    const { total_amount: units } = body.order_info.amount_details;
    return RULES.find(
      ({ when, outcome }) =>
        outcome ===
          decide({
            now: NOW,
            triggers: parseTriggers(body.bill_to.email),
            pan: body.card.number,
            expiry: { month, year: year.slice(-2) },
            amount: { minor: BigInt(units) * 100n, currency: 'USD' as Currency },
          }) &&
        (when.by !== 'amount' || (units >= when.from && units <= when.to)),
    );
  };

  it('are the rules of the simulator, and each request has the outcome of its rule', () => {
    assert.deepEqual(
      TRIGGER_ROWS.map(({ rule }) => rule),
      RULES,
    );
    for (const { rule } of TRIGGER_ROWS)
      assert.deepEqual(decisionOf(toRequestBody(toTestValues(rule.when, NOW), 'payment', 'T'))?.outcome, rule.outcome);
    assert.equal(TRIGGER_ROWS.find(({ id }) => id === DEFAULT_ROW)?.rule.when.by, 'default');
  });
});

describe('the workbench', () => {
  const records = { token: '4111117349251111', capture: 'cap_1', payment: 'pay' };

  it('has every operation in one group, with an example that is JSON', () => {
    assert.deepEqual(Object.values(OPERATION_GROUPS).flat().sort(), Object.keys(OPERATIONS).sort());
    for (const group of GROUP_NAMES)
      for (const operation of OPERATION_GROUPS[group]) {
        const { method, path } = OPERATIONS[operation];
        const body = buildExample(operation, 'minimal', records);
        assert.equal(body === undefined, method === 'GET' || operation === 'deleteCapture', operation);
        if (body !== undefined && group !== 'proxy') assert.ok(JSON.parse(body));
        assert.equal(findPathRecord(path, group) !== undefined, path.includes(':'), operation);
      }
  });

  it('shows the command of a request, with a placeholder for the key', () => {
    const base = { parameter: 'a b', hashType: 'SHA256', payload: undefined };
    const command = (more: Partial<ComposedRequest> & Pick<ComposedRequest, 'operation'>) =>
      toCurl('curl https://v', { ...base, ...more }).split(' \\\n  ');
    assert.deepEqual(command({ operation: 'inspectToken' }), [
      'curl https://v/v1/tokens/a%20b/inspect',
      '-H "x-api-key: $KEY"',
    ]);
    assert.deepEqual(command({ operation: 'deleteCapture' }), [
      'curl https://v/transactions/requests/a%20b',
      '-X DELETE',
      '-H "x-api-key: $KEY"',
    ]);
    assert.deepEqual(command({ operation: 'proxyHash', payload: "it's" }), [
      'curl https://v/proxy/hash?type=SHA256',
      "-H 'content-type: text/plain'",
      '-H "ft-access-key: $KEY"',
      "--data-raw 'it'\\''s'",
    ]);
    assert.deepEqual(command({ operation: 'deleteTokens', payload: '{}' }).slice(0, 2), [
      'curl https://v/v1/tokens',
      '-X DELETE',
    ]);
  });

  it('recognizes the card number of a person, and no test number or token of a placeholder', () => {
    const person = luhnPan('453201');
    for (const text of [person, `{"card":"${person.replace(/(.{4})/g, '$1 ')}"}`, `4111111111111111 ${person}`])
      assert.ok(containsCardOfPerson(text, []), text);
    for (const text of [
      '4111111111111111',
      '{"number":"4000000000009995"}',
      `{{${person}:detokenize | extract:card}}`,
      '12500',
    ])
      assert.ok(!containsCardOfPerson(text, []), text);
    assert.ok(!containsCardOfPerson(person, [person]));
  });
});

describe('the commands of the first steps', () => {
  const CURL = 'curl https://vault.example';

  it('contain JSON bodies, and a placeholder for the key', () => {
    for (const command of [buildCardCall, buildCaptureCall, buildPaymentCall].map((build) => build(CURL))) {
      assert.match(command, /^curl https:\/\/vault\.example\//);
      assert.match(command, /-H "x-api-key: \$KEY"/);
      const [, body = ''] = /--data-raw '(.*)'$/.exec(command) ?? [];
      assert.ok(Object.keys(JSON.parse(body)).length > 0);
    }
    const year = new Date().getFullYear() + 3;
    assert.ok(buildCardCall(CURL).includes(`"exp":"12/${year - 2000}"`));
    assert.ok(buildPaymentCall(CURL).includes(`"expiration_date":"12/${year}"`));
  });

  it('contain the key that the page has just shown', () => {
    assert.equal(buildFirstCall(CURL, 'cv_1'), `${CURL}/v1/account \\\n  -H 'x-api-key: cv_1'`);
    const command = buildCardCall(CURL, 'cv_1');
    assert.ok(command.includes("-H 'x-api-key: cv_1'") && !command.includes('$KEY'));
  });

  it('are quoted for the shell', () => {
    const printed = execFileSync('sh', ['-c', buildPost('printf %s\\n', `{"a":"it's $HOME \\"x\\""}`)], {
      encoding: 'utf8',
    });
    assert.ok(printed.includes(`{"a":"it's $HOME \\"x\\""}`), printed);
  });
});
