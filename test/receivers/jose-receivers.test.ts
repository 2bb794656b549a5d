import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { CompactEncrypt, CompactSign, calculateJwkThumbprint } from 'jose';
import {
  absentReceiver,
  type Identity,
  JOSE_RECEIVERS,
  type JoseMessage,
  newIdentity,
  type OpenedJose,
  type Receiver,
  Refused,
  startReceiver,
} from './receivers.ts';

/** Messages that a library sealed: every receiver decrypts them, and none accepts a changed one. */
const TRANSPORTS = ['RSA-OAEP', 'RSA-OAEP-256'];
const CIPHERS = ['A128GCM', 'A256GCM', 'A128CBC-HS256', 'A256CBC-HS512'];
const SIGNATURES = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const PAYLOAD = '{"card":{"number":"4111111111111111","holder":"Zoë & Søn"},"amount":10.50}';

const merchant = await newIdentity('merchant');
const processor = await newIdentity('processor');
const nameOf = (pem: string): Promise<string> => calculateJwkThumbprint(createPublicKey(pem));

const sign = async (payload: string, alg: string, by: Identity): Promise<string> =>
  new CompactSign(Buffer.from(payload))
    .setProtectedHeader({ alg, typ: 'JWT', kid: await nameOf(by.publicKey) })
    .sign(createPrivateKey(by.privateKey));

const encrypt = async (plaintext: string, alg: string, enc: string, nested: boolean): Promise<string> =>
  new CompactEncrypt(Buffer.from(plaintext))
    .setProtectedHeader({ alg, enc, ...(nested && { cty: 'JWT' }), kid: await nameOf(processor.publicKey) })
    .encrypt(createPublicKey(processor.publicKey));

async function seal(alg: string, enc: string, signature: string, by = merchant): Promise<Required<JoseMessage>> {
  const value = await encrypt(await sign(PAYLOAD, signature, by), alg, enc, true);
  return { value, encryption: await sign(value, signature, by), plain: false };
}

/** Another character in one of the parts: not the last of it, whose low bits may mean nothing. */
function changed(compact: string, part: number): string {
  const parts = compact.split('.');
  const text = parts[part] ?? '';
  const at = Math.floor(text.length / 2);
  parts[part] = text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
  return parts.join('.');
}

for (const kind of JOSE_RECEIVERS) {
  const skip = absentReceiver(kind);

  describe(`receiver ${kind}`, () => {
    let receiver: Receiver<JoseMessage, OpenedJose>;
    before(async () => {
      if (skip !== false) return;
      receiver = await startReceiver(kind, { processorKey: processor.privateKey, merchant: merchant.publicKey });
    });
    const rejects = (message: JoseMessage, what: string) => assert.rejects(receiver.open(message), Refused, what);

    for (const alg of TRANSPORTS) {
      for (const enc of CIPHERS) {
        test(`decrypts ${alg} with ${enc}, with every signature algorithm`, { skip }, async () => {
          const messages = await Promise.all(SIGNATURES.map((signature) => seal(alg, enc, signature)));
          const opened = await Promise.all(messages.map((message) => receiver.open(message)));
          for (const { payload, header } of opened) {
            assert.equal(payload, PAYLOAD);
            assert.equal(JSON.parse(header).enc, enc);
          }
        });
      }
    }

    test('decrypts a payload without a signature, and rejects the wrong kind', { skip }, async () => {
      const value = await encrypt(PAYLOAD, 'RSA-OAEP-256', 'A256GCM', false);
      assert.equal((await receiver.open({ value, plain: true })).payload, PAYLOAD);
      await rejects({ value }, 'unsigned');
      const { value: signed } = await seal('RSA-OAEP-256', 'A256GCM', 'PS256');
      await rejects({ value: signed, plain: true }, 'signed');
    });

    test('rejects a change in any part', { skip }, async () => {
      for (const enc of CIPHERS) {
        const { value, encryption } = await seal('RSA-OAEP-256', enc, 'RS256');
        for (const part of [0, 1, 2, 3, 4]) await rejects({ value: changed(value, part) }, `${enc}, value, ${part}`);
        for (const part of [0, 1, 2]) {
          await rejects({ value, encryption: changed(encryption, part) }, `encryption, ${part}`);
        }
      }
    });

    test('rejects another signer, another recipient, and an encryption of another value', { skip }, async () => {
      const other = await newIdentity('another');
      await rejects(await seal('RSA-OAEP', 'A128GCM', 'RS256', other), 'signer');
      const [one, two] = [await seal('RSA-OAEP', 'A128GCM', 'RS256'), await seal('RSA-OAEP', 'A128GCM', 'RS256')];
      await rejects({ value: one.value, encryption: two.encryption }, 'value');
      const stranger = await startReceiver(kind, { processorKey: other.privateKey, merchant: merchant.publicKey });
      await assert.rejects(stranger.open(one), Refused);
    });
  });
}
