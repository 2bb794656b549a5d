import { RULES } from './outcomes.ts';
import { TRIGGER_WORDS } from './triggers.ts';

/** Ends in acceptance; known so that no shorter word is read out of it. */
const ACCEPTING_WORDS = ['auto_inprogress_3ds2_autoaccept'];

const DECIDING_WORDS = RULES.flatMap(({ when }) => (when.by === 'words' ? when.words : []));

// The longest first: a word may contain others.
const ALL = [...ACCEPTING_WORDS, ...DECIDING_WORDS, ...TRIGGER_WORDS].sort((a, b) => b.length - a.length);

const WORD = new RegExp(`(?<=[_+])(?:${ALL.join('|')})(?=[_+]|$)`, 'g');

/**
 * The simulator's words in an e-mail address, in lower case: each stands in the local part after `_` or `+`, and ends
 * with the local part or before another of these. Other words mean nothing.
 */
export function wordsIn(email: string | undefined): readonly string[] {
  if (email === undefined) return [];
  const at = email.lastIndexOf('@');
  const local = at < 0 ? email : email.slice(0, at);
  return local.toLowerCase().match(WORD) ?? [];
}
