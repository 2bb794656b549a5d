import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';
import { CustodyError } from '../custody.ts';
import { SHARE_BYTES } from './custodians-file.ts';

/**
 * Shares on their way to a sealed node are encrypted for a key that the node draws at its start and drops when it is unsealed:
 * X25519 with an ephemeral key, HKDF-SHA-256 and AES-256-GCM. The connection is protected anyway; but texts and buffers of
 * connections cannot be cleared, and so they contain no share.
 *
 * Form: ephemeral public key (32 bytes) | ciphertext | tag, in base64. Ceremony and index of the share are associated data.
 */
const PUBLIC_KEY_BYTES = 32;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** Each key encrypts one share. */
const NONCE = Buffer.alloc(12);
const OPTIONS = { authTagLength: TAG_BYTES };

/** A share that is encrypted for a node. */
export interface SealedShare {
  readonly ceremony: string;
  readonly index: number;
  /** Base64. */
  readonly share: string;
}

const toX25519Key = (raw: Buffer): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: raw.toString('base64url') }, format: 'jwk' });

const toRaw = (key: KeyObject): Buffer => Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');

/**
 * Returns the common secret of X25519 (RFC 7748), which the caller clears. Throws for a public key that gives every private
 * key the same secret.
 */
export const agreeOnSecret = (privateKey: KeyObject, publicKey: Buffer): Buffer =>
  diffieHellman({ privateKey, publicKey: toX25519Key(publicKey) });

function deriveShareKey(privateKey: KeyObject, publicKey: Buffer, ephemeral: Buffer, node: Buffer): Buffer {
  const secret = agreeOnSecret(privateKey, publicKey);
  try {
    return Buffer.from(
      hkdfSync('sha256', secret, Buffer.concat([ephemeral, node]), 'cardvault share for a node', KEY_BYTES),
    );
  } finally {
    secret.fill(0);
  }
}

const associatedData = (ceremony: string, index: number): Buffer => Buffer.from(`${ceremony} ${index}`);

/** Encrypts a share for the key that a node shows. Throws `CustodyError` when that is no key. */
export function sealShare(
  nodeKey: unknown,
  { ceremony, index, share }: { readonly ceremony: string; readonly index: number; readonly share: Uint8Array },
): SealedShare {
  const node = Buffer.from(String(nodeKey), 'base64');
  if (node.length !== PUBLIC_KEY_BYTES) throw new CustodyError('the node shows no key for shares');
  const pair = generateKeyPairSync('x25519');
  const ephemeral = toRaw(pair.publicKey);
  const key = deriveShareKey(pair.privateKey, node, ephemeral, node);
  try {
    const cipher = createCipheriv('aes-256-gcm', key, NONCE, OPTIONS);
    cipher.setAAD(associatedData(ceremony, index));
    const sealed = Buffer.concat([ephemeral, cipher.update(share), cipher.final(), cipher.getAuthTag()]);
    return { ceremony, index, share: sealed.toString('base64') };
  } finally {
    key.fill(0);
  }
}

/** The key of a node for the shares that it gets. */
export class NodeKey {
  readonly #privateKey: KeyObject;
  readonly #raw: Buffer;

  constructor() {
    const pair = generateKeyPairSync('x25519');
    this.#privateKey = pair.privateKey;
    this.#raw = toRaw(pair.publicKey);
  }

  /** The public key in base64. */
  get text(): string {
    return this.#raw.toString('base64');
  }

  /** Returns the share, which the caller clears. Throws `CustodyError`. */
  open({ ceremony, index, share }: SealedShare): Uint8Array {
    const sealed = Buffer.from(share, 'base64');
    if (sealed.length !== PUBLIC_KEY_BYTES + SHARE_BYTES + TAG_BYTES) throw new CustodyError('the share is malformed');
    const ephemeral = sealed.subarray(0, PUBLIC_KEY_BYTES);
    try {
      const key = deriveShareKey(this.#privateKey, ephemeral, ephemeral, this.#raw);
      const decipher = createDecipheriv('aes-256-gcm', key, NONCE, OPTIONS);
      key.fill(0);
      decipher.setAAD(associatedData(ceremony, index));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      const opened = decipher.update(sealed.subarray(PUBLIC_KEY_BYTES, -TAG_BYTES));
      decipher.final();
      // The same memory: the library that combines shares takes no Buffer.
      return new Uint8Array(opened.buffer, opened.byteOffset, opened.length);
    } catch {
      throw new CustodyError('the share was not encrypted for this node; the node may have been restarted meanwhile');
    }
  }
}
