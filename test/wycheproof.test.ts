import assert from 'node:assert/strict';
import {
  constants,
  createHash,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  privateEncrypt,
  sign,
} from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { loadWebAuthn } from '../console/people/credential.ts';
import { encryptGcm } from '../src/crypto/aes.ts';
import { isSameDigest, keyedDigest } from '../src/crypto/fingerprint.ts';
import { openGcm, UnsealError } from '../src/crypto/seal.ts';
import { verifySignature } from '../src/crypto/signing-key.ts';

/**
 * Attacks on the functions that verify or open. The vectors of Project Wycheproof are not part of this repository:
 * `TEST_WYCHEPROOF` names the folder `testvectors_v1` of a checkout.
 */
const FOLDER = process.env['TEST_WYCHEPROOF'] ?? '';
const absent = !existsSync(join(FOLDER, 'aes_gcm_test.json')) && 'TEST_WYCHEPROOF names no folder with the vectors';

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
  JSON.parse(readFileSync(join(FOLDER, `${name}_test.json`), 'utf8')).testGroups;

/** Runs each vector that is clearly valid or invalid, and returns how many there were of both. */
async function runVectors(
  groups: readonly VectorGroup[],
  isAccepted: (vector: Vector, group: VectorGroup) => boolean | Promise<boolean>,
): Promise<{ valid: number; invalid: number; reencoded: number }> {
  const counts = { valid: 0, invalid: 0, reencoded: 0 };
  for (const group of groups)
    for (const vector of group.tests) {
      if (vector.result === 'acceptable') continue;
      counts[vector.result]++;
      const accepted = await isAccepted(vector, group);
      if (accepted && isReencoded(vector, group)) {
        counts.reencoded++;
        continue;
      }
      assert.equal(accepted, vector.result === 'valid', `vector ${vector.tcId}: ${vector['comment']}`);
    }
  return counts;
}

/**
 * True for a valid signature of ECDSA in another encoding of its two numbers, with further bytes, or with elements behind
 * them. Its maker has the signature, and the verification of passkeys accepts some of these.
 */
function isReencoded({ flags }: Vector, { type }: VectorGroup): boolean {
  return type === 'EcdsaVerify' && (flags as readonly string[]).some((flag) => ENCODING_FLAGS.includes(flag));
}

const ENCODING_FLAGS: readonly string[] = [
  'BerEncodedSignature',
  'InvalidEncoding',
  'MissingZero',
  'ModifiedSignature',
];

const text = (from: Vector | VectorGroup, member: string): string => String(from[member]);
const bytes = (from: Vector, member: string): Buffer => hex(text(from, member));

/** How many of those are accepted, at most. */
const REENCODED = { ES256: 24, Ed25519: 0, RS256: 0 } as const;

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

/** Returns true when the verification of passkeys accepts the signature; false also when it throws. */
async function isPasskeySignatureValid(
  cose: Uint8Array<ArrayBuffer>,
  data: Buffer,
  signature: Buffer,
): Promise<boolean> {
  const { helpers } = await loadWebAuthn();
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

describe('vectors of Project Wycheproof', { skip: absent }, () => {
  test('AES-256-GCM: what is sealed', async () => {
    const groups = readGroups('aes_gcm').filter(
      ({ keySize, ivSize, tagSize }) => keySize === 256 && ivSize === 96 && tagSize === 128,
    );
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
    const groups = readGroups('aes_gcm').filter(
      ({ keySize, ivSize, tagSize }) => keySize !== 192 && ivSize === 96 && tagSize === 128,
    );
    const counts = await runVectors(groups, (vector) => {
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
          known ??
          (await toCose(createPublicKey({ key: hex(text(group, 'publicKeyDer')), format: 'der', type: 'spki' })));
        keys.set(group, cose);
        return isPasskeySignatureValid(cose, bytes(vector, 'msg'), bytes(vector, 'sig'));
      });
      assert.ok(counts.valid > 5 && counts.invalid > 30, JSON.stringify(counts));
      assert.ok(counts.reencoded <= REENCODED[type], JSON.stringify(counts));
    });
});

describe('forged values', () => {
  const data = Buffer.from('a challenge that was signed');

  test('AES-256-GCM opens no ciphertext with another tag, of any length', () => {
    const key = createSecretKey(Buffer.alloc(32, 7));
    const [iv, aad] = [Buffer.alloc(12, 1), Buffer.from('context')];
    const { ciphertext, tag } = encryptGcm(key.export(), iv, data, aad);
    assert.deepEqual(openGcm(key, iv, aad, ciphertext, tag), data);
    const tags = [
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
    for (const forged of tags) assert.throws(() => openGcm(key, iv, aad, ciphertext, forged), UnsealError);
    for (const nonce of [Buffer.alloc(0), Buffer.alloc(8, 1), Buffer.alloc(16, 1)])
      assert.throws(() => openGcm(key, nonce, aad, ciphertext, tag), UnsealError);
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
