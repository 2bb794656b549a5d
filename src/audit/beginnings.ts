import type { SigningKeys } from '../crypto/signing-key.ts';
import type { Database } from '../storage/database.ts';
import type { Chain, Head } from '../storage/journal.ts';
import { listBeginnings } from './checkpoint-store.ts';
import { formatChain } from './resumption.ts';
import {
  type BeginningStatement,
  fromHeadTuple,
  listPublicKeys,
  openStatement,
  type SignedStatement,
} from './statements.ts';

/** Where the records of each chain begin, after older ones were removed with evidence. */
export interface Beginnings {
  /** The last removed record of each chain, by `formatChain`. */
  readonly heads: ReadonlyMap<string, Head>;
  /** Records before this time were removed, Unix time in milliseconds; undefined when none were. */
  readonly before: number | undefined;
  /** When they were removed, ISO 8601; empty when none were. */
  readonly time: string;
  /** The signed statements about the removal, in their order. */
  readonly statements: readonly SignedStatement[];
}

/** The beginning of a log of which nothing was removed. */
export const NOTHING_REMOVED: Beginnings = { heads: new Map(), before: undefined, time: '', statements: [] };

/** The position after which a chain is read: 0 when no record of it was removed. */
export const beginningOf = ({ heads }: Beginnings, chain: Chain): number =>
  heads.get(formatChain(chain))?.sequence ?? 0;

/** Returns the beginning of the log, or `altered` when a statement about it was changed, added or removed. */
export async function loadBeginnings(
  database: Database,
  keys: Pick<SigningKeys, 'list'>,
): Promise<Beginnings | 'altered'> {
  const heads = new Map<string, Head>();
  let first: BeginningStatement | undefined;
  const statements: SignedStatement[] = [];
  for await (const signed of listBeginnings(database)) {
    // The keys are read only for a log that was pruned.
    const opened = openStatement(await listPublicKeys(keys), 'beginning', signed);
    if (typeof opened === 'string') return 'altered';
    first ??= opened;
    statements.push(signed);
    // Parts of different prunings do not belong together.
    if (opened.part !== statements.length || opened.time !== first.time || opened.parts !== first.parts)
      return 'altered';
    for (const head of opened.heads.map(fromHeadTuple)) heads.set(formatChain(head), head);
  }
  if (first === undefined) return NOTHING_REMOVED;
  return statements.length === first.parts && heads.size === first.chains
    ? { heads, before: Date.parse(first.before), time: first.time, statements }
    : 'altered';
}
