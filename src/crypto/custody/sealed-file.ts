import type { KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  type Custody,
  CustodyError,
  type CustodyKind,
  generateRootKey,
  keyCheckValue,
  type RootKeys,
  toRootKey,
} from '../custody.ts';
import { shareWithGroup } from '../group-access.ts';
import { createIfAbsent } from '../secret-file.ts';
import { openFormer, readProtectedFile, readRootKey } from './key-file.ts';
import { destroyPrevious, GROUP_READABLE_FILE, replaceFile } from './replacement.ts';

/**
 * The file of a sealed root key: one JSON object.
 *
 * | Member | Content |
 * |---|---|
 * | `cardvault` | `root-key` |
 * | `format` | 1 |
 * | `kind` | The kind of custody: `passphrase`, `pkcs11`, `awskms` or `custodians` |
 * | `key_check_value` | See `keyCheckValue` |
 * | `sealed` | An object of the kind with the sealed key, and what opening it needs |
 *
 * What seals the key also authenticates kind, format and check value (`sealingContext`), so that the sealed key of one
 * vault or kind cannot take the place of another.
 */
const FORMAT = 1;

export type SealedKind = Exclude<CustodyKind, 'file'>;

/** Members of `sealed`. */
export type SealedMembers = Readonly<Record<string, unknown>>;

/** Data that is authenticated together with the sealed key. */
export interface SealingContext {
  readonly kind: SealedKind;
  readonly keyCheckValue: string;
}

/** One way to seal 32 bytes and to open them again. */
export interface Sealing {
  readonly kind: SealedKind;
  seal(bytes: Uint8Array, context: SealingContext): Promise<SealedMembers>;
  /** Returns the bytes, which the caller clears. Throws `CustodyError`. */
  open(sealed: SealedMembers, context: SealingContext): Promise<Uint8Array>;
}

/** Returns the context as one text, for associated data. */
export const formatContext = ({ kind, keyCheckValue: value }: SealingContext): string =>
  `cardvault root key, format ${FORMAT}, kind ${kind}, check value ${value}`;

/** The content of a file of a sealed root key. */
export interface SealedRootKey extends SealingContext {
  readonly sealed: SealedMembers;
}

export const formatSealedRootKey = ({ kind, keyCheckValue: value, sealed }: SealedRootKey): string =>
  `${JSON.stringify({ cardvault: 'root-key', format: FORMAT, kind, key_check_value: value, sealed }, null, 2)}\n`;

/** Reads the file of a sealed root key of this kind. Throws `CustodyError`. */
export const readSealedRootKey = (path: string, kind: SealedKind, group?: number): SealedRootKey =>
  parseSealedRootKey(path, kind, readProtectedFile(path, group));

function parseSealedRootKey(path: string, kind: SealedKind, text: string): SealedRootKey {
  const damaged = (why: string): never => {
    throw new CustodyError(`the root key file ${path} cannot be used: ${why}`);
  };
  if (/^[0-9a-f]{64}\s*$/.test(text))
    return damaged(`it contains a root key in clear, and no sealed one; set CARDVAULT_ROOT_KEY=file:${path}`);
  const content = parseObject(text) ?? damaged('it is no JSON object');
  if (content['cardvault'] !== 'root-key') damaged('it contains no root key');
  if (content['format'] !== FORMAT) damaged(`its format is unknown; this version knows format ${FORMAT}`);
  if (content['kind'] !== kind) damaged(`it is of another kind than ${kind}; see CARDVAULT_ROOT_KEY`);
  const { key_check_value: value, sealed } = content;
  if (typeof value !== 'string' || !/^[0-9a-f]{8}$/.test(value)) return damaged('it has no key_check_value');
  if (!isObject(sealed)) return damaged('it has no sealed key');
  return { kind, keyCheckValue: value, sealed };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a member that is bytes in base64, of a number of bytes. Throws `CustodyError`. */
export function readBytes(sealed: SealedMembers, name: string, { min, max }: { min: number; max: number }): Buffer {
  const text = sealed[name];
  const bytes =
    typeof text === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;
  if (bytes === undefined || bytes.length < min || bytes.length > max)
    throw new CustodyError(`the sealed root key is damaged: ${name} is malformed`);
  return bytes;
}

/** Seals a root key into the content of its file. */
export async function sealRootKey(root: KeyObject, sealing: Sealing): Promise<string> {
  const context = { kind: sealing.kind, keyCheckValue: keyCheckValue(root) };
  const bytes = root.export();
  try {
    return formatSealedRootKey({ ...context, sealed: await sealing.seal(bytes, context) });
  } finally {
    bytes.fill(0);
  }
}

/** Opens a sealed root key. Throws `CustodyError`. */
export async function openRootKey({ sealed, ...context }: SealedRootKey, sealing: Sealing): Promise<KeyObject> {
  const root = toRootKey(await sealing.open(sealed, context));
  if (keyCheckValue(root) !== context.keyCheckValue)
    throw new CustodyError('the sealed root key is damaged: its key check value does not match');
  return root;
}

/**
 * Returns the check value of the root key that a file of any kind contains, without opening it. Throws `CustodyError`.
 */
export function readKeyCheckValue(path: string, group?: number): string {
  const text = readProtectedFile(path, group);
  if (/^[0-9a-f]{64}\s*$/.test(text)) return keyCheckValue(readRootKey(path, group));
  const value = parseObject(text)?.['key_check_value'];
  if (typeof value !== 'string') throw new CustodyError(`${path} contains no root key`);
  return value;
}

/** Custody in a file of a sealed root key. */
export function sealedFileCustody(file: string, sealing: Sealing, group?: number): Custody {
  const { kind } = sealing;
  const openFile = (path: string): Promise<KeyObject> => openRootKey(readSealedRootKey(path, kind, group), sealing);
  return {
    kind,
    file,
    exists: () => existsSync(file),
    create: async (root = generateRootKey()) => {
      createIfAbsent(file, await sealRootKey(root, sealing));
      if (group !== undefined) shareWithGroup(file, group, GROUP_READABLE_FILE);
    },
    open: async (): Promise<RootKeys> => {
      const root = await openFile(file);
      return { root, previous: await openFormer(file, { root, group }, openFile) };
    },
    readKeyCheckValue: () => readSealedRootKey(file, kind, group).keyCheckValue,
    async replaceRootKey(next) {
      const content = await sealRootKey(next, sealing);
      // A passphrase may have been typed with an error: what does not open again replaces nothing.
      await openRootKey(parseSealedRootKey(file, kind, content), sealing);
      replaceFile(file, content, group);
    },
    finishReplacement: () => destroyPrevious(file),
  };
}
