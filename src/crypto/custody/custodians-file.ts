import { createHash, type KeyObject, webcrypto } from 'node:crypto';
import { existsSync } from 'node:fs';
import { LIMITS } from '../../kernel/limits.ts';
import { type Custody, CustodyError, keyCheckValue, type RootKeys, toRootKey } from '../custody.ts';
import { shareWithGroup } from '../group-access.ts';
import { replaceAtomically } from '../secret-file.ts';
import { readProtectedFile } from './key-file.ts';
import { destroyPrevious, GROUP_READABLE_FILE, isOverwritten, previousPath, replaceFile } from './replacement.ts';
import {
  formatContext,
  formatSealedRootKey,
  openRootKey,
  readBytes,
  readSealedRootKey,
  type SealedMembers,
  type SealedRootKey,
  type Sealing,
  type SealingContext,
} from './sealed-file.ts';

/**
 * Sealing for custodians. A ceremony draws an X25519 identity of the age format, seals the root key for its recipient, and
 * splits the identity among the custodians. The root key itself is not split, because then each rotation of it would need
 * all custodians: the recipient is enough to seal another one, and the same shares open that.
 *
 * Members of `sealed`: `ceremony` (an id), `threshold`, `custodians` (`index`, `name`, `check` of each share),
 * `recipient`, `key` (an age file in base64 with the root key and a digest of the members before), and `acknowledged`:
 * the indexes of the custodians who proved that their share opens.
 */
export interface Custodian {
  /** 1 for the first one. */
  readonly index: number;
  readonly name: string;
  /** 8 hexadecimal digits of a digest of the share: names a wrong share before shares are combined. */
  readonly check: string;
}

export interface Ceremony {
  /** 16 hexadecimal digits. */
  readonly id: string;
  readonly threshold: number;
  readonly custodians: readonly Custodian[];
  /** A recipient of the age format, `age1…`. */
  readonly recipient: string;
}

/** The 32 bytes of an X25519 private key. */
export const IDENTITY_BYTES = 32;

/** A share has one byte more than the identity: its coordinate. */
export const SHARE_BYTES = IDENTITY_BYTES + 1;

const PKCS8_PREFIX = Buffer.from('302e020100300506032b656e04220420', 'hex');
const DIGEST_BYTES = 32;
const ROOT_AND_DIGEST_BYTES = 32 + DIGEST_BYTES;
const MAX_AGE_BYTES = 4096;

/** Returns the check value of a share. */
export const shareCheckValue = (ceremonyId: string, index: number, share: Uint8Array): string =>
  createHash('sha256').update(`cardvault share ${ceremonyId} ${index} `).update(share).digest('hex').slice(0, 8);

/** Imports an identity as a key that the process cannot export again. */
export async function importIdentity(identity: Uint8Array): Promise<webcrypto.CryptoKey> {
  const encoded = Buffer.concat([PKCS8_PREFIX, identity]);
  try {
    return await webcrypto.subtle.importKey('pkcs8', encoded, { name: 'X25519' }, false, ['deriveBits']);
  } finally {
    encoded.fill(0);
  }
}

/** Digest of what a ceremony decided. It is sealed together with the root key, so that an attacker cannot change it. */
const digestOf = ({ id, threshold, custodians, recipient }: Ceremony, context: SealingContext): Buffer => {
  const members = custodians.map(({ index, name, check }) => [index, name, check]);
  return createHash('sha256')
    .update(JSON.stringify([formatContext(context), id, threshold, members, recipient]))
    .digest();
};

const toMembers = ({ id, threshold, custodians, recipient }: Ceremony, key: Uint8Array): SealedMembers => ({
  ceremony: id,
  threshold,
  custodians: custodians.map(({ index, name, check }) => ({ index, name, check })),
  recipient,
  key: Buffer.from(key).toString('base64'),
  acknowledged: [],
});

/** Seals for the recipient of a ceremony. Opening needs its identity. */
export function custodiansSealing(ceremony: Ceremony, identity?: webcrypto.CryptoKey): Sealing {
  return {
    kind: 'custodians',
    seal: async (bytes, context) => {
      const { Encrypter } = await import('age-encryption');
      const encrypter = new Encrypter();
      encrypter.addRecipient(ceremony.recipient);
      const content = Buffer.concat([bytes, digestOf(ceremony, context)]);
      try {
        return toMembers(ceremony, await encrypter.encrypt(content));
      } finally {
        content.fill(0);
      }
    },
    open: async (sealed, context) => {
      if (identity === undefined) throw new Error('the identity of the custodians is not known');
      const content = await decrypt(identity, readBytes(sealed, 'key', { min: 1, max: MAX_AGE_BYTES }));
      const digest = digestOf(parseCeremony(sealed), context);
      if (content.length !== ROOT_AND_DIGEST_BYTES || !digest.equals(content.subarray(-DIGEST_BYTES))) {
        content.fill(0);
        throw new CustodyError('the root key file was changed: its custodians are not those of the ceremony');
      }
      const bytes = Uint8Array.from(content.subarray(0, -DIGEST_BYTES));
      content.fill(0);
      return bytes;
    },
  };
}

async function decrypt(identity: webcrypto.CryptoKey, file: Uint8Array): Promise<Buffer> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  try {
    const { buffer, byteOffset, length } = await decrypter.decrypt(Uint8Array.from(file));
    return Buffer.from(buffer, byteOffset, length);
  } catch {
    throw new CustodyError('the shares do not open the root key file: they are of another ceremony, or it was changed');
  }
}

