import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compactDecrypt, compactVerify } from 'jose';
import { newKeyPair, partiesOf } from '../../test/fixtures/rsa-key-pairs.ts';
import { systemRandom } from '../crypto/random.ts';
import { thumbprint } from '../crypto/rsa-keys.ts';
import { encryptCompact, type JoseMessage, secureWithJose } from './jose.ts';
import { type ConfiguredSettings, type EffectiveSettings, effectiveSettings } from './settings.ts';

const [merchant, processor, stranger] = [newKeyPair(), newKeyPair(3072), newKeyPair()];
const PARTIES = await partiesOf(merchant, processor);
const PAYLOAD = Buffer.from(' {"cardData": {"pan":"4111111111111111"},\n "amount":0.00, "name":"Zoë 😀"} ');

const secure = (settings: ConfiguredSettings, payload: Uint8Array = PAYLOAD): Promise<JoseMessage> =>
  secureWithJose(payload, { parties: PARTIES, settings: effectiveSettings(settings), random: systemRandom() });

const opened = async (jwe: string) => {
  const { plaintext, protectedHeader } = await compactDecrypt(jwe, processor.privateKey);
  return { plaintext: Buffer.from(plaintext), header: protectedHeader };
};
const verified = async (jws: string | Uint8Array, key = merchant.publicKey) => {
  const { payload, protectedHeader } = await compactVerify(jws, key);
  return { payload: Buffer.from(payload), header: protectedHeader };
};

const SIGNATURES = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const;
const KEY_MANAGEMENTS = ['RSA-OAEP-256', 'RSA-OAEP'] as const;
const CONTENTS = ['A256GCM', 'A128GCM', 'A256CBC-HS512', 'A128CBC-HS256'] as const;

const [SIGNER, RECIPIENT] = [merchant, processor].map(({ publicKey }) => thumbprint(publicKey));

describe('a message, decrypted by the library jose', () => {
  for (const payload of ['nested', 'plain'] as const) {
    for (const content of CONTENTS) {
      it(`${payload} with ${content} is the payload byte for byte, signed and addressed, with each algorithm`, async () => {
        for (const signing of SIGNATURES) {
          for (const management of KEY_MANAGEMENTS) {
            const settings: Partial<EffectiveSettings> = {
              'jose.signature': signing,
              'jose.key-management': management,
              'jose.content': content,
              'jose.payload': payload,
            };
            const { value, signature } = await secure(settings as ConfiguredSettings);
            const outer = await verified(signature);
            assert.deepEqual(outer.header, { alg: signing, kid: SIGNER, typ: 'JWT', cty: 'JWT' });
            assert.equal(outer.payload.toString(), value);
            const { plaintext, header } = await opened(value);
            const common = { alg: management, enc: content, kid: RECIPIENT, typ: 'JWT' };
            if (payload === 'plain') {
              assert.deepEqual(header, common);
              assert.deepEqual(plaintext, PAYLOAD);
              continue;
            }
            assert.deepEqual(header, { ...common, cty: 'JWT' });
            const inner = await verified(plaintext);
            assert.deepEqual(inner.header, { alg: signing, kid: SIGNER, typ: 'JWT' });
            assert.deepEqual(inner.payload, PAYLOAD);
          }
        }
      });
    }
  }

  it('is nested, with RS256, RSA-OAEP-256 and A256GCM by default', async () => {
    const { value } = await secure({});
    const { plaintext, header } = await opened(value);
    assert.deepEqual([header.alg, header.enc], ['RSA-OAEP-256', 'A256GCM']);
    assert.equal((await verified(plaintext)).header.alg, 'RS256');
  });

  it('may be empty or large', async () => {
    for (const payload of [new Uint8Array(), Buffer.alloc(1024 * 1024, 0xfe)]) {
      const { value } = await secure({}, payload);
      assert.deepEqual((await verified((await opened(value)).plaintext)).payload, Buffer.from(payload));
    }
  });
});

describe('a message', () => {
  it('cannot be decrypted or verified with another key', async () => {
    const { value, signature } = await secure({});
    await assert.rejects(compactDecrypt(value, stranger.privateKey));
    await assert.rejects(compactDecrypt(value, merchant.privateKey));
    await assert.rejects(verified(signature, stranger.publicKey));
  });

  it('is rejected when any of its parts was changed', async () => {
    for (const content of CONTENTS) {
      const parts = (await secure({ 'jose.content': content })).value.split('.');
      for (const [index, part] of parts.entries()) {
        const at = part.length >> 1;
        const changed = part.slice(0, at) + (part[at] === 'A' ? 'B' : 'A') + part.slice(at + 1);
        await assert.rejects(opened(parts.with(index, changed).join('.')), `${content}, part ${index}`);
      }
    }
  });

  it('has a new key and initialization vector each time', async () => {
    const seen = new Set<string>();
    for (let index = 0; index < 5; index++) {
      const [, key = '', iv = '', ciphertext = ''] = (await secure({ 'jose.payload': 'plain' })).value.split('.');
      for (const part of [key, iv, ciphertext]) seen.add(part);
    }
    assert.equal(seen.size, 15);
  });

  it('draws key and vector from the given randomness, in the sizes of its algorithm, and wipes the key', () => {
    const sizes = { A256GCM: [32, 12], A128GCM: [16, 12], 'A256CBC-HS512': [64, 16], 'A128CBC-HS256': [32, 16] };
    for (const content of CONTENTS) {
      const drawn: Uint8Array[] = [];
      const bytes = (size: number): Uint8Array => {
        const fresh = new Uint8Array(size).fill(drawn.length + 1);
        drawn.push(fresh);
        return fresh;
      };
      const algorithms = { keyManagement: 'RSA-OAEP', content } as const;
      const jwe = encryptCompact(PAYLOAD, algorithms, PARTIES.processor, {}, { bytes, below: () => 0 });
      assert.deepEqual(
        drawn.map(({ length }) => length),
        sizes[content],
      );
      assert.ok(drawn[0]?.every((byte) => byte === 0));
      assert.equal(jwe.split('.')[2], Buffer.from(drawn[1] ?? []).toString('base64url'));
    }
  });

  it('contains no part of the payload in clear, in any encoding', async () => {
    const { value, signature } = await secure({});
    const text = `${value}.${signature}`;
    const clear = [text, ...text.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))].join(
      '\n',
    );
    for (const secret of ['4111111111111111', Buffer.from('4111111111111111').toString('base64').slice(0, 20)]) {
      assert.ok(!clear.includes(secret));
    }
  });
});
