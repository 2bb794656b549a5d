import { RULES } from './outcomes.ts';

/**
 * The words of an e-mail: those that decide about a payment (`outcomes.ts`), and those that make it behave badly later.
 * Closed tables: what is remembered, what is read and what is documented derive from them. Pure.
 */

/** What can go wrong with a capture, refund or void. */
export const FAULTS = {
  timeout: 'booked, and never answered',
  lost: 'not booked, and never answered',
  decline: 'Declined / Rejected',
  error: 'ProcessorError / Undefined',
  unsent: 'the connection is refused: surely not sent',
} as const;
export type Fault = keyof typeof FAULTS;

export const MOVES = ['capture', 'refund', 'void'] as const;
export type Move = (typeof MOVES)[number];

/** What is done about operations whose outcome is unknown; its one fault is to get no answer. */
export const QUESTIONS = ['inquiry', 'abandon'] as const;
export type Question = (typeof QUESTIONS)[number];

/** Without it a fault meets the first request of its kind only, so that recovery comes to an end. */
const ALWAYS = '_always';

export const NEWS_WORDS = {
  duplicate_news: 'the news of a late change come twice',
  late_news: 'the news of a late change come 20 s after it',
} as const;

/** Followed by `_` and milliseconds. */
export const WAITS = {
  delay: 'the authorization is booked at once and answered after so long',
  arrival: 'the authorization arrives, and is booked, after so long, also when nobody waits for it any more',
} as const;

export const MAX_WAIT_MS = 10_000;

const FAULT_WORDS = [
  ...MOVES.flatMap((move) => Object.keys(FAULTS).map((fault) => `${move}_${fault}`)),
  ...QUESTIONS.map((question) => `${question}_timeout`),
].flatMap((word) => [word, `${word}${ALWAYS}`]);

const REMEMBERED = [...FAULT_WORDS, ...Object.keys(NEWS_WORDS)];

const TRIGGER_WORDS: readonly string[] = [
  ...REMEMBERED,
  // As patterns: up to four digits are below the maximum.
  ...Object.keys(WAITS).map((wait) => `${wait}_(?:[0-9]{1,4}|${MAX_WAIT_MS})`),
];

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

/** Those that the books keep with the payment, in the order of the e-mail. */
export const remembered = (words: readonly string[]): string[] => words.filter((word) => REMEMBERED.includes(word));

/** Milliseconds; 0 without such a word. */
export function waitOf(words: readonly string[], wait: keyof typeof WAITS): number {
  const found = words.find((word) => word.startsWith(`${wait}_`));
  return found === undefined ? 0 : Number(found.slice(wait.length + 1));
}

/** The fault that the next request of this kind meets, and what is remembered after it. */
export function nextFault(
  behaviour: readonly string[],
  kind: Move | Question,
): { readonly fault: Fault | undefined; readonly behaviour: readonly string[] } {
  const at = behaviour.findIndex((each) => each.startsWith(`${kind}_`));
  const word = behaviour[at];
  if (word === undefined) return { fault: undefined, behaviour };
  const fault = word.split('_')[1] as Fault;
  return { fault, behaviour: word.endsWith(ALWAYS) ? behaviour : behaviour.toSpliced(at, 1) };
}
