import { createHmac, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { OperatorError } from '../kernel/operator-error.ts';

/**
 * Custody of the root key: the one secret that is not in the database. `CARDVAULT_ROOT_KEY` chooses a kind:
 *
 * - `file`: the key in clear, in a file that only the user of the service can read;
 * - `passphrase`: sealed with a passphrase;
 * - `pkcs11`: sealed with a key that never leaves a hardware security module;
 * - `awskms`: sealed with a key of AWS KMS;
 * - `custodians`: sealed for an identity that is split among custodians, so that a node is sealed until enough of them
 *   give their shares.
 *
 * Every kind but the first keeps the root key in a small file that can be opened only with that passphrase, module,
 * service or shares. The root key in the process is the same whatever the kind, so a vault changes its custody without
 * encrypting anything again. `custody/` has a file for each kind.
 */
export const CUSTODY_KINDS = ['file', 'passphrase', 'pkcs11', 'awskms', 'custodians'] as const;

export type CustodyKind = (typeof CUSTODY_KINDS)[number];

export const ROOT_KEY_BYTES = 32;

/** The root key, and the one before it while a replacement is not finished: the database may still need that one. */
export interface RootKeys {
  readonly root: KeyObject;
  readonly previous: KeyObject | undefined;
}

/** Custody of the root key of one vault. */
export interface Custody {
  readonly kind: CustodyKind;
  /** The absolute path of the file with the root key, or with the sealed root key. */
  readonly file: string;
  /** True when there is a root key. */
  exists(): boolean;
  /**
   * Creates a root key where none exists, or takes custody of this one. Of several concurrent callers, all keep the key
   * of the first. Throws `CustodyError`.
   */
  create(root?: KeyObject): Promise<void>;
  /**
   * Returns the root key. Throws `CustodyError` when it is missing, damaged or cannot be opened, and `SealedError` while
   * custodians have not given enough shares.
   */
  open(): Promise<RootKeys>;
  /**
   * Returns the check value of the root key in the file, which is not opened: custodians open the memory of a node instead of
   * it. Throws `CustodyError`.
   */
  readKeyCheckValue(): string;
  /**
   * Seals another root key in the same way. The present file stays beside it as `FILE.previous`, and its key is the
   * `previous` of `open` until `finishReplacement`. Durable when it resolves; a crash leaves the former or the new state.
   * Throws `CustodyError` while another replacement is not finished. Callers exclude one another, see
   * `rotation/root-key-lock.ts`.
   */
  replaceRootKey(next: KeyObject): Promise<void>;
  /** Destroys the former root key: the database no longer needs it. Without a replacement it does nothing. */
  finishReplacement(): void;
}

/** Thrown with a message for the operator, which contains no key and no passphrase. */
export class CustodyError extends OperatorError {
  override readonly name: string = 'CustodyError';
}

/** Thrown while the root key is split among custodians who have not given enough shares. */
export class SealedError extends CustodyError {
  override readonly name = 'SealedError';
  constructor() {
    super(
      'the vault is sealed: no node with the root key runs here; ' +
        'start the service, then each custodian runs: cardvault unseal --share FILE',
    );
  }
}

const CHECK_VALUE_DIGITS = 8;

/**
 * Returns 8 hexadecimal digits that identify a root key and reveal nothing of it: a part of an HMAC of a fixed text.
 * Operators compare it after a move or a ceremony.
 */
export const keyCheckValue = (root: KeyObject): string =>
  createHmac('sha256', root).update('cardvault root key check value').digest('hex').slice(0, CHECK_VALUE_DIGITS);

/** Returns a random root key. */
export const generateRootKey = (): KeyObject => toSecretKey(randomBytes(ROOT_KEY_BYTES));

/** Returns the key that these bytes are, and clears the bytes. */
export function toRootKey(bytes: Uint8Array): KeyObject {
  if (bytes.length !== ROOT_KEY_BYTES) throw new CustodyError('the root key is damaged: expected 32 bytes');
  return toSecretKey(bytes);
}

/** Derives a separate key for each use of a key (RFC 5869), so that no two uses share anything. */
export const deriveKey = (key: KeyObject, use: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `cardvault ${use}`, ROOT_KEY_BYTES)));

/** Returns the part of `deriveKey` that all uses of a key share (extract, RFC 5869 2.2), for keys with many uses. */
export function extractKey(key: KeyObject): KeyObject {
  const material = key.export();
  const extracted = createHmac('sha256', Buffer.alloc(ROOT_KEY_BYTES)).update(material).digest();
  material.fill(0);
  return toSecretKey(extracted);
}

/** Returns what `deriveKey` returns, from the extracted key (expand, RFC 5869 2.3; one block). */
export const expandKey = (extracted: KeyObject, use: string): KeyObject =>
  toSecretKey(createHmac('sha256', extracted).update(`cardvault ${use}\u0001`).digest());

function toSecretKey(bytes: Uint8Array): KeyObject {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}
