import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { newKeyPair, publicPem } from '../fixtures/rsa-key-pairs.ts';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { assertRefused, ENDPOINTS, newSender, proxied, type Sender } from './proxy-requests.ts';

const shared = shareService();

const PAN = '4111111111111111';
const OTHER = newKeyPair();
const KEY = 'ft-encryption.key: expected an RSA public key of 2048 bits or more, PEM or base64 of DER';
const MEMBERS = 'ft-encryption: expected no other members than key, type, is_partial';

/** The modulus of a key with another exponent, big-endian. */
function withExponent(...bytes: readonly number[]): { pem: string; der: string } {
  const jwk = { ...OTHER.publicKey.export({ format: 'jwk' }), e: Buffer.from(bytes).toString('base64url') };
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  return {
    pem: key.export({ type: 'spki', format: 'pem' }).toString(),
    der: key.export({ type: 'pkcs1', format: 'der' }).toString('base64'),
  };
}

describe('the header ft-encryption', () => {
  let service: TestService;
  let me: Sender;
  let token: string;
  before(async () => {
    service = await shared.open();
    me = await newSender(service);
    token = await me.token(PAN);
  });
  after(() => shared.close());

  const marked = (): string => `{{${token}:detokenize | encrypt}}`;
  const header = (value: unknown) => ({ 'ft-encryption': typeof value === 'string' ? value : JSON.stringify(value) });

  async function refusesEverywhere(value: unknown, description: string): Promise<void> {
    const before = (await me.reads()).length;
    for (const { name, around } of ENDPOINTS) {
      for (const text of [marked(), `{{${token}:detokenize}}`, 'nothing to replace'])
        assertRefused(await me[name](around(text), header(value)), description);
    }
    assert.equal((await me.reads()).length, before, 'nothing was read');
  }

  const exponents: readonly [what: string, bytes: readonly number[]][] = [
    ['1', [1]],
    ['2', [2]],
    ['even', [1, 0, 0]],
    ['2^32', [1, 0, 0, 0, 0]],
    ['2^32 + 1', [1, 0, 0, 0, 1]],
    ['as long as the modulus', [0x40, ...Array(254).fill(0x11), 0x01]],
  ];
  for (const [what, bytes] of exponents) {
    test(`accepts no key with the exponent ${what}`, async () => {
      const { pem, der } = withExponent(...bytes);
      await refusesEverywhere({ key: pem }, KEY);
      await refusesEverywhere({ key: der, type: 'RSA-PKCS1', is_partial: false }, KEY);
    });
  }

  test('accepts keys with the smallest and the largest exponent', async () => {
    for (const bytes of [[3], [0xff, 0xff, 0xff, 0xff]]) {
      for (const key of Object.values(withExponent(...bytes)))
        for (const { name, around } of ENDPOINTS) proxied(await me[name](around(marked()), header({ key })));
    }
  });

  const misspelled: readonly [what: string, value: () => unknown][] = [
    ['kye', () => ({ kye: publicPem(OTHER) })],
    ['is_Partial', () => ({ is_Partial: false })],
    ['isPartial', () => ({ isPartial: false })],
    ['Type beside good ones', () => ({ key: publicPem(OTHER), type: 'RSA', is_partial: true, Type: 'RSA' })],
    ['a name with a blank', () => ({ 'key ': publicPem(OTHER) })],
    ['an empty name', () => ({ '': 1 })],
    ['a name that is null', () => ({ kye: null })],
    ['__proto__', () => '{"__proto__":{"is_partial":false}}'],
    ['constructor', () => ({ constructor: 1 })],
  ];
  for (const [what, value] of misspelled) {
    test(`accepts no other members: ${what}`, () => refusesEverywhere(value(), MEMBERS));
  }

  test('with a PEM that claims to be encrypted is rejected, and the service continues to run', async () => {
    const locked = 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n';
    for (const pem of [publicPem(OTHER), OTHER.publicKey.export({ type: 'pkcs1', format: 'pem' }).toString()])
      await refusesEverywhere({ key: pem.replace('KEY-----\n', `KEY-----\n${locked}`) }, KEY);
  });
});
