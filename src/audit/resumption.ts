import { type Clock, formatIso8601 } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { commitOrThrow, type Database, type Write } from '../storage/database.ts';
import type { Chain, ChainedRecord } from '../storage/journal.ts';
import { type AuditEvent, type AuditRecord, buildAuditEntry, type Origin } from './audit.ts';
import { listChainHeads } from './chain-reader.ts';

/**
 * A position where the log continues from an older state of itself: the vault was restored from a backup, or copied.
 * Its record names the end of every chain at that moment. A head that was recorded elsewhere before it, and is behind
 * such an end, was lost with the state that was replaced; any other head that is missing in the log was removed.
 */
type ResumptionAction = 'vault.restored' | 'vault.copied';

export interface Resumption {
  readonly action: ResumptionAction;
  readonly at: number;
  readonly lane: number;
  readonly sequence: number;
  readonly operator: string;
  /** The backup that was restored, or the target of the copy. */
  readonly what: string;
  /** The sequence with which each chain ended, by `formatChain`. A chain that is not named had not started. */
  readonly ends: ReadonlyMap<string, number>;
}

export const formatChain = ({ account, lane }: Chain): string => `${account}/${lane}`;

/** One record can contain a limited number of chain ends; records that belong together share an id. */
const ENDS_PER_RECORD = LIMITS.chainEndsPerRecord;

interface ResumptionOptions {
  readonly action: ResumptionAction;
  readonly origin: Origin;
  /** Identifies the records that belong together. */
  readonly id: string;
  /** The backup that was restored, or the target of the copy. */
  readonly what: string;
  readonly detail?: Readonly<Record<string, string>>;
  /** Changes that a restore makes, with their records: none of them exists without the record of the restore. */
  readonly writes?: readonly Write[];
  readonly events?: readonly AuditEvent[];
}

/** Records a restore or a copy in the log that continues from here, with the end of each of its chains. */
export async function recordResumption(
  { database, clock }: { database: Database; clock: Clock },
  { action, origin, id, what, detail, writes = [], events = [] }: ResumptionOptions,
): Promise<void> {
  const ends: string[] = [];
  for await (const { account, lane, sequence, hash } of listChainHeads(database))
    ends.push(`${formatChain({ account, lane })} ${sequence} ${hash}`);
  const parts = Math.max(1, Math.ceil(ends.length / ENDS_PER_RECORD));
  const journal = Array.from({ length: parts }, (_, index) =>
    buildAuditEntry(clock, origin, {
      action,
      outcome: 'success',
      account: '',
      environment: '',
      detail: {
        ...detail,
        what,
        id,
        part: index + 1,
        parts,
        ends: ends.slice(index * ENDS_PER_RECORD, (index + 1) * ENDS_PER_RECORD),
      },
    }),
  );
  const ofChanges = events.map((event) => buildAuditEntry(clock, origin, event));
  await commitOrThrow(database, { writes, journal: [...journal, ...ofChanges] });
}

export const isResumption = ({ account, record }: ChainedRecord): boolean =>
  account === '' && /^\{"action":"vault\.(restored|copied)"/.test(record);

/** Reads records whose chain was verified; no others. */
export function parseResumptions(links: readonly ChainedRecord[]): Resumption[] {
  const found = new Map<string, Resumption & { readonly ends: Map<string, number> }>();
  for (const { at, lane, sequence, record } of links) {
    const { action, actor, detail = {} } = JSON.parse(record) as AuditRecord;
    const id = `${action} ${detail['id']}`;
    const resumption = found.get(id) ?? {
      action: action as ResumptionAction,
      at,
      lane,
      sequence,
      operator: actor.name ?? '',
      what: String(detail['what']),
      ends: new Map<string, number>(),
    };
    found.set(id, resumption);
    for (const end of detail['ends'] as readonly string[]) {
      const [name = '', last = '0'] = end.split(' ');
      resumption.ends.set(name, Number(last));
    }
  }
  return [...found.values()];
}

/** Records that the database is copied, before the copy starts: the copy contains the record. */
export const recordBackup = ({ database, clock }: { database: Database; clock: Clock }, origin: Origin, file: string) =>
  commitOrThrow(database, {
    writes: [],
    journal: [
      buildAuditEntry(clock, origin, {
        action: 'vault.backed-up',
        outcome: 'success',
        account: '',
        environment: '',
        detail: { what: file },
      }),
    ],
  });

/** The resumption as a member of JSON output. */
export const toResumptionView = ({ action, at, lane, sequence, operator, what }: Resumption) => ({
  action,
  time: formatIso8601(at),
  operator,
  what,
  lane,
  sequence,
});

/** The resumption as one line for operators. */
export const describeResumption = ({ action, at, operator, what }: Resumption): string =>
  `${action === 'vault.restored' ? 'restored from the backup' : 'copied to'} ${what} at ${formatIso8601(at)} by ${operator}`;
