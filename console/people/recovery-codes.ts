import { isSameDigest } from '../../src/crypto/fingerprint.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import type { Random } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { computeDigest } from './sealing.ts';

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

export async function digestRecoveryCodes(
  keyring: Keyring,
  person: string,
  codes: readonly string[],
): Promise<string[]> {
  const digests: string[] = [];
  for (const code of codes) digests.push(Buffer.from(await digestCode(keyring, person, code)).toString('hex'));
  return digests;
}

const digestCode = (keyring: Keyring, person: string, code: string): Promise<Uint8Array> =>
  computeDigest(keyring, 'recovery code', person, normalizeCode(code));

/** Returns the index of a code; undefined when none matches. */
export async function matchRecoveryCode(
  keyring: Keyring,
  person: string,
  digests: readonly string[],
  code: string,
): Promise<number | undefined> {
  const digest = await digestCode(keyring, person, code);
  let found: number | undefined;
  for (const [index, known] of digests.entries()) if (isSameDigest(Buffer.from(known, 'hex'), digest)) found = index;
  return found;
}

/** The counter of the factor has one bit for each used code, the first code the lowest. */
export const isUsed = (used: number, index: number): boolean => (used & (1 << index)) !== 0;

export const markUsed = (used: number, index: number): number => used | (1 << index);

export const countUnused = (used: number, digests: readonly string[]): number =>
  digests.filter((_, index) => !isUsed(used, index)).length;
