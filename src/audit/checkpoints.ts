import { hash } from 'node:crypto';
import type { SigningKeys } from '../crypto/signing-key.ts';
import { type Clock, formatIso8601 } from '../kernel/clock.ts';
import { type Explanation, explain } from '../kernel/reasons.ts';
import { type Database, text } from '../storage/database.ts';
import type { Head } from '../storage/journal.ts';
import { readRegister } from '../storage/lane-register.ts';
import { type Beginnings, beginningOf } from './beginnings.ts';
import { digestChainHeads, type Pace } from './chain-reader.ts';
import { findNewestCheckpoint, insertCheckpoint, listCheckpoints, type StoredCheckpoint } from './checkpoint-store.ts';
import { formatChain } from './resumption.ts';
import {
  type CheckpointStatement,
  fromHeadTuple,
  listPublicKeys,
  openStatement,
  type SignedStatement,
  signStatement,
  splitIntoParts,
  toHeadTuple,
} from './statements.ts';
import { locate } from './verify-journal.ts';

interface CheckpointParts {
  readonly database: Database;
  readonly journalKey: Parameters<typeof readRegister>[1];
  readonly signingKeys: SigningKeys;
  readonly clock: Clock;
}

/** Identifies the vault in signed statements: the hash of the first record of its log; '' when it is not known. */
export async function loadVaultId(database: Database, journalKey: CheckpointParts['journalKey']): Promise<string> {
  const register = await readRegister(database, journalKey);
  return typeof register === 'string' ? '' : (register.lanes[0]?.first ?? '');
}

export const hashStatement = (statement: string): string => hash('sha256', statement);

/**
 * Signs checkpoints: the heads of all chains at a time. They are stored in the database, and where the operator records
 * heads elsewhere. The first checkpoint of a process names all heads, a later one those that have changed since.
 */
export class CheckpointWriter {
  readonly #parts: CheckpointParts;
  readonly #onWritten: (checkpoints: readonly SignedStatement[]) => void;
  /** The sequence of each chain in the last checkpoint of this process. */
  readonly #named = new Map<string, number>();
  #newest = 0;

  /** `onWritten` is called once the checkpoints are stored. */
  constructor(parts: CheckpointParts, onWritten: (checkpoints: readonly SignedStatement[]) => void) {
    this.#parts = parts;
    this.#onWritten = onWritten;
  }

