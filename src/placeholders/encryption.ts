import type { KeyObject } from 'node:crypto';
import { type EncryptionPadding, encryptRsa, plaintextLimit } from '../crypto/rsa.ts';
import { bitsOf, KeyFault, readPublicKey } from '../crypto/rsa-keys.ts';
import { Failure, invalid } from '../kernel/failure.ts';
import { isJsonObject, type Json, parseJson } from '../kernel/json.ts';
import { faultAt, type Mark } from './mark.ts';

/** How marked values are encrypted before they are put in. */
export interface Encryption {
  /** Absent: the processor's key of the account. */
  readonly key: KeyObject | undefined;
  readonly padding: EncryptionPadding;
  /** True: only those with the filter `encrypt`; false: every value. */
  readonly isPartial: boolean;
}

const HEADER = 'ft-encryption';
const PADDINGS: ReadonlyMap<Json | undefined, EncryptionPadding> = new Map([
  ['RSA', 'oaep-sha256'],
  ['RSA-OAEP', 'oaep-sha1'],
  ['RSA-PKCS1', 'pkcs1'],
]);

/** The header `ft-encryption`: `{"key": …, "type": …, "is_partial": …}`, each optional. Throws `invalid_field`. */
export function readEncryption(header: string | undefined): Encryption {
  const { key, type = 'RSA', is_partial: isPartial = true } = header === undefined ? {} : membersOf(header);
  const padding = PADDINGS.get(type);
  if (padding === undefined) throw invalid(`${HEADER}.type`, 'expected RSA, RSA-OAEP or RSA-PKCS1');
  if (typeof isPartial !== 'boolean') throw invalid(`${HEADER}.is_partial`, 'expected true or false');
  return { key: key === undefined ? undefined : keyOf(key), padding, isPartial };
}

function membersOf(header: string): Record<string, Json | undefined> {
  const value = parsed(header);
  if (!isJsonObject(value)) throw invalid(HEADER, 'expected a JSON object');
  // What is null counts as absent.
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, member ?? undefined]));
}

function parsed(header: string): Json | undefined {
  try {
    return parseJson(header).value;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

function keyOf(key: Json): KeyObject {
  const expectation = 'expected an RSA public key of 2048 bits or more, PEM or base64 of DER';
  if (typeof key !== 'string') throw invalid(`${HEADER}.key`, expectation);
  try {
    return readPublicKey(Buffer.from(key, 'latin1'));
  } catch (error) {
    if (error instanceof KeyFault) throw invalid(`${HEADER}.key`, expectation);
    throw error;
  }
}

/** Does any of the marks ask for encryption? */
export const isEncrypted = ({ placeholder }: Mark, { isPartial }: Encryption): boolean =>
  placeholder.encrypt || !isPartial;

/** The values, those to be encrypted as base64 of their ciphertext. Throws `invalid_placeholder`. */
export function encryptValues(
  marks: readonly Mark[],
  values: readonly string[],
  encryption: Encryption,
  key: KeyObject,
): string[] {
  const { padding } = encryption;
  const longest = plaintextLimit(padding, bitsOf(key));
  return marks.map((mark, index) => {
    const value = values[index] ?? '';
    if (!isEncrypted(mark, encryption)) return value;
    const bytes = Buffer.from(value, 'utf8');
    if (bytes.length > longest) throw faultAt(mark, 'the value is too long for the encryption key');
    return encryptRsa(padding, key, bytes).toString('base64');
  });
}
