import assert from 'node:assert/strict';
import { createPublicKey, createSecretKey, generateKeyPairSync, hash, verify } from 'node:crypto';
import { describe, it } from 'node:test';
import { SIGNATURE_BYTES, SigningKeys, toKeyId, verifySignature } from './signing-key.ts';

/** The first test of RFC 8032, section 7.1. */
const SEED = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';
const PUBLIC = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
const PAYLOAD = Buffer.from('{"records":3}');

const versionOf = (seed: string, version: number) => ({
  version,
  key: createSecretKey(Buffer.from(seed, 'hex')),
  createdAt: version * 1000,
});
const signingWith = (...seeds: readonly string[]): SigningKeys =>
  new SigningKeys({ listVersions: async () => seeds.map((seed, index) => versionOf(seed, index + 1)) });

describe('signing keys', () => {
  it('take their seed from the material of the wrapped key', async () => {
    const [only] = await signingWith(SEED).list();
    const der = only?.publicKey.export({ type: 'spki', format: 'der' }) ?? Buffer.alloc(0);
    assert.equal(der.subarray(-32).toString('hex'), PUBLIC);
    assert.equal(only?.createdAt, 1000);
    assert.equal(only?.keyId, hash('sha256', der).slice(0, 16));
  });

  it('sign a line that names the use, and the payload after it', async () => {
    const { signature } = await signingWith(SEED).sign('checkpoint', PAYLOAD);
    const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(PUBLIC, 'hex')]);
    const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    assert.equal(signature.length, SIGNATURE_BYTES);
    assert.ok(verify(null, Buffer.from('cardvault checkpoint v1\n{"records":3}'), publicKey, signature));
    assert.ok(verifySignature(publicKey, 'checkpoint', PAYLOAD, signature));
  });

  it('do not verify under another use, payload, signature or key', async () => {
    const keys = signingWith(SEED);
    const { signature } = await keys.sign('checkpoint', PAYLOAD);
    const publicKey = (await keys.list())[0]?.publicKey as ReturnType<typeof createPublicKey>;
    assert.equal(verifySignature(publicKey, 'receipt', PAYLOAD, signature), false);
    assert.equal(verifySignature(publicKey, 'checkpoint', Buffer.from('{"records":4}'), signature), false);
    for (let bit = 0; bit < SIGNATURE_BYTES * 8; bit += 37) {
      const altered = Buffer.from(signature);
      altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.equal(verifySignature(publicKey, 'checkpoint', PAYLOAD, altered), false, `bit ${bit}`);
    }
    for (const length of [0, 63, 65]) {
      assert.equal(verifySignature(publicKey, 'checkpoint', PAYLOAD, Buffer.alloc(length)), false);
    }
    const others = [generateKeyPairSync('ed25519'), generateKeyPairSync('ec', { namedCurve: 'P-256' })];
    for (const { publicKey: other } of others) {
      assert.equal(verifySignature(other, 'checkpoint', PAYLOAD, signature), false);
    }
  });

  it('sign with the newest version, and list the older ones for what they signed', async () => {
    const first = signingWith(SEED);
    const rotated = signingWith(SEED, '11'.repeat(32));
    const before = await first.sign('checkpoint', PAYLOAD);
    const after = await rotated.sign('checkpoint', PAYLOAD);
    const [older, newest] = await rotated.list();
    assert.notEqual(before.keyId, after.keyId);
    assert.equal(before.keyId, older?.keyId);
    assert.equal(after.keyId, newest?.keyId);
    assert.ok(older && verifySignature(older.publicKey, 'checkpoint', PAYLOAD, before.signature));
    assert.ok(newest && verifySignature(newest.publicKey, 'checkpoint', PAYLOAD, after.signature));
    assert.equal(toKeyId(older?.publicKey as never), before.keyId);
  });
});
