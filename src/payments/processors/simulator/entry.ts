import { HOUR, SECOND } from '../../../kernel/clock.ts';
import type { Money } from '../../../kernel/money.ts';
import type { Reason } from '../../transitions.ts';
import type { LateChange } from './outcomes.ts';
import { type Fault, type Move, nextFault } from './triggers.ts';

/**
 * The simulator's books, as rules: how a payment stands at a time, and what a capture, refund or void makes of it. What
 * changes late is computed from the time, never written, so that a restart changes nothing. Pure.
 */

const LATE_MS = 5 * SECOND;
const LATE_NEWS_MS = 20 * SECOND;

/** News are told again until somebody asks after the payment: whoever took them may have crashed. */
const AGAIN_MS = 10 * SECOND;
const GIVEN_UP_MS = HOUR;

/** An authorization or payment in the books. It holds nothing of the card. */
export interface Entry {
  /** The caller's. */
  readonly key: string;
  /** Ours: what the processor calls it. */
  readonly reference: string;
  /** As first decided; `closed`: the key was given up before anything came. */
  readonly verdict: 'approved' | 'opened' | 'refused' | 'closed' | LateChange;
  /** Of `refused`. */
  readonly reason: Reason | undefined;
  readonly amount: Money;
  readonly sale: boolean;
  /** By a capture; undefined when there was none, as of a sale. */
  readonly captured: bigint | undefined;
  readonly refunded: bigint;
  readonly undone: boolean;
  /** Words that matter later (`triggers.ts`). */
  readonly behaviour: readonly string[];
  /** When news are told next. */
  readonly newsAt: number | undefined;
  readonly createdAt: number;
  readonly revision: number;
}

type Started = Pick<Entry, 'key' | 'reference' | 'verdict' | 'amount' | 'sale' | 'createdAt'> &
  Partial<Pick<Entry, 'reason' | 'behaviour'>>;

export const newEntry = (started: Started): Entry => {
  const untouched = { captured: undefined, refunded: 0n, undone: false, newsAt: undefined, revision: 1 };
  return { reason: undefined, behaviour: [], ...untouched, ...started };
};

/** A capture, refund or void in the books, refused ones too. */
export interface Movement {
  readonly key: string;
  readonly reference: string;
  /** Key of the authorization or payment. */
  readonly payment: string;
  readonly move: Move;
  readonly amount: Money;
  /** `undone`: given up after it was done; `closed`: before it came. */
  readonly verdict: 'approved' | 'refused' | 'undone' | 'closed';
  readonly reason: Reason | undefined;
}

export type Standing =
  | { readonly kind: 'absent' }
  | { readonly kind: 'opened' }
  | { readonly kind: 'authorized'; readonly captured: bigint }
  | { readonly kind: 'reversed' }
  | { readonly kind: 'refused'; readonly reason: Reason };

/** How the payment stands, late changes included. */
export function standingOf(entry: Entry, now: number): Standing {
  if (entry.verdict === 'closed') return { kind: 'absent' };
  if (entry.undone) return { kind: 'reversed' };
  return grown(entry, now >= changesAt(entry));
}

/** As it was when its request came: what the first answer told. */
export const firstStanding = (entry: Entry): Standing =>
  entry.verdict === 'closed' ? { kind: 'absent' } : grown({ ...entry, captured: undefined }, false);

function grown(entry: Entry, isLate: boolean): Standing {
  const captured = entry.captured ?? (entry.sale ? entry.amount.minor : 0n);
  const authorized: Standing = { kind: 'authorized', captured };
  switch (entry.verdict) {
    case 'late_accept':
    case 'silent_accept':
      return isLate ? authorized : { kind: 'opened' };
    case 'late_reject':
      return isLate ? { kind: 'refused', reason: 'Rejected' } : { kind: 'opened' };
    case 'late_failure':
      // What is captured no longer fails.
      return isLate && captured === 0n ? { kind: 'refused', reason: 'Rejected' } : authorized;
    case 'opened':
      return { kind: 'opened' };
    case 'refused':
      return { kind: 'refused', reason: entry.reason ?? 'Undefined' };
    default:
      return authorized;
  }
}

