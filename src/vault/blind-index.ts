import type { KeyObject } from 'node:crypto';
import { fingerprint } from '../crypto/fingerprint.ts';
import { SCHEMES } from './scheme.ts';
import type { Token } from './token.ts';

/**
 * What a token is found by where its slot does not tell: keyed digests of its tags and, when its value holds nothing of
 * the card, of first six and last four. Whoever reads the database sees which tokens share something, and not what.
 */
const BIN_DIGITS = 6;
const LAST_DIGITS = 4;

/** What is digested; the word before the colon keeps a tag `4111` and last four `4111` apart. */
export const blindIndexInput = {
  tag: (tag: string): string => `tag:${tag}`,
  bin: (firstSix: string): string => `bin:${firstSix}`,
  lastFour: (digits: string): string => `last-four:${digits}`,
};

export const computeBlindIndex = (key: KeyObject, text: string): Uint8Array => new Uint8Array(fingerprint(key, text));

/** The texts of all marks of a token. */
export function blindIndexInputs({ scheme, card, tags }: Pick<Token, 'scheme' | 'card' | 'tags'>): string[] {
  const { pan } = card;
  const ofCard = SCHEMES[scheme].keepsEnds
    ? []
    : [blindIndexInput.bin(pan.slice(0, BIN_DIGITS)), blindIndexInput.lastFour(pan.slice(-LAST_DIGITS))];
  return [...ofCard, ...tags.map(blindIndexInput.tag)];
}
