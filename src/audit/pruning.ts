import { createHash } from 'node:crypto';
import { createReadStream, existsSync, rmSync } from 'node:fs';
import { basename } from 'node:path';
import { DAY, formatIso8601 } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { commitOrThrow, type Database, integerOrNull, StorageError, write } from '../storage/database.ts';
import type { Head } from '../storage/journal.ts';
import { buildAuditEntry, type Origin } from './audit.ts';
import { loadBeginnings } from './beginnings.ts';
import { checkExport, type ExportCheck, type RemovedPart } from './check-export.ts';
import { deleteCheckpointsBefore, listBeginnings, replaceBeginnings } from './checkpoint-store.ts';
import { loadVaultId } from './checkpoints.ts';
import { type ChainCut, type ChainRange, type ExportParts, type WrittenContent, writeLogFile } from './export-file.ts';
import { measureLag } from './journal-tail.ts';
import { readLines } from './read-lines.ts';
import { formatChain } from './resumption.ts';
import type { ShippingTarget } from './shipping.ts';
import { listPublicKeys, type SignedStatement, signStatement, splitIntoParts, toHeadTuple } from './statements.ts';
import { verifyLog } from './verify-log.ts';

/**
 * Removes old records from the database, after they were written to a file and verified there. A signed statement about
 * the last removed record of each chain replaces them, so that the rest still verifies from there. The order makes every
 * step repeatable: the file is complete before the statement is stored, and the statement is stored before a record is
 * removed. The same command continues after a crash, because the file contains all that it needs.
 */
export interface PruningParts extends ExportParts {
  readonly origin: Origin;
  /** Receivers that must have the records before these are removed. */
  readonly receivers: readonly ShippingTarget[];
}

export interface Pruning {
  /** Records before this time are removed, Unix time in milliseconds. */
  readonly before: number;
  readonly file: string;
}

export interface PruningResult {
  /** Records in the file. */
  readonly records: number;
  readonly chains: number;
  readonly sha256: string;
  /** True when an earlier, interrupted run had written the file. */
  readonly isResumed: boolean;
}

/** Thrown with the reason why nothing is removed. */
export class PruningError extends OperatorError {
  override readonly name = 'PruningError';
  override readonly isUsageError: boolean;

  constructor(message: string, { isUsageError = true } = {}) {
    super(message);
    this.isUsageError = isUsageError;
  }
}

/** Deletes nothing: it fails where the role may not delete. */
const PROBE = "delete from journal where account = 0 and lane = 0 and record = 'probe'";
const DELETE = 'delete from journal where account = ?account and lane = ? and sequence <= ?';
const FIRST = 'select min(sequence) as first from journal where account = ?account and lane = ?';
const PERMISSION_DENIED = /42501/;

/** Throws unless the records remain for the time that the operator has set, which is never below 90 days. */
export function assertPrunable(before: number, now: number, retentionMs: number): void {
  const atHand = LIMITS.auditDaysAtHand;
  if (before > now - atHand * DAY)
    throw new PruningError(`--before: the last ${atHand} days of the audit log remain in the database`);
  if (before <= now - retentionMs) return;
  const newest = formatIso8601(now - retentionMs);
  throw new PruningError(`--before: CARDVAULT_AUDIT_RETENTION keeps the records since ${newest} in the database`);
}

export async function pruneLog(parts: PruningParts, pruning: Pruning): Promise<PruningResult> {
  const { database } = parts;
  await assertMayDelete(database);
  await assertSent(parts, pruning.before);
  // Old checkpoints are removed as well, and with them the evidence of what they contradict.
  const verified = await verifyLog(parts);
  if (!verified.ok)
    throw new PruningError(`nothing was removed, because the audit log does not verify: ${verified.fault}`, {
      isUsageError: false,
    });
  const isResumed = existsSync(pruning.file);
  if (!isResumed) await writeRemovedPart(parts, pruning);
  const check = await checkFile(parts, pruning);
  const removed = check.removed as RemovedPart;
  const sha256 = await hashFile(pruning.file);
  await replaceBeginning(parts, pruning, { check, removed, sha256 });
  for (const head of removed.heads) await deleteRecords(database, head);
  return { records: check.records, chains: removed.heads.length, sha256, isResumed };
}

async function assertMayDelete(database: Database): Promise<void> {
  try {
    await database.commit({ writes: [write(PROBE, [])] });
  } catch (error) {
    if (!(error instanceof StorageError) || !PERMISSION_DENIED.test(error.message)) throw error;
    throw new PruningError(
      'the role of CARDVAULT_DATABASE_URL may not delete from the journal; run this command with the role for pruning, see docs/operations.md',
    );
  }
}