  /** Writes a checkpoint when the log has grown since the newest one, whichever node wrote that. */
  async write(): Promise<void> {
    const { database, clock } = this.#parts;
    const before = await findNewestCheckpoint(database);
    // Another node has written checkpoints: this process does not know which heads they name.
    if (before?.number !== this.#newest) this.#named.clear();
    const at = clock();
    const changed: Head[] = [];
    let records = 0;
    const { chains, digest } = await digestChainHeads(database, (head) => {
      records += head.sequence;
      if (this.#named.get(formatChain(head)) !== head.sequence) changed.push(head);
    });
    if (chains === 0 || (before !== undefined && readDigest(before) === digest)) return;
    const checkpoints = await this.#sign({ at, chains, records, digest, changed }, before);
    const { committed } = await database.commit({ writes: checkpoints.map(insertCheckpoint) });
    // Another node wrote one at the same time.
    if (!committed) return;
    for (const head of changed) this.#named.set(formatChain(head), head.sequence);
    this.#newest = checkpoints.at(-1)?.number ?? 0;
    this.#onWritten(checkpoints);
  }

  async #sign(
    found: Pick<CheckpointStatement, 'chains' | 'records' | 'digest'> & { at: number; changed: readonly Head[] },
    before: StoredCheckpoint | undefined,
  ): Promise<StoredCheckpoint[]> {
    const { database, journalKey, signingKeys } = this.#parts;
    const { at, changed, ...counts } = found;
    const vault = await loadVaultId(database, journalKey);
    const parts = splitIntoParts(changed);
    const checkpoints: StoredCheckpoint[] = [];
    for (const [index, heads] of parts.entries()) {
      const last = checkpoints.at(-1) ?? before;
      const number = (last?.number ?? 0) + 1;
      const signed = await signStatement(signingKeys, 'checkpoint', {
        vault,
        number,
        time: formatIso8601(at),
        ...counts,
        part: index + 1,
        parts: parts.length,
        previous: last === undefined ? '' : hashStatement(last.statement),
        heads: heads.map(toHeadTuple),
      });
      checkpoints.push({ ...signed, kind: 'checkpoint', number, at });
    }
    return checkpoints;
  }
}

/** Only compared: a statement that was altered leads to one more checkpoint. */
function readDigest({ statement }: StoredCheckpoint): string | undefined {
  try {
    return (JSON.parse(statement) as Partial<CheckpointStatement>).digest;
  } catch {
    return undefined;
  }
}

export interface CheckpointCheck {
  /** Number of checkpoints that the log contains. */
  readonly checkpoints: number;
  readonly fault?: Explanation;
}

const HASH = 'select hash from journal where account = ?account and lane = ? and sequence = ?';

interface CheckpointReading {
  /** Heads in checkpoints whose signed time is before this one were verified earlier. */
  readonly since?: number;
  /** Verify the heads of this account alone, '' for those of the service; absent: of all. */
  readonly account?: string | undefined;
  readonly pace?: Pace;
}

/**
 * Checks that the stored checkpoints are complete, that the vault signed them, and that an intact log contains every
 * head that they name. A removed newest checkpoint is found only by one that is stored elsewhere.
 */
export async function verifyCheckpoints(
  database: Database,
  signingKeys: Pick<SigningKeys, 'list'>,
  beginnings: Beginnings,
  { since = 0, account, pace = (_: number): Promise<void> => Promise.resolve() }: CheckpointReading = {},
): Promise<CheckpointCheck> {
  const keys = await listPublicKeys(signingKeys);
  let before: StoredCheckpoint | undefined;
  let checkpoints = 0;
  for await (const stored of listCheckpoints(database)) {
    const { number } = stored;
    const expected = (before?.number ?? number - 1) + 1;
    if (number !== expected) return { checkpoints, fault: explain('logCheckpointMissing', { number: expected }) };
    const opened = openStatement(keys, 'checkpoint', stored);
    const isNext = typeof opened !== 'string' && isOfRow(opened, stored) && follows(opened, before, beginnings);
    if (!isNext || typeof opened === 'string')
      return { checkpoints, fault: explain('logCheckpointChanged', { number }) };
    const heads = opened.heads.map(fromHeadTuple).filter((head) => account === undefined || head.account === account);
    const place = stored.at < since ? undefined : await findOtherHead(database, heads, beginnings);
    if (place !== undefined) return { checkpoints, fault: explain('logCheckpointHead', { place, number }) };
    await pace(heads.length);
    checkpoints++;
    before = stored;
  }
  return { checkpoints };
}

/** The columns are not signed, and an older time would skip the heads here and remove the row at the next pruning. */
const isOfRow = (opened: CheckpointStatement, { number, at }: StoredCheckpoint): boolean =>
  opened.number === number && Date.parse(opened.time) === at;

/** The first checkpoint has number 1, unless older ones were removed with the beginning of the log. */
function follows(
  { number, previous }: CheckpointStatement,
  before: StoredCheckpoint | undefined,
  { before: removedBefore }: Beginnings,
): boolean {
  if (before !== undefined) return previous === hashStatement(before.statement);
  return number === 1 ? previous === '' : removedBefore !== undefined;
}

/** Returns the place of a head that the log does not contain. */
async function findOtherHead(
  database: Database,
  heads: readonly Head[],
  beginnings: Beginnings,
): Promise<Explanation | undefined> {
  for (const head of heads) {
    const beginning = beginningOf(beginnings, head);
    if (head.sequence < beginning) continue;
    const isBeginning = head.sequence === beginning;
    const known = isBeginning ? beginnings.heads.get(formatChain(head))?.hash : await findHash(database, head);
    if (known !== head.hash) return locate(head, head.sequence);
  }
  return undefined;
}

async function findHash(database: Database, { account, lane, sequence }: Head): Promise<string | undefined> {
  const [row] = await database.read(HASH, account, lane, sequence);
  return row && text(row, 'hash');
}
