import assert from 'node:assert/strict';
import {
  constants,
  createCipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  privateEncrypt,
  sign,
} from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { loadWebAuthn } from '../console/people/credential.ts';
import { isCanonicalSignature } from '../console/people/passkey-signature.ts';
import { encryptGcm } from '../src/crypto/aes.ts';
import { openChunk } from '../src/crypto/age-file.ts';
import { agreeOnSecret } from '../src/crypto/custody/share-transport.ts';
import { isSameDigest, keyedDigest } from '../src/crypto/fingerprint.ts';
import { openGcm, UnsealError } from '../src/crypto/seal.ts';
import { verifySignature } from '../src/crypto/signing-key.ts';

/**
 * Attacks on the functions that verify or open: vectors of Project Wycheproof, and forged values. The vectors are a selection
 * that `scripts/take-wycheproof-vectors.ts` wrote; each file names its source.
 */
const FOLDER = join(import.meta.dirname, 'vectors', 'wycheproof');

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

interface Vector {
  readonly tcId: number;
  readonly result: 'valid' | 'invalid' | 'acceptable';
  readonly [member: string]: unknown;
}

interface VectorGroup {
  readonly tests: readonly Vector[];
  readonly [member: string]: unknown;
}

const readGroups = (name: string): readonly VectorGroup[] =>
  JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8')).testGroups;

/** Runs each vector that is clearly valid or invalid, and returns how many there were of both. */
async function runVectors(
  groups: readonly VectorGroup[],
  isAccepted: (vector: Vector, group: VectorGroup) => boolean | Promise<boolean>,
): Promise<{ valid: number; invalid: number }> {
  const counts = { valid: 0, invalid: 0 };
  for (const group of groups)
    for (const vector of group.tests) {
      if (vector.result === 'acceptable') continue;
      counts[vector.result]++;
      const accepted = await isAccepted(vector, group);
      assert.equal(accepted, vector.result === 'valid', `vector ${vector.tcId}: ${vector['comment']}`);
    }
  return counts;
}

const bytes = (from: Vector | VectorGroup, member: string): Buffer => Buffer.from(String(from[member]), 'base64');

const KTY = 1;
const ALG = 3;
const [OKP, EC2, RSA] = [1, 2, 3];
const [ES256, EDDSA, RS256] = [-7, -8, -257];

/** Returns a public key as a passkey registers it (COSE). */
async function toCose(key: KeyObject): Promise<Uint8Array<ArrayBuffer>> {
  const { helpers } = await loadWebAuthn();
  const { kty, x = '', y = '', n = '', e = '' } = key.export({ format: 'jwk' });
  const part = (value: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(value, 'base64url'));
  const members: [number, number | Uint8Array<ArrayBuffer>][] =
    kty === 'RSA'
      ? [
          [KTY, RSA],
          [ALG, RS256],
          [-1, part(n)],
          [-2, part(e)],
        ]
      : kty === 'EC'
        ? [
            [KTY, EC2],
            [ALG, ES256],
            [-1, 1],
            [-2, part(x)],
            [-3, part(y)],
          ]
        : [
            [KTY, OKP],
            [ALG, EDDSA],
            [-1, 6],
            [-2, part(x)],
          ];
  return helpers.isoCBOR.encode(new Map(members));
}

/** Returns true when cardvault accepts the signature of a passkey; false also when the library throws. */
async function isPasskeySignatureValid(
  cose: Uint8Array<ArrayBuffer>,
  data: Buffer,
  signature: Buffer,
): Promise<boolean> {
  const { helpers } = await loadWebAuthn();
  if (!isCanonicalSignature(helpers.decodeCredentialPublicKey(cose).get(ALG), signature)) return false;
  try {
    return await helpers.verifySignature({
      credentialPublicKey: cose,
      data: new Uint8Array(data),
      signature: new Uint8Array(signature),
    });
  } catch {
    return false;
  }
}

