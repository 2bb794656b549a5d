import { isSameDigest } from '../../src/crypto/fingerprint.ts';
import type { Random } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { hashSecret } from './sealing.ts';

/** Recovery codes, for a lost second factor. Each is valid once, for the user it was created for. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz123456789'; // 32 characters: without i, l, o and 0.
/** 80 bits. */
const CHARACTERS = 16;

/** `xxxx-xxxx-xxxx-xxxx` */
export const newRecoveryCodes = (random: Random): string[] =>
  Array.from({ length: LIMITS.recoveryCodes }, () =>
    Array.from({ length: CHARACTERS }, () => LETTERS[random.below(LETTERS.length)] ?? '')
      .join('')
      .replace(/(.{4})(?!$)/g, '$1-'),
  );

/** Removes the differences of typing. */
const normalizeCode = (code: string): string => code.toLowerCase().replace(/[\s-]/g, '');

/** Digests of the codes of a user, under a salt; in a sealed record. Hexadecimal. */
export interface RecoveryCodeDigests {
  readonly salt: string;
  readonly digests: readonly string[];
}

const SALT_BYTES = 16;

export function digestRecoveryCodes(random: Random, person: string, codes: readonly string[]): RecoveryCodeDigests {
  const salt = Buffer.from(random.bytes(SALT_BYTES)).toString('hex');
  const digests = codes.map((code) => Buffer.from(digestCode(salt, person, code)).toString('hex'));
  return { salt, digests };
}

const digestCode = (salt: string, person: string, code: string): Uint8Array =>
  hashSecret('recovery code', salt, person, normalizeCode(code));

/** Returns the index of a code; undefined when none matches. */
export function matchRecoveryCode(
  person: string,
  { salt, digests }: RecoveryCodeDigests,
  code: string,
): number | undefined {
  const digest = digestCode(salt, person, code);
  let found: number | undefined;
  for (const [index, known] of digests.entries()) if (isSameDigest(Buffer.from(known, 'hex'), digest)) found = index;
  return found;
}

/** The counter of the factor has one bit for each used code, the first code the lowest. */
export const isUsed = (used: number, index: number): boolean => (used & (1 << index)) !== 0;

export const markUsed = (used: number, index: number): number => used | (1 << index);

export const countUnused = (used: number, digests: readonly string[]): number =>
  digests.filter((_, index) => !isUsed(used, index)).length;
