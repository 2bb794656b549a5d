import assert from 'node:assert/strict';
import { constants, createHash, generateKeyPairSync, type KeyObject, privateDecrypt } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { newKeyPair, privatePem, publicPem, type RsaKeyPair } from '../fixtures/rsa-key-pairs.ts';
import { shareService } from '../fixtures/shared-service.ts';
import { luhnPan, type TestService } from '../fixtures/test-service.ts';
import {
  assertRefused,
  ENDPOINTS,
  newSender,
  openJose,
  openWssec,
  PROCESSOR,
  proxied,
  type Sender,
} from './proxy-requests.ts';

const shared = shareService();

const PAN = '4111111111111111';
const OTHER = newKeyPair();

const opened = (base64: string, key: KeyObject, type = 'RSA'): string => {
  assert.match(base64, /^[A-Za-z0-9+/]+=*$/);
  const bytes = Buffer.from(base64, 'base64');
  if (type === 'RSA-PKCS1') return privateDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, bytes).toString();
  return privateDecrypt({ key, oaepHash: type === 'RSA' ? 'sha256' : 'sha1' }, bytes).toString();
};
const derText = ({ publicKey }: RsaKeyPair, type: 'spki' | 'pkcs1' = 'spki'): string =>
  publicKey.export({ type, format: 'der' }).toString('base64');
const header = (value: unknown): { 'ft-encryption': string } => ({
  'ft-encryption': typeof value === 'string' ? value : JSON.stringify(value),
});