/** Removed records are not sent any more. */
async function assertSent({ database, receivers }: PruningParts, before: number): Promise<void> {
  for (const target of receivers) {
    const { oldest } = await measureLag(database, target);
    if (oldest !== undefined && oldest < before)
      throw new PruningError(
        `--before: the receiver ${target} lacks records before this time; wait until they are sent`,
      );
  }
}

async function writeRemovedPart(parts: ExportParts, { before, file }: Pruning): Promise<void> {
  const cut: ChainCut = {
    isBefore: () => false,
    findEnd: ({ sequence }) => Promise.resolve(sequence),
    isBehind: ({ at }) => at >= before,
  };
  const content = { content: 'removed', scope: {}, account: undefined, cut } as const;
  const sign = (_: ExportParts, written: WrittenContent): Promise<readonly SignedStatement[]> =>
    signBeginning(parts, written, before);
  const { records } = await writeLogFile(parts, file, content, sign);
  if (records > 0) return;
  rmSync(file);
  throw new PruningError('--before: the database has no older records');
}

async function signBeginning(
  { signingKeys }: ExportParts,
  { vault, time, header, ranges }: WrittenContent,
  before: number,
): Promise<readonly SignedStatement[]> {
  const heads = ranges.map(({ end }: ChainRange) => end).filter(({ sequence }) => sequence > 0);
  const parts = splitIntoParts(heads);
  const signed: SignedStatement[] = [];
  for (const [index, part] of parts.entries()) {
    const numbered = { vault, time, header, part: index + 1, parts: parts.length };
    const content = { before: formatIso8601(before), chains: heads.length, heads: part.map(toHeadTuple) };
    signed.push(await signStatement(signingKeys, 'beginning', { ...numbered, ...content }));
  }
  return signed;
}

/** Verifies the file as an outsider would, and that it is the one of this pruning. */
async function checkFile(parts: ExportParts, { before, file }: Pruning): Promise<ExportCheck> {
  const { database, journalKey, signingKeys } = parts;
  const check = await checkExport(readLines(file), await listPublicKeys(signingKeys));
  if (!check.ok) throw new PruningError(`${file} does not verify at line ${check.line}: ${check.fault}`);
  const isSameVault = check.header?.vault === (await loadVaultId(database, journalKey));
  if (!isSameVault || check.removed === undefined || check.removed.before !== formatIso8601(before))
    throw new PruningError(`${file} exists and is not of this pruning; name another file`);
  return check;
}

interface CheckedFile {
  readonly check: ExportCheck;
  readonly removed: RemovedPart;
  readonly sha256: string;
}

async function replaceBeginning(
  { database, signingKeys, clock, origin }: PruningParts,
  { before, file }: Pruning,
  { check, removed, sha256 }: CheckedFile,
): Promise<void> {
  const present = await loadBeginnings(database, signingKeys);
  const heads = present === 'altered' ? [] : [...present.heads.values()];
  // An earlier run was interrupted while it removed the records.
  if (isSameHeads(heads, removed.heads)) return;
  if (present === 'altered' || !isSameHeads(heads, removed.starts))
    throw new PruningError(`${file} does not continue the records that were removed before; name another file`);
  const { value: first } = await listBeginnings(database).next();
  const detail = { what: basename(file), sha256, before: formatIso8601(before), records: check.records };
  const event = { action: 'audit.pruned', outcome: 'success', account: '', environment: '', detail } as const;
  const { committed } = await database.commit({
    writes: [...replaceBeginnings(first ?? undefined, removed.statements), deleteCheckpointsBefore(before)],
    journal: [buildAuditEntry(clock, origin, event)],
  });
  if (!committed) throw new PruningError('another command removes records at the same time', { isUsageError: false });
}

function isSameHeads(one: readonly Head[], other: readonly Head[]): boolean {
  const hashes = new Map(one.map((head) => [formatChain(head), head]));
  const isSame = (head: Head): boolean => {
    const found = hashes.get(formatChain(head));
    return found?.sequence === head.sequence && found.hash === head.hash;
  };
  return one.length === other.length && other.every(isSame);
}

/** In commits of a bounded size, so that the service is not held up. */
async function deleteRecords(database: Database, { account, lane, sequence }: Head): Promise<void> {
  for (;;) {
    const [row = {}] = await database.read(FIRST, account, lane);
    const first = integerOrNull(row, 'first');
    if (first === undefined || first > sequence) return;
    const last = Math.min(sequence, first + LIMITS.recordsPerPruning - 1);
    await commitOrThrow(database, { writes: [write(DELETE, [account, lane, last])] });
  }
}

async function hashFile(file: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) digest.update(chunk);
  return digest.digest('hex');
}
