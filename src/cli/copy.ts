import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { recordResumption } from '../audit/resumption.ts';
import { systemRandom } from '../crypto/random.ts';
import { formatIso8601, SECOND } from '../kernel/clock.ts';
import {
  assertNoSadKeys,
  beginCopy,
  CopyError,
  type CopyJob,
  compareHeads,
  compareRows,
  copyRows,
  copySadKeys,
  createSchema,
  finishCopy,
  hasCopyBegun,
  hasRecentActivity,
  identifySource,
  isSameDatabase,
  type Progress,
  type TableComparison,
} from '../storage/copy.ts';
import { StorageError } from '../storage/database.ts';
import type { OpenedDatabase } from '../storage/open.ts';
import { checkBackup, isInUse } from '../storage/sqlite/check-file.ts';
import type { Table } from '../storage/table.ts';
import { listCopiedTables } from '../tables.ts';
import type { CliContext } from './context.ts';
import { formatTable, printResult, UsageError } from './output.ts';

export interface CopyOptions {
  readonly from: string;
  readonly to: string;
  readonly force?: boolean;
  readonly asBackup?: boolean;
  readonly json?: boolean;
}

/** One side of a copy. */
interface Side {
  readonly what: 'source' | 'target';
  readonly address: string;
  /** Undefined for another kind than SQLite. */
  readonly file: string | undefined;
}

interface OpenSide extends Side {
  readonly opened: OpenedDatabase;
}

const SAME_DATABASE = '--from and --to are the same database';
const PROBE_BYTES = 16;

/** Copies the vault to another database. */
export async function copy(tools: CliContext, options: CopyOptions): Promise<void> {
  const startedAt = tools.clock();
  const copied = await listTables(tools);
  const [from, to] = [parseSide(tools, 'source', options.from), parseSide(tools, 'target', options.to)];
  // In JSON the error output contains nothing else than an error.
  if (options.json !== true) warnOfPasswords(tools, options);
  if (from.file === undefined ? from.address === to.address : from.file === to.file)
    throw new UsageError(SAME_DATABASE);
  assertFilesUsable(from, to);
  await withDatabase(tools, from, async (source) => {
    const vault = await identifySource(source.opened.database);
    await assertNoActiveNodes(source, options);
    await withDatabase(tools, to, async (target) => {
      const { database, clock } = target.opened;
      await createSchema(database, clock);
      await assertNoActiveNodes(target, options);
      const probe = Buffer.from(systemRandom().bytes(PROBE_BYTES)).toString('hex');
      if (await isSameDatabase(source.opened.database, database, probe)) throw new UsageError(SAME_DATABASE);
      // Before the rows are copied, so that source and target both contain the record and are equal.
      const isRecorded = (await hasCopyBegun(database)) || (await recordCopy(tools, source.opened, to));
      const finishedAt = await beginCopy(database, { source: vault, tables: copied }, clock());
      const run = { source, target, copied, startedAt, finishedAt };
      const tables = await moveRows(tools, run, options);
      const sadKeys = finishedAt === undefined ? await moveSadKeys(source, target, options) : 0;
      // Checked again: a node that used the source in the meantime may have changed what was compared already.
      await assertNoActiveNodes(source, options);
      await withAdvice(finishedAt, compareHeads(toJob(run, () => undefined)));
      await source.opened.database.close();
      assertFileNotInUse(source);
      if (finishedAt === undefined) await finishCopy(database, clock());
      const hasRecord = isRecorded || (await recordCopy(tools, target.opened, to));
      printCopyResult(tools, options, tables, {
        milliseconds: tools.clock() - startedAt,
        finishedAt,
        sadKeys,
        hasRecord,
      });
    });
  });
}

/**
 * False when the log of this database cannot be written: without its root key, or when the database accepts no writes.
 */
async function recordCopy(tools: CliContext, opened: OpenedDatabase, to: Side): Promise<boolean> {
  if (!(await tools.unlockJournal(opened))) return false;
  const id = Buffer.from(systemRandom().bytes(PROBE_BYTES)).toString('hex');
  const what = to.file === undefined ? 'PostgreSQL' : `SQLite ${basename(to.file)}`;
  const record = { action: 'vault.copied', origin: tools.operatorOrigin(), id, what } as const;
  try {
    await recordResumption(opened, record);
    return true;
  } catch (error) {
    if (error instanceof StorageError) return false;
    throw error;
  }
}

