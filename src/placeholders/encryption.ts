import type { KeyObject } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type EncryptionPadding, encryptRsa, plaintextLimit } from '../crypto/rsa.ts';
import { InvalidKeyError, keyBits, parsePublicKey } from '../crypto/rsa-keys.ts';
import { Failure, invalidField } from '../kernel/failure.ts';
import { isJsonObject, type Json, parseJson } from '../kernel/json.ts';
import { LIMITS } from '../kernel/limits.ts';
import { explain } from '../kernel/reasons.ts';
import { type LocatedPlaceholder, placeholderFailure, type Substitution } from './located-placeholder.ts';

/** How values are encrypted before they replace placeholders. */
export interface ValueEncryption {
  /** Undefined selects the processor's key of the account. */
  readonly key: KeyObject | undefined;
  readonly padding: EncryptionPadding;
  /** True encrypts the values with the filter `encrypt`; false encrypts every value. */
  readonly isPartial: boolean;
}

const HEADER = 'ft-encryption';
const MEMBERS: readonly string[] = ['key', 'type', 'is_partial'];
const TYPES = { RSA: 'oaep-sha256', 'RSA-OAEP': 'oaep-sha1', 'RSA-PKCS1': 'pkcs1' } as const;
/** Values of the member `type`. */
export const ENCRYPTION_TYPES: readonly string[] = Object.keys(TYPES);
const PADDINGS: ReadonlyMap<Json | undefined, EncryptionPadding> = new Map(Object.entries(TYPES));

/** Parses the header `ft-encryption`: `{"key": …, "type": …, "is_partial": …}`, each optional. Throws `invalid_field`. */
export function parseEncryption(header: string | undefined): ValueEncryption {
  const { key, type = 'RSA', is_partial: isPartial = true } = header === undefined ? {} : parseMembers(header);
  const padding = PADDINGS.get(type);
  if (padding === undefined) throw invalidField(`${HEADER}.type`, 'encryptionType');
  if (typeof isPartial !== 'boolean') throw invalidField(`${HEADER}.is_partial`, 'expectedBoolean');
  return { key: key === undefined ? undefined : parseKey(key), padding, isPartial };
}

function parseMembers(header: string): Record<string, Json | undefined> {
  const value = tryParseJson(header);
  if (!isJsonObject(value)) throw invalidField(HEADER, 'expectedJsonObject');
  // A misspelled member would remain undetected, and the value would be encrypted with another key.
  if (Object.keys(value).some((name) => !MEMBERS.includes(name)))
    throw invalidField(HEADER, 'membersOnly', { names: MEMBERS.join(', ') });
  // A null member counts as absent.
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, member ?? undefined]));
}

function tryParseJson(header: string): Json | undefined {
  try {
    return parseJson(header);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

function parseKey(key: Json): KeyObject {
  const notKey = invalidField(`${HEADER}.key`, 'encryptionKey', { min: LIMITS.rsaBits.min });
  if (typeof key !== 'string') throw notKey;
  try {
    return parsePublicKey(Buffer.from(key, 'latin1'));
  } catch (error) {
    if (error instanceof InvalidKeyError) throw notKey;
    throw error;
  }
}

export const isEncrypted = ({ placeholder }: LocatedPlaceholder, { isPartial }: ValueEncryption): boolean =>
  placeholder.encrypt || !isPartial;

/**
 * Replaces values to be encrypted by base64 of their ciphertext. Other requests are served between some of them and the next: the caller
 * chooses the key, and a long one takes most of a millisecond for each value. Throws `invalid_placeholder`.
 */
export async function encryptValues(
  substitutions: readonly Substitution[],
  encryption: ValueEncryption,
  key: KeyObject,
): Promise<Substitution[]> {
  const { padding } = encryption;
  const bits = keyBits(key);
  const maxBytes = plaintextLimit(padding, bits);
  // An encryption takes as long as the square of the bits.
  const perTurn = Math.max(1, Math.floor(LIMITS.encryptionsPerTurn * (LIMITS.rsaBits.min / bits) ** 2));
  const encrypted: Substitution[] = [];
  let count = 0;
  for (const { located, value } of substitutions) {
    if (!isEncrypted(located, encryption)) {
      encrypted.push({ located, value });
      continue;
    }
    const bytes = Buffer.from(value, 'utf8');
    if (bytes.length > maxBytes) throw placeholderFailure(located, explain('valueTooLong'));
    if (count > 0 && count % perTurn === 0) await setImmediate();
    count++;
    encrypted.push({ located, value: encryptRsa(padding, key, bytes).toString('base64') });
  }
  return encrypted;
}