describe('vectors of Project Wycheproof', () => {
  test('AES-256-GCM: what is sealed', async () => {
    const groups = readGroups('aes_gcm').filter(({ keySize }) => keySize === 256);
    const counts = await runVectors(groups, (vector) => {
      const key = createSecretKey(bytes(vector, 'key'));
      try {
        const opened = openGcm(
          key,
          bytes(vector, 'iv'),
          bytes(vector, 'aad'),
          bytes(vector, 'ct'),
          bytes(vector, 'tag'),
        );
        return opened.equals(bytes(vector, 'msg'));
      } catch (error) {
        assert.ok(error instanceof UnsealError);
        return false;
      }
    });
    assert.ok(counts.valid > 30 && counts.invalid > 20, JSON.stringify(counts));
  });

  test('AES-GCM: messages to processors', async () => {
    const counts = await runVectors(readGroups('aes_gcm'), (vector) => {
      const made = encryptGcm(bytes(vector, 'key'), bytes(vector, 'iv'), bytes(vector, 'msg'), bytes(vector, 'aad'));
      return made.ciphertext.equals(bytes(vector, 'ct')) && made.tag.equals(bytes(vector, 'tag'));
    });
    assert.ok(counts.valid > 60 && counts.invalid > 40, JSON.stringify(counts));
  });

  test('HMAC-SHA-256: MACs of rows, heads and digests of keys', async () => {
    const counts = await runVectors(readGroups('hmac_sha256'), (vector, { tagSize }) => {
      const digest = keyedDigest(createSecretKey(bytes(vector, 'key')), bytes(vector, 'msg'));
      return isSameDigest(digest.subarray(0, Number(tagSize) / 8), bytes(vector, 'tag'));
    });
    assert.ok(counts.valid > 50 && counts.invalid > 80, JSON.stringify(counts));
  });

  for (const [name, type] of [
    ['ecdsa_secp256r1_sha256', 'ES256'],
    ['ed25519', 'Ed25519'],
    ['rsa_signature_2048_sha256', 'RS256'],
  ] as const)
    test(`${type}: signatures of passkeys`, async () => {
      const keys = new Map<VectorGroup, Uint8Array<ArrayBuffer>>();
      const counts = await runVectors(readGroups(name), async (vector, group) => {
        const known = keys.get(group);
        const cose =
          known ?? (await toCose(createPublicKey({ key: bytes(group, 'publicKeyDer'), format: 'der', type: 'spki' })));
        keys.set(group, cose);
        return isPasskeySignatureValid(cose, bytes(vector, 'msg'), bytes(vector, 'sig'));
      });
      assert.ok(counts.valid > 5 && counts.invalid > 30, JSON.stringify(counts));
    });

  test('ChaCha20-Poly1305: files for recipients', async () => {
    const counts = await runVectors(readGroups('chacha20_poly1305'), (vector) => {
      const sealed = Buffer.concat([bytes(vector, 'ct'), bytes(vector, 'tag')]);
      return openChunk(bytes(vector, 'key'), bytes(vector, 'iv'), sealed)?.equals(bytes(vector, 'msg')) ?? false;
    });
    // All vectors without associated data, which the age format does not have, are valid: forgeries are below.
    assert.deepEqual(counts, { valid: 45, invalid: 0 });
  });

  test('X25519: shares for a node; a public key that makes the secret known to all is rejected', () => {
    const counts = { agreed: 0, rejected: 0 };
    for (const { tests } of readGroups('x25519'))
      for (const vector of tests) {
        const encoded = Buffer.concat([X25519_PREFIX, bytes(vector, 'private')]);
        const privateKey = createPrivateKey({ key: encoded, format: 'der', type: 'pkcs8' });
        const agree = (): Buffer => agreeOnSecret(privateKey, bytes(vector, 'public'));
        const shared = bytes(vector, 'shared');
        const isKnown = shared.equals(Buffer.alloc(shared.length));
        if (isKnown) assert.throws(agree, `vector ${vector.tcId}`);
        else assert.deepEqual(agree(), shared, `vector ${vector.tcId}`);
        counts[isKnown ? 'rejected' : 'agreed']++;
      }
    assert.deepEqual(counts, { agreed: 25, rejected: 31 });
  });
});