describe('the filter encrypt', () => {
  let service: TestService;
  let me: Sender;
  let token: string;
  before(async () => {
    service = await shared.open();
    me = await newSender(service);
    token = await me.token(PAN, { name: 'Zoë', exp: '03/31' });
  });
  after(() => shared.close());

  const marked = (filters = ''): string => `{{${token}:detokenize${filters} | encrypt}}`;
  const members = async (body: object, headers = {}): Promise<Record<string, string>> =>
    JSON.parse(await openJose(proxied(await me.jose(body, headers))));

  test("without a header uses the processor's key of the account, RSA-OAEP with SHA-256", async () => {
    const body = { a: marked(), b: `{{${token}:detokenize}}`, c: `x${marked(' | extract:expiration | date:MM')}y` };
    const { a = '', b, c = '' } = await members(body);
    assert.equal(opened(a, PROCESSOR.privateKey), PAN);
    assert.equal(b, PAN);
    assert.ok(c.startsWith('x') && c.endsWith('y'));
    assert.equal(opened(c.slice(1, -1), PROCESSOR.privateKey), '03');
    assert.equal(opened((await members({ a: marked(' | extract:name') }))['a'] ?? '', PROCESSOR.privateKey), 'Zoë');
    assert.equal(opened((await members({ a: marked(' | extract:token') }))['a'] ?? '', PROCESSOR.privateKey), token);
  });

  for (const type of ['RSA', 'RSA-OAEP', 'RSA-PKCS1']) {
    const keys = {
      PEM: publicPem(OTHER),
      'base64 of DER': derText(OTHER),
      'base64 of PKCS#1': derText(OTHER, 'pkcs1'),
    };
    for (const [form, key] of Object.entries(keys)) {
      test(`${type} with a key as ${form}`, async () => {
        const { a = '', b } = await members({ a: marked(), b: `{{${token}:detokenize}}` }, header({ key, type }));
        assert.equal(opened(a, OTHER.privateKey, type), PAN);
        assert.equal(b, PAN);
        const xml = openWssec(proxied(await me.wssec(`<a b="${marked()}"/>`, header({ key, type }))).xml);
        assert.equal(opened(xml.slice(6, -3), OTHER.privateKey, type), PAN);
      });
    }
    test(`${type} with the processor's key`, async () => {
      const { a = '' } = await members({ a: marked() }, header({ type }));
      assert.equal(opened(a, PROCESSOR.privateKey, type), PAN);
    });
  }

  test('is_partial: true encrypts marked values, false every replaced value', async () => {
    const body = { a: marked(), b: `{{${token}:detokenize}} {{${token}:detokenize | extract:name}}`, c: 'plain' };
    for (const value of [{}, { is_partial: true }, { is_partial: null, type: null, key: null }]) {
      const { a = '', b, c } = await members(body, header(value));
      assert.deepEqual([opened(a, PROCESSOR.privateKey), b, c], [PAN, `${PAN} Zoë`, 'plain']);
    }
    const { a = '', b = '', c } = await members(body, header({ is_partial: false }));
    const values = [a, ...b.split(' ')].map((each) => opened(each, PROCESSOR.privateKey));
    assert.deepEqual([values, c], [[PAN, PAN, 'Zoë'], 'plain']);
  });

  test('the hash covers encrypted values and the unchanged rest', async () => {
    const [one, other] = await Promise.all([me.hash(marked()), me.hash(marked())]);
    assert.notEqual(proxied(one).hashValue, proxied(other).hashValue);
    const plain = proxied(await me.hash(`{{${token}:detokenize}}`)).hashValue;
    assert.equal(plain, createHash('sha256').update(PAN).digest('base64'));
    assert.notEqual(proxied(await me.hash(`{{${token}:detokenize}}`, header({ is_partial: false }))).hashValue, plain);
    const replaced = proxied(await me.hash('nothing to replace', header({ is_partial: false }))).hashValue;
    assert.equal(replaced, createHash('sha256').update('nothing to replace').digest('base64'));
  });

  test('a value of the maximum length for the key, and one byte more', async () => {
    for (const [type, longest] of [
      ['RSA', 190],
      ['RSA-OAEP', 214],
      ['RSA-PKCS1', 245],
    ] as const) {
      const [fits, exceeds] = await Promise.all(
        [longest, longest + 1].map((length) => me.token(PAN, { name: 'n'.repeat(length) })),
      );
      const text = (of: string | undefined): string => `{{${of}:detokenize | extract:name | encrypt}}`;
      const { mcc = '' } = await members({ mcc: text(fits) }, header({ type }));
      assert.equal(opened(mcc, PROCESSOR.privateKey, type), 'n'.repeat(longest));
      const refused = await me.jose({ cvv: marked(), mcc: text(exceeds) }, header({ type }));
      assertRefused(refused, '/mcc: placeholder 2: the value is too long for the encryption key');
    }
    const wide = await me.token(PAN, { name: 'é'.repeat(96) });
    assertRefused(
      await me.hash(`{{${wide}:detokenize | extract:name | encrypt}}`),
      /^line 1: placeholder 1: the value is too long/,
    );
  });

  const KEY = /^ft-encryption\.key: expected an RSA public key of 2048 bits or more, PEM or base64 of DER$/;
  const wrong: readonly [what: string, value: () => unknown, description: RegExp][] = [
    ['nothing', () => '', /^ft-encryption: expected a JSON object$/],
    ['no JSON', () => '{', /^ft-encryption: expected a JSON object$/],
    ['a list', () => [], /^ft-encryption: expected a JSON object$/],
    ['a text', () => '"x"', /^ft-encryption: expected a JSON object$/],
    ['null', () => 'null', /^ft-encryption: expected a JSON object$/],
    ['a member twice', () => '{"type":"RSA","type":"RSA"}', /^ft-encryption: expected a JSON object$/],
    ['another type', () => ({ type: 'AES' }), /^ft-encryption\.type: expected RSA, RSA-OAEP or RSA-PKCS1$/],
    ['a type in lower case', () => ({ type: 'rsa' }), /^ft-encryption\.type: expected/],
    ['a type that is a number', () => ({ type: 1 }), /^ft-encryption\.type: expected/],
    ['is_partial as text', () => ({ is_partial: 'false' }), /^ft-encryption\.is_partial: expected true or false$/],
    ['is_partial as number', () => ({ is_partial: 0 }), /^ft-encryption\.is_partial: expected true or false$/],
    ['a key that is none', () => ({ key: 'SecretOfTheCaller' }), KEY],
    ['an empty key', () => ({ key: '' }), KEY],
    ['a key that is an object', () => ({ key: {} }), KEY],
    ['PEM cut off', () => ({ key: publicPem(OTHER).slice(0, 200) }), KEY],
    ['a private key', () => ({ key: privatePem(OTHER) }), KEY],
    [
      'a private key as DER',
      () => ({ key: OTHER.privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64') }),
      KEY,
    ],
    [
      'a private key of PKCS#1 as DER',
      () => ({ key: OTHER.privateKey.export({ type: 'pkcs1', format: 'der' }).toString('base64') }),
      KEY,
    ],
    ['a private key of PKCS#1', () => ({ key: OTHER.privateKey.export({ type: 'pkcs1', format: 'pem' }) }), KEY],
    ['a private JWK', () => ({ key: JSON.stringify(OTHER.privateKey.export({ format: 'jwk' })) }), KEY],
    ['1024 bits', () => ({ key: publicPem(newKeyPair(1024)) }), KEY],
    ['2040 bits', () => ({ key: publicPem(newKeyPair(2040)) }), KEY],
    [
      'an elliptic curve',
      () => ({
        key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' }),
      }),
      KEY,
    ],
    [
      'a key for PSS only',
      () => ({
        key: generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey.export({ type: 'spki', format: 'pem' }),
      }),
      KEY,
    ],
    ['a Luhn number', () => ({ key: luhnPan('411111') }), KEY],
  ];
  for (const [what, value, description] of wrong) {
    test(`400: ${what}`, async () => {
      const headerValue = header(value());
      const before = (await me.reads()).length;
      const requests = ENDPOINTS.flatMap(({ name, around }) => [
        me[name](around(marked()), headerValue),
        me[name](around('nothing to replace'), headerValue),
      ]);
      for (const response of await Promise.all(requests)) {
        assertRefused(response, description);
        assert.ok(!response.text.includes('SecretOfTheCaller'));
      }
      assert.equal((await me.reads()).length, before, 'nothing was read');
    });
  }

  test('400 names the missing key; with a key in the header, hash requires none', async () => {
    const bare = await newSender(service, { setup: false });
    const own = await bare.token(PAN);
    const text = `{{${own}:detokenize | encrypt}}`;
    assertRefused(await bare.hash(text), 'not configured for this account and environment: processor public key');
    assertRefused(await bare.hash(`{{${own}:detokenize}}`, header({ is_partial: false })), /processor public key$/);
    assert.equal((await bare.reads()).length, 0);
    proxied(await bare.hash(text, header({ key: publicPem(OTHER) })));
    proxied(await bare.hash(`{{${own}:detokenize}}`));
    proxied(await bare.hash('nothing to encrypt', header({ is_partial: false })));
  });
});