async function withDatabase(tools: CliContext, side: Side, act: (side: OpenSide) => Promise<void>): Promise<void> {
  const opened = await tools.openDatabase(side.address);
  try {
    await opened.connect();
    await act({ ...side, opened });
  } finally {
    await opened.database.close();
  }
}

interface CopyRun {
  readonly source: OpenSide;
  readonly target: OpenSide;
  /** The tables that are copied. */
  readonly copied: readonly Table[];
  /** The start of the command, and the time at which an earlier one finished the copy. */
  readonly startedAt: number;
  readonly finishedAt: number | undefined;
}

/** The tables of the console belong to the vault: a copy without them would lose its users. */
export async function listTables({ listConsoleTables }: CliContext): Promise<readonly Table[]> {
  if (listConsoleTables === undefined)
    throw new UsageError(
      'the console is not installed, so its tables cannot be copied; install it, and run the command again',
    );
  return listCopiedTables(await listConsoleTables());
}

const toJob = ({ source, target, copied }: CopyRun, progress: CopyJob['progress']): CopyJob => ({
  source: source.opened.database,
  target: target.opened.database,
  tables: copied,
  progress,
});

async function moveRows(tools: CliContext, run: CopyRun, { json }: CopyOptions): Promise<TableComparison[]> {
  const { startedAt, finishedAt } = run;
  const job = toJob(run, json === true ? () => undefined : createProgressReport(tools, startedAt));
  if (finishedAt === undefined) await copyRows(job);
  return withAdvice(finishedAt, compareRows(job));
}

async function moveSadKeys(source: OpenSide, target: OpenSide, { asBackup }: CopyOptions): Promise<number> {
  if (asBackup !== true) return copySadKeys(source.opened.sadKeys, target.opened.sadKeys);
  await assertNoSadKeys(target.opened.sadKeys);
  return 0;
}

function parseSide(tools: CliContext, what: Side['what'], address: string): Side {
  const option = what === 'source' ? '--from' : '--to';
  // The message does not repeat the argument, which may contain a password.
  if (!/^(sqlite:|postgres(ql)?:\/\/)./.test(address))
    throw new UsageError(`${option}: expected sqlite:PATH or postgres://…`);
  const path = /^sqlite:(.+)$/s.exec(address)?.[1];
  return { what, address, file: path === undefined ? undefined : resolve(tools.paths().dataDirectory, path) };
}