/** Reads what a ceremony decided from the members of a sealed root key. Throws `CustodyError`. */
function parseCeremony({ ceremony: id, threshold, custodians, recipient }: SealedMembers): Ceremony {
  const damaged = (what: string): never => {
    throw new CustodyError(`the root key file of the custodians is damaged: ${what} is malformed`);
  };
  if (typeof id !== 'string' || !/^[0-9a-f]{16}$/.test(id)) return damaged('ceremony');
  if (!Array.isArray(custodians) || custodians.length > LIMITS.custodyShares.max) return damaged('custodians');
  const list = custodians.map((each: unknown, at): Custodian => {
    const { index, name, check } = (each ?? {}) as Record<string, unknown>;
    const isGood = index === at + 1 && typeof name === 'string' && typeof check === 'string';
    return isGood ? { index, name, check } : damaged('custodians');
  });
  if (typeof threshold !== 'number' || threshold < 2 || threshold > list.length) return damaged('threshold');
  if (typeof recipient !== 'string' || !recipient.startsWith('age1')) return damaged('recipient');
  return { id, threshold, custodians: list, recipient };
}

const readAcknowledged = ({ acknowledged }: SealedMembers): number[] =>
  Array.isArray(acknowledged) ? acknowledged.filter((index) => Number.isInteger(index)) : [];

/** The part of the file of the custodians that is readable without any share. */
export interface CustodiansFile {
  readonly ceremony: Ceremony;
  readonly keyCheckValue: string;
  /** Indexes of the custodians who proved that their share opens. */
  readonly acknowledged: readonly number[];
}

/** Throws `CustodyError`; a file that does not exist yet needs a ceremony. */
export function readCustodiansFile(file: string, group?: number): CustodiansFile {
  assertCeremonyHeld(file);
  const { sealed, keyCheckValue: value } = readSealedRootKey(file, 'custodians', group);
  return { ceremony: parseCeremony(sealed), keyCheckValue: value, acknowledged: readAcknowledged(sealed) };
}

function assertCeremonyHeld(file: string): void {
  if (!existsSync(file))
    throw new CustodyError(
      `there is no root key file ${file} of custodians; hold the ceremony: cardvault keyring ceremony (see docs/operations.md)`,
    );
}

/** Notes that a custodian proved that the share opens. Callers exclude those that replace the file. */
export function noteAcknowledgement(file: string, index: number, group?: number): void {
  const content = readSealedRootKey(file, 'custodians', group);
  const acknowledged = [...new Set([...readAcknowledged(content.sealed), index])].sort((one, other) => one - other);
  replaceAtomically(file, formatSealedRootKey({ ...content, sealed: { ...content.sealed, acknowledged } }));
  if (group !== undefined) shareWithGroup(file, group, GROUP_READABLE_FILE);
}

/** Opens the root key, and the former one while a replacement is not finished, with the identity of the custodians. */
export async function openWithIdentity(file: string, identity: Uint8Array, group?: number): Promise<RootKeys> {
  const key = await importIdentity(identity);
  const open = (content: SealedRootKey) => openRootKey(content, custodiansSealing(parseCeremony(content.sealed), key));
  const root = await open(readSealedRootKey(file, 'custodians', group));
  const previous = previousPath(file);
  // A crash within its destruction leaves a file that is overwritten.
  if (!existsSync(previous) || isOverwritten(readProtectedFile(previous, group))) return { root, previous: undefined };
  const former = readSealedRootKey(previous, 'custodians', group);
  // After another ceremony the former file has another identity, and the same root key.
  if (former.keyCheckValue === readSealedRootKey(file, 'custodians', group).keyCheckValue)
    return { root, previous: undefined };
  return { root, previous: await open(former) };
}

/**
 * Seals another root key for the same custodians, and keeps the present file until the replacement is finished. Callers exclude one
 * another.
 */
export async function replaceForCustodians(file: string, next: KeyObject, group?: number): Promise<void> {
  const { ceremony, acknowledged } = readCustodiansFile(file, group);
  const context = { kind: 'custodians', keyCheckValue: keyCheckValue(next) } as const;
  const bytes = next.export();
  try {
    const members = await custodiansSealing(ceremony).seal(bytes, context);
    replaceFile(file, formatSealedRootKey({ ...context, sealed: { ...members, acknowledged } }), group);
  } finally {
    bytes.fill(0);
  }
}

/** The node on this machine that custodians unsealed. Its functions throw `SealedError`. */
export interface UnsealedSource {
  open(): Promise<RootKeys>;
  /** Lets the node replace the root key, so that it has the next one in memory: no share is there to open the file. */
  replaceRootKey(next: KeyObject): Promise<void>;
}

/** Custody by custodians. */
export const custodiansCustody = (file: string, source: UnsealedSource, group?: number): Custody => ({
  kind: 'custodians',
  file,
  exists: () => existsSync(file),
  create: async () => assertCeremonyHeld(file),
  open: async () => {
    assertCeremonyHeld(file);
    return source.open();
  },
  readKeyCheckValue: () => readCustodiansFile(file, group).keyCheckValue,
  replaceRootKey: (next) => source.replaceRootKey(next),
  finishReplacement: () => destroyPrevious(file),
});

/** Returns the root key from bytes that another process sent. */
export const rootKeysFromBytes = (root: Uint8Array, previous: Uint8Array | undefined): RootKeys => ({
  root: toRootKey(root),
  previous: previous && toRootKey(previous),
});
