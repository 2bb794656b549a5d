import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { Command } from 'commander';
import type { Verification } from '../audit/verify-journal.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { checkBackup, isInUse } from '../storage/sqlite/check-file.ts';
import { type CliContext, CREATE_IF_MISSING, withCore } from './context.ts';
import type { CopyOptions } from './copy.ts';
import { printResult, UsageError } from './output.ts';

const ID_BYTES = 16;

/** Commands for the entire database. */
export function databaseCommands(program: Command, tools: CliContext): void {
  migrateCommand(program, tools);
  backupCommand(program, tools);
  restoreCommand(program, tools);
  copyCommand(program, tools);
}

function migrateCommand(program: Command, tools: CliContext): void {
  program
    .command('migrate')
    .description('upgrade the database schema; the service does this automatically when it starts')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withCore(
        tools,
        async ({ database }) => {
          const { schemaVersion } = await import('../storage/migrate.ts');
          const schema = await schemaVersion(database);
          printResult(tools, json, { schema }, `the database has schema ${schema}`);
        },
        CREATE_IF_MISSING,
      ),
    );
}

function backupCommand(program: Command, tools: CliContext): void {
  program
    .command('backup')
    .description('copy the database to a new file; the service may be running')
    .requiredOption('--to <file>', 'file to create')
    .option('--json', 'print JSON')
    .action(({ to, json }: { to: string; json?: boolean }) =>
      withCore(tools, async (core) => {
        const { database } = core;
        if (existsSync(to)) throw new UsageError(`--to: ${to} exists already; give the name of a new file`);
        if (tools.paths().database.kind === 'sqlite') {
          const { recordBackup } = await import('../audit/resumption.ts');
          await recordBackup(core, tools.operatorOrigin(), basename(to));
        }
        await database.backup(to);
        const reminder = `Keep the root key (${tools.paths().rootKey.file}) too, apart from it: without that key the copy cannot be read.`;
        printResult(tools, json, { file: to }, `copied to ${to}\n${reminder}`);
      }),
    );
}

interface RestoreOptions {
  readonly from: string;
  readonly force?: boolean;
  readonly keepOld?: string;
  readonly json?: boolean;
}

function restoreCommand(program: Command, tools: CliContext): void {
  program
    .command('restore')
    .description('replace the database with a backup; stop the service first')
    .requiredOption('--from <file>', 'file created by backup')
    .option('--force', 'delete the current database after the backup was verified')
    .option('--keep-old <folder>', 'folder to which the current database is moved instead')
    .option('--json', 'print JSON')
    .action(async (options: RestoreOptions) => {
      const { database } = tools.paths();
      if (database.kind !== 'sqlite')
        throw new UsageError('PostgreSQL is restored with its own tools; a SQLite file goes in by: cardvault copy');
      const { database: file, kept, audit } = await restore(options, database.file, tools);
      const { toVerificationView } = await import('../audit/verify-journal.ts');
      const lines = [
        `restored ${file}`,
        ...(kept === undefined ? [] : [`the old database is ${kept}`]),
        ...(audit.ok ? [] : [`its audit log is NOT in order: ${audit.fault}`]),
      ];
      printResult(
        tools,
        options.json,
        { database: file, ...(kept !== undefined && { kept }), audit: toVerificationView(audit) },
        lines.join('\n'),
      );
    });
}

interface RestoreResult {
  readonly database: string;
  /** The path that the old database was moved to. */
  readonly kept: string | undefined;
  readonly audit: Verification;
}

/** The present database is not changed before the backup has been opened with the root key and verified. */
async function restore(options: RestoreOptions, databaseFile: string, tools: CliContext): Promise<RestoreResult> {
  const { from, force = false, keepOld } = options;
  if (!existsSync(from)) throw new UsageError(`--from: there is no file ${from}`);
  assertNotInUse(databaseFile);
  const isPresent = existsSync(databaseFile);
  if (isPresent && !force && keepOld === undefined)
    throw new UsageError(`${databaseFile} exists; --force removes it, --keep-old moves it to a folder`);
  const { discardStaged, promoteStaged, stageBackup } = await import('../storage/sqlite/restore.ts');
  const staged = stageBackup(from, databaseFile);
  try {
    const fault = checkBackup(staged);
    if (fault !== undefined) throw new UsageError(`--from: ${from} is no intact backup: ${fault}`);
    const audit = await verifyStaged(staged, tools, basename(from));
    if (!audit.ok && isPresent && keepOld === undefined)
      throw new OperatorError(
        `the audit log of the backup is not in order: ${audit.fault}; ` +
          'nothing was changed; --keep-old restores it and keeps the present database',
      );
    const promotion = { keepOld, assertNotInUse: () => assertNotInUse(databaseFile) };
    return { database: databaseFile, kept: promoteStaged(staged, databaseFile, promotion), audit };
  } finally {
    discardStaged(staged);
  }
}

/**
 * Opens the staged backup with the root key, updates its schema, verifies its audit log, and records there that it
 * continues from here.
 */
async function verifyStaged(staged: string, tools: CliContext, what: string): Promise<Verification> {
  let audit: Verification | undefined;
  const [{ verifyJournal }, { recordResumption }] = await Promise.all([
    import('../audit/verify-journal.ts'),
    import('../audit/resumption.ts'),
  ]);
  const detail = { sha256: await sha256OfFile(staged) };
  await withCore(
    tools,
    async (core) => {
      audit = await verifyJournal(core.database, core.journalKey, { signingKeys: core.signingKeys });
      const id = Buffer.from(core.random.bytes(ID_BYTES)).toString('hex');
      await recordResumption(core, { action: 'vault.restored', origin: tools.operatorOrigin(), id, what, detail });
    },
    { databaseFile: staged },
  );
  if (audit === undefined) throw new Error('a backup was opened and not verified');
  return audit;
}

async function sha256OfFile(path: string): Promise<string> {
  const sha256 = createHash('sha256');
  for await (const chunk of createReadStream(path)) sha256.update(chunk as Buffer);
  return sha256.digest('hex');
}

function assertNotInUse(databaseFile: string): void {
  if (existsSync(databaseFile) && isInUse(databaseFile))
    throw new UsageError(`${databaseFile} is in use; stop the service first`);
}

function copyCommand(program: Command, tools: CliContext): void {
  program
    .command('copy')
    .description(
      'copy the vault to another database; stop the service first; repeat the command to resume an interrupted copy',
    )
    .requiredOption('--from <address>', 'address of the current database, as in CARDVAULT_DATABASE_URL')
    .requiredOption('--to <address>', 'address of the new database, which must be empty')
    .option('--force', 'skip the check that no PostgreSQL node was active within the last minute')
    .option('--as-backup', 'leave out the keys of security codes and track data, as a backup does')
    .option('--json', 'print JSON')
    .action(async (options: CopyOptions) => (await import('./copy.ts')).copy(tools, options));
}