/** An address may contain a password, because the setting names one file for both databases. */
function warnOfPasswords(tools: CliContext, { from, to }: CopyOptions): void {
  const hasPassword = (address: string): boolean => /^postgres(ql)?:\/\/[^@/?#]*:[^@/?#]*@/.test(address);
  const named = [...(hasPassword(from) ? ['--from'] : []), ...(hasPassword(to) ? ['--to'] : [])];
  if (named.length === 0) return;
  tools.err(
    `warning: other users of this machine can read the password in ${named.join(' and ')} while the command runs; ` +
      'set CARDVAULT_DATABASE_PASSWORD_FILE, which applies to both addresses\n',
  );
}

/** Before anything is opened, because opening creates a missing file. */
function assertFilesUsable(from: Side, to: Side): void {
  if (from.file !== undefined && !existsSync(from.file)) throw new UsageError(`there is no vault at ${from.file}`);
  assertFileNotInUse(from);
  assertFileNotInUse(to);
  const fault = from.file === undefined ? undefined : checkBackup(from.file);
  if (fault !== undefined) throw new UsageError(`${from.file} cannot be copied: ${fault}`);
}

function assertFileNotInUse({ what, file }: Side): void {
  if (file !== undefined && existsSync(file) && isInUse(file))
    throw new UsageError(`the ${what} is in use; stop the service first: ${file}`);
}

async function assertNoActiveNodes({ what, opened }: OpenSide, { force }: CopyOptions): Promise<void> {
  if (!opened.isShared || force === true) return;
  if (!(await hasRecentActivity(opened.database, opened.clock()))) return;
  throw new UsageError(
    `the ${what} was used by a node within the last minute; ` +
      'stop them all and wait, or repeat with --force when they were killed',
  );
}

/** Adds what to do to the error of a comparison. */
const withAdvice = <Result>(finishedAt: number | undefined, comparison: Promise<Result>): Promise<Result> =>
  comparison.catch((error: unknown) => {
    throw error instanceof CopyError ? addAdvice(error, finishedAt) : error;
  });

function addAdvice(error: CopyError, finishedAt: number | undefined): CopyError {
  const advice =
    finishedAt === undefined
      ? [
          'the copy is not finished; the service refuses to open the target',
          'when the source was used after the copy began: stop what uses it, empty the target, and begin again',
        ]
      : [
          `the copy was finished at ${formatIso8601(finishedAt)}; one of them has been used since`,
          'nothing was changed now; go on with the one that was used',
        ];
  return new CopyError(error.message, { isUsageError: error.isUsageError, problems: [...error.problems, ...advice] });
}

const PROGRESS_DELAY_MS = 5 * SECOND;
const PROGRESS_INTERVAL_MS = 5 * SECOND;

/** Reports the progress periodically when the copy takes long. */
function createProgressReport(tools: CliContext, startedAt: number): (progress: Progress) => void {
  let next = startedAt + PROGRESS_DELAY_MS;
  return ({ table: name, step, rows }) => {
    const now = tools.clock();
    if (now < next) return;
    next = now + PROGRESS_INTERVAL_MS;
    tools.err(`${name}: ${rows} rows ${step}\n`);
  };
}

interface CopyResult {
  readonly milliseconds: number;
  /** Time at which an earlier run finished the copy. */
  readonly finishedAt: number | undefined;
  /** Number of keys of sensitive authentication data that were copied. */
  readonly sadKeys: number;
  /** The name of the copy in the audit log. */
  readonly hasRecord: boolean;
}

function printCopyResult(
  tools: CliContext,
  { json, asBackup }: CopyOptions,
  tables: readonly TableComparison[],
  { milliseconds, finishedAt, sadKeys, hasRecord }: CopyResult,
): void {
  const rows = tables.reduce((sum, each) => sum + each.rows, 0);
  const shown = tables.map((each) => [each.name, String(each.rows), each.sha256]);
  const done = finishedAt === undefined ? 'copied and compared' : `compared; copied until ${formatIso8601(finishedAt)}`;
  const lines = [
    formatTable(['TABLE', 'ROWS', 'SHA-256'], shown),
    '',
    `${rows} rows ${done}, in ${(milliseconds / SECOND).toFixed(1)} s`,
    asBackup === true
      ? 'keys of security codes and track data left out, as in a backup'
      : `${sadKeys} keys of security codes and track data copied`,
    ...(hasRecord ? [] : ['the audit log has no record of the copy: its root key is not configured here']),
    '',
    ...(asBackup === true ? NEXT_STEPS_FOR_BACKUP : nextSteps(tools)),
  ];
  const document = {
    tables,
    rows,
    milliseconds,
    copied: finishedAt === undefined,
    sad_keys: sadKeys,
    recorded: hasRecord,
  };
  printResult(tools, json, document, lines.join('\n'));
}

const NEXT_STEPS_FOR_BACKUP = [
  'What to do next:',
  '  1. Store the copy as safely as a backup, and the root key file apart from it.',
  '  2. Start the service again, with the database that it had.',
];

const nextSteps = ({ command }: CliContext): string[] => [
  'What to do next:',
  '  1. Leave the root key file unchanged: the same file opens the new database.',
  '  2. Set CARDVAULT_DATABASE_URL to the new database on every node.',
  `  3. ${command} audit verify`,
  '  4. Start the service. Never start it with the old database again: both would act on the same payments.',
  '  5. Store the old database as safely as a backup until the new one works and has a backup; then delete it',
  '     with its keys of security codes and track data.',
];