const changesAt = ({ createdAt }: Entry): number => createdAt + LATE_MS;

/** When news are told for the first time; undefined for what does not change, or in silence. */
export function firstNewsAt(entry: Entry): number | undefined {
  const { verdict, sale, behaviour } = entry;
  if (verdict !== 'late_accept' && verdict !== 'late_reject' && (verdict !== 'late_failure' || sale)) return undefined;
  return changesAt(entry) + (behaviour.includes('late_news') ? LATE_NEWS_MS : 0);
}

/** Were the news told at least once, and do they still wait for somebody who asks? */
export const isTold = (entry: Entry): boolean => entry.newsAt !== undefined && entry.newsAt !== firstNewsAt(entry);

/** When they are told after now; less and less often, and undefined in the end. */
export function nextNewsAt(entry: Entry, now: number): number | undefined {
  const since = now - (firstNewsAt(entry) ?? now);
  return since < GIVEN_UP_MS ? now + Math.max(AGAIN_MS, since) : undefined;
}

/** What a request for a capture, refund or void leads to. */
interface Plan {
  /** What the books have under its key from now on; undefined: nothing, it never arrived. */
  readonly booked: Pick<Movement, 'verdict' | 'reason'> | undefined;
  /** The payment after it; the same object when it does not change. */
  readonly after: Entry;
  readonly answer: 'given' | 'none' | 'not-sent';
}

export function planOf(entry: Entry, move: Move, amount: Money, now: number): Plan {
  const { fault, behaviour } = nextFault(entry.behaviour, move);
  const before = behaviour === entry.behaviour ? entry : { ...entry, behaviour };
  if (fault === 'lost') return { booked: undefined, after: before, answer: 'none' };
  if (fault === 'unsent') return { booked: undefined, after: before, answer: 'not-sent' };
  const answer = fault === 'timeout' ? 'none' : 'given';
  const after = refusalBy(fault) ?? moved(before, move, amount, now);
  if (typeof after !== 'string') return { booked: { verdict: 'approved', reason: undefined }, after, answer };
  return { booked: { verdict: 'refused', reason: after }, after: before, answer };
}

function refusalBy(fault: Fault | undefined): Reason | undefined {
  if (fault === 'decline') return 'Rejected';
  return fault === 'error' ? 'Undefined' : undefined;
}

/** The payment after the move, or why there is none. */
function moved(entry: Entry, move: Move, amount: Money, now: number): Entry | Reason {
  const standing = standingOf(entry, now);
  if (move === 'void') {
    if (standing.kind === 'reversed') return entry;
    const isHeld = standing.kind === 'opened' || (standing.kind === 'authorized' && standing.captured === 0n);
    return isHeld ? changed(entry, now, { undone: true }) : 'InvalidData';
  }
  const { minor, currency } = amount;
  if (standing.kind !== 'authorized' || minor <= 0n || currency !== entry.amount.currency) return 'InvalidData';
  if (move === 'capture') {
    const fits = standing.captured === 0n && minor <= entry.amount.minor;
    return fits ? changed(entry, now, { captured: minor }) : 'InvalidData';
  }
  const refunded = entry.refunded + minor;
  return refunded <= standing.captured ? changed(entry, now, { refunded }) : 'InvalidData';
}

/** Whatever touches a payment before its late change keeps that from happening, and the news of it. */
function changed(entry: Entry, now: number, by: Partial<Entry>): Entry {
  return { ...entry, ...by, newsAt: now < changesAt(entry) ? undefined : entry.newsAt };
}

/** The payment when it is given up whole, captures and refunds with it; undefined when nothing of it is left anyway. */
export function abandoned(entry: Entry, now: number): Entry | undefined {
  const { kind } = standingOf(entry, now);
  return kind === 'opened' || kind === 'authorized' ? changed(entry, now, { undone: true }) : undefined;
}

/** The payment without that capture or refund; undefined when later ones stand on it. */
export function without(entry: Entry, { move, amount }: Movement): Entry | undefined {
  if (move === 'refund') return { ...entry, refunded: entry.refunded - amount.minor };
  return entry.refunded === 0n && !entry.undone ? { ...entry, captured: undefined } : undefined;
}