describe('forged values', () => {
  const data = Buffer.from('a challenge that was signed');

  test('AES-256-GCM opens no ciphertext with another tag, of any length', () => {
    const key = createSecretKey(Buffer.alloc(32, 7));
    const [iv, aad] = [Buffer.alloc(12, 1), Buffer.from('context')];
    const { ciphertext, tag } = encryptGcm(key.export(), iv, data, aad);
    assert.deepEqual(openGcm(key, iv, aad, ciphertext, tag), data);
    for (const forged of forgeTags(tag)) assert.throws(() => openGcm(key, iv, aad, ciphertext, forged), UnsealError);
    for (const nonce of [Buffer.alloc(0), Buffer.alloc(8, 1), Buffer.alloc(16, 1)])
      assert.throws(() => openGcm(key, nonce, aad, ciphertext, tag), UnsealError);
  });

  test('ChaCha20-Poly1305 opens no part of a file with another tag, of any length', () => {
    const [key, nonce] = [Buffer.alloc(32, 7), Buffer.alloc(12, 1)];
    const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: 16 });
    const ciphertext = Buffer.concat([cipher.update(data), cipher.final()]);
    const tag = cipher.getAuthTag();
    assert.deepEqual(openChunk(key, nonce, Buffer.concat([ciphertext, tag])), data);
    for (const forged of forgeTags(tag))
      assert.equal(openChunk(key, nonce, Buffer.concat([ciphertext, forged])), undefined);
    for (let length = 0; length < 16; length++) assert.equal(openChunk(key, nonce, tag.subarray(length)), undefined);
  });

  test('ES256: signatures of passkeys with values out of range, or another encoding, are rejected', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const cose = await toCose(publicKey);
    const good = sign('sha256', data, privateKey);
    assert.equal(await isPasskeySignatureValid(cose, data, good), true);
    const raw = sign('sha256', data, { key: privateKey, dsaEncoding: 'ieee-p1363' });
    const [r, s] = [BigInt(`0x${raw.toString('hex', 0, 32)}`), BigInt(`0x${raw.toString('hex', 32)}`)];
    const forged = [
      ...[0n, 1n, P256_ORDER, P256_ORDER + 1n, 2n ** 256n].flatMap((value) => [
        derSignature(value, s),
        derSignature(r, value),
        derSignature(value, value),
      ]),
      derSignature(r + P256_ORDER, s),
      derSignature(r, s + P256_ORDER),
      good.subarray(0, -1),
      raw,
      Buffer.alloc(0),
      hex('3000'),
      hex('3006020100020100'),
    ];
    for (const each of forged)
      assert.equal(await isPasskeySignatureValid(cose, data, each), false, each.toString('hex'));
  });

  test('RS256: signatures of passkeys with another padding are rejected', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const cose = await toCose(publicKey);
    const digest = createHash('sha256').update(data).digest();
    const info = Buffer.concat([hex('3031300d060960864801650304020105000420'), digest]);
    const forge = (encoded: Buffer): Buffer =>
      privateEncrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, encoded);
    const pad = (content: Buffer, filler = 0xff): Buffer =>
      Buffer.concat([hex('0001'), Buffer.alloc(256 - 3 - content.length, filler), Buffer.alloc(1), content]);
    assert.equal(await isPasskeySignatureValid(cose, data, forge(pad(info))), true);
    const garbage = Buffer.alloc(256 - 11 - info.length, 7);
    const forged = [
      pad(info, 0xfe),
      // The parameters of the algorithm are missing.
      pad(Buffer.concat([hex('302f300b06096086480165030402010420'), digest])),
      pad(digest),
      pad(Buffer.concat([info, Buffer.alloc(1)])),
      Buffer.concat([hex('0001'), Buffer.alloc(8, 0xff), Buffer.alloc(1), info, garbage]),
      Buffer.concat([hex('0002'), Buffer.alloc(256 - 3 - info.length, 0xff), Buffer.alloc(1), info]),
      Buffer.alloc(256),
    ];
    for (const each of forged) assert.equal(await isPasskeySignatureValid(cose, data, forge(each)), false);
    const good = sign('sha256', data, privateKey);
    for (const each of [Buffer.concat([Buffer.alloc(1), good]), good.subarray(1), Buffer.alloc(0)])
      assert.equal(await isPasskeySignatureValid(cose, data, each), false);
  });

  test('Ed25519: signatures of passkeys with another encoding of their scalar are rejected', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const cose = await toCose(publicKey);
    const good = sign(null, data, privateKey);
    assert.equal(await isPasskeySignatureValid(cose, data, good), true);
    for (const forged of forgeEd25519(good)) assert.equal(await isPasskeySignatureValid(cose, data, forged), false);
  });
});

