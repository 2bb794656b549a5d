import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Manifest } from '../backup/manifest.ts';
import type { Identities } from '../crypto/age-file.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { checkBackup, isInUse } from '../storage/sqlite/check-file.ts';
import type { CliContext } from './context.ts';
import { printResult, UsageError } from './output.ts';
import { type ContinuedVault, describeRules, verifyRestored } from './verify-restored.ts';

interface RestoreOptions {
  readonly identity?: string;
  readonly force?: boolean;
  readonly keepOld?: string;
  readonly json?: boolean;
}

/** A backup with the keys that open it; undefined for a copy without encryption. */
interface BackupSource {
  readonly file: string;
  readonly identities: Identities | undefined;
}

export function restoreCommand(program: Command, tools: CliContext): void {
  program
    .command('restore')
    .description('restore a backup to the configured database; stop the service first')
    .argument('<file>', 'file created by backup')
    .option('--identity <file>', 'file with a private key of a recipient of the backup')
    .option('--force', 'SQLite: delete the current database after the backup was verified')
    .option('--keep-old <folder>', 'SQLite: folder to which the current database is moved instead')
    .option('--json', 'print JSON')
    .action(async (file: string, options: RestoreOptions) => {
      const source = await openSource(resolve(file), options.identity);
      const { database } = tools.paths();
      if (database.kind === 'sqlite') return restoreToFile(tools, source, database.file, options);
      const { restoreToPostgres } = await import('./restore-postgres.ts');
      return restoreToPostgres(tools, source, options);
    });
}

async function openSource(file: string, identity: string | undefined): Promise<BackupSource> {
  if (!existsSync(file)) throw new UsageError(`there is no file ${file}`);
  const [{ isEncrypted }, { readIdentities }] = await Promise.all([
    import('../backup/open-backup.ts'),
    import('../crypto/age-file.ts'),
  ]);
  if (!(await isEncrypted(file))) {
    if (identity !== undefined) throw new UsageError(`--identity: ${file} is not encrypted`);
    return { file, identities: undefined };
  }
  if (identity === undefined)
    throw new UsageError(`${file} is encrypted; name the file with a private key of a recipient: --identity FILE`);
  return { file, identities: await readIdentities(identity) };
}

async function restoreToFile(
  tools: CliContext,
  source: BackupSource,
  databaseFile: string,
  options: RestoreOptions,
): Promise<void> {
  const { kept, audit, rules } = await replaceExclusively(tools, source, databaseFile, options);
  const lines = [
    `restored ${databaseFile}`,
    ...(kept === undefined ? [] : [`the old database is ${kept}`]),
    ...describeRules(rules),
    ...(audit.ok ? [] : [`its audit log is NOT in order: ${audit.fault}`]),
  ];
  const { toVerificationView } = await import('../audit/verify-journal.ts');
  const view = {
    database: databaseFile,
    ...(kept !== undefined && { kept }),
    ...(rules > 0 && { retention_rules: rules }),
    audit: toVerificationView(audit),
  };
  printResult(tools, options.json, view, lines.join('\n'));
}

interface RestoreResult extends ContinuedVault {
  /** The path that the old database was moved to. */
  readonly kept: string | undefined;
}

/** Two restores at once would both write the file that takes the place of the database. */
async function replaceExclusively(
  tools: CliContext,
  source: BackupSource,
  databaseFile: string,
  options: RestoreOptions,
): Promise<RestoreResult> {
  const [{ createDatabaseFolder }, { runExclusively }] = await Promise.all([
    import('../storage/sqlite/restore.ts'),
    import('../storage/sqlite/run-exclusively.ts'),
  ]);
  createDatabaseFolder(databaseFile);
  const busy = `another command restores ${databaseFile}; repeat this one when it has ended`;
  return runExclusively(`${databaseFile}.lock`, busy, () => replaceFile(tools, source, databaseFile, options));
}

/** The present database is not changed before the backup has been opened with the root key and verified. */
async function replaceFile(
  tools: CliContext,
  { file, identities }: BackupSource,
  databaseFile: string,
  { force = false, keepOld }: RestoreOptions,
): Promise<RestoreResult> {
  assertNotInUse(databaseFile);
  const isPresent = existsSync(databaseFile);
  if (isPresent && !force && keepOld === undefined)
    throw new UsageError(`${databaseFile} exists; --force removes it, --keep-old moves it to a folder`);
  const { discardStaged, promoteStaged } = await import('../storage/sqlite/restore.ts');
  const { staged, manifest } = await stage(file, identities, databaseFile);
  try {
    const fault = checkBackup(staged);
    if (fault !== undefined) throw new UsageError(`${file} is no intact backup: ${fault}`);
    const source = file === remainderOf(databaseFile) ? undefined : { file, manifest };
    const continued = await verifyRestored(staged, tools, file, source);
    const { audit } = continued;
    if (!audit.ok && isPresent && keepOld === undefined)
      throw new OperatorError(
        `the audit log of the backup is not in order: ${audit.fault}; ` +
          'nothing was changed; --keep-old restores it and keeps the present database',
      );
    const promotion = { keepOld, assertNotInUse: () => assertNotInUse(databaseFile) };
    return { kept: promoteStaged(staged, databaseFile, promotion), ...continued };
  } finally {
    discardStaged(staged);
  }
}

/**
 * Returns where an interrupted restore leaves its verified database. That file is no backup: it contains the row of the
 * one that it came from, and the restore that completes it removes it.
 */
const remainderOf = (databaseFile: string): string => `${databaseFile}.restored`;

interface StagedBackup {
  /** The path of the database. */
  readonly staged: string;
  /** Undefined for a copy without encryption. */
  readonly manifest: Manifest | undefined;
}

/** Copies or decrypts the backup durably into the folder of the database. */
async function stage(file: string, identities: Identities | undefined, databaseFile: string): Promise<StagedBackup> {
  const { prepareStaged, stageBackup } = await import('../storage/sqlite/restore.ts');
  if (identities === undefined) return { staged: stageBackup(file, databaseFile), manifest: undefined };
  const { extractBackup } = await import('../backup/open-backup.ts');
  const staged = prepareStaged(databaseFile);
  return { staged, manifest: await extractBackup(file, identities, staged) };
}

function assertNotInUse(databaseFile: string): void {
  if (existsSync(databaseFile) && isInUse(databaseFile))
    throw new UsageError(`${databaseFile} is in use; stop the service first`);
}
