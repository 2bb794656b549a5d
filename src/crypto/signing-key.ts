import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';
import type { Keyring } from './keyring.ts';
import type { KeyOwner } from './wrapped-key.ts';

/**
 * The keys with which a vault signs statements that others check without the vault: checkpoints of the audit log, and
 * receipts of deletions. The 32 bytes of a wrapped key are the seed of an Ed25519 key (RFC 8032). The newest version
 * signs; the public keys of older versions still verify what those signed.
 *
 * The first version exists since the first commit of the vault, so that a removed key is noticed instead of replaced:
 * a reader who knows the public key would otherwise only see signatures of an unknown one.
 */
export const SIGNING_KEY: KeyOwner = { account: '', environment: 'service', purpose: 'signing' };

/** `DER` of a PKCS #8 private key of Ed25519 (RFC 8410), without the seed that follows it. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const KEY_ID_DIGITS = 16;
/** Length in bytes of an Ed25519 signature. */
export const SIGNATURE_BYTES = 64;

export interface Signature {
  /** Names the public key: `toKeyId`. */
  readonly keyId: string;
  /** The 64 bytes of RFC 8032. */
  readonly signature: Buffer;
}

export interface SigningKeyVersion {
  readonly keyId: string;
  readonly version: number;
  readonly publicKey: KeyObject;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
}

export class SigningKeys {
  readonly #keyring: Pick<Keyring, 'listVersions'>;

  constructor(keyring: Pick<Keyring, 'listVersions'>) {
    this.#keyring = keyring;
  }

  /**
   * Signs a payload with the newest key. `use` separates kinds of payloads: a signature of one use is none of another.
   * Throws `MissingKeyError` when the key was removed from the database.
   */
  async sign(use: string, payload: Uint8Array): Promise<Signature> {
    const newest = (await this.#keyring.listVersions(SIGNING_KEY)).at(-1);
    if (newest === undefined) throw new Error('a list of versions is never empty');
    const privateKey = toPrivateKey(newest.key);
    return {
      keyId: toKeyId(createPublicKey(privateKey)),
      signature: sign(null, signedBytes(use, payload), privateKey),
    };
  }

  /** Lists the public keys, oldest first. Throws `MissingKeyError`. */
  async list(): Promise<SigningKeyVersion[]> {
    return (await this.#keyring.listVersions(SIGNING_KEY)).map(({ key, version, createdAt }) => {
      const publicKey = createPublicKey(toPrivateKey(key));
      return { keyId: toKeyId(publicKey), version, publicKey, createdAt };
    });
  }
}

/** Verifies a signature. Needs no vault, and returns false for a malformed signature and for a key of another kind. */
export const verifySignature = (
  publicKey: KeyObject,
  use: string,
  payload: Uint8Array,
  signature: Uint8Array,
): boolean =>
  publicKey.asymmetricKeyType === 'ed25519' &&
  signature.length === SIGNATURE_BYTES &&
  verify(null, signedBytes(use, payload), publicKey, signature);

/** Returns the first 16 hexadecimal digits of SHA-256 over the public key as `DER` of its SubjectPublicKeyInfo. */
export const toKeyId = (publicKey: KeyObject): string =>
  hash('sha256', publicKey.export({ type: 'spki', format: 'der' })).slice(0, KEY_ID_DIGITS);

/** The signed bytes start with a line that names the use. */
const signedBytes = (use: string, payload: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`cardvault ${use} v1\n`), payload]);

function toPrivateKey(seed: KeyObject): KeyObject {
  const bytes = seed.export();
  const der = Buffer.concat([PKCS8_PREFIX, bytes]);
  bytes.fill(0);
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } finally {
    der.fill(0);
  }
}