test('Ed25519: statements of the vault with a forged signature, or of another use, are rejected', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const statement = Buffer.from('a statement');
  const good = sign(null, Buffer.concat([Buffer.from('cardvault audit-checkpoint v1\n'), statement]), privateKey);
  assert.equal(verifySignature(publicKey, 'audit-checkpoint', statement, good), true);
  for (const forged of forgeEd25519(good))
    assert.equal(verifySignature(publicKey, 'audit-checkpoint', statement, forged), false);
  assert.equal(verifySignature(publicKey, 'deletion-receipt', statement, good), false);
  assert.equal(verifySignature(publicKey, 'audit-checkpoint', Buffer.from('another'), good), false);
});

/** The order of the group of P-256 (FIPS 186-5). */
const P256_ORDER = BigInt('0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551');
/** The order of the group of Ed25519 (RFC 8032). */
const ED25519_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** `DER` of a PKCS #8 private key of X25519 (RFC 8410), without the key that follows it. */
const X25519_PREFIX = hex('302e020100300506032b656e04220420');

/** Returns tags of other lengths, and with each bit changed. */
function forgeTags(tag: Buffer): Buffer[] {
  return [
    Buffer.alloc(16),
    Buffer.alloc(16, 0xff),
    ...Array.from({ length: 16 }, (_, length) => tag.subarray(0, length)),
    Buffer.concat([tag, tag]),
    ...Array.from({ length: 128 }, (_, bit) => {
      const changed = Buffer.from(tag);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return changed;
    }),
  ];
}

function derSignature(r: bigint, s: bigint): Buffer {
  const integer = (value: bigint): Buffer => {
    const digits = value.toString(16);
    const content = hex(digits.length % 2 === 0 ? digits : `0${digits}`);
    const padded = (content[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.alloc(1), content]) : content;
    return Buffer.concat([Buffer.from([2, padded.length]), padded]);
  };
  const content = Buffer.concat([integer(r), integer(s)]);
  return Buffer.concat([Buffer.from([0x30, content.length]), content]);
}

/** Returns signatures that a verifier accepts which does not check the range of the scalar or the length (RFC 8032 5.1.7). */
function forgeEd25519(good: Buffer): Buffer[] {
  const scalar = BigInt(`0x${Buffer.from(good.subarray(32)).reverse().toString('hex')}`);
  const withScalar = (value: bigint): Buffer =>
    Buffer.concat([good.subarray(0, 32), hex(value.toString(16).padStart(64, '0')).reverse()]);
  return [
    withScalar(scalar + ED25519_ORDER),
    withScalar(scalar + 2n * ED25519_ORDER),
    withScalar(0n),
    good.subarray(0, 63),
    good.subarray(0, 32),
    Buffer.concat([good, Buffer.alloc(1)]),
    Buffer.alloc(64),
    Buffer.alloc(0),
  ];
}
