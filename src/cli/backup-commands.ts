import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { StoredBackup } from '../backup/backup-store.ts';
import type { BackupDependencies, CreatedBackup } from '../backup/create-backup.ts';
import type { RemovedBackups } from '../backup/retention.ts';
import type { Recipients } from '../crypto/age-file.ts';
import { formatIso8601, formatIso8601OrNull } from '../kernel/clock.ts';
import type { Table } from '../storage/table.ts';
import { type CliContext, withCore } from './context.ts';
import { drillCommand } from './drill-command.ts';
import { formatTable, printResult, UsageError } from './output.ts';

interface BackupOptions {
  readonly recipient?: readonly string[];
  readonly recipientsFile?: string;
  readonly plain?: boolean;
  readonly json?: boolean;
}

/**
 * Commands for backups and their drills. The parser gives `--json` of a subcommand to `backup`, which has it as well.
 * `exit`: called with the exit code of a drill that found a fault.
 */
export function backupCommands(program: Command, tools: CliContext, exit: (code: number) => void): void {
  const backup = program
    .command('backup')
    .description('write an encrypted backup to a new file; the service may be running')
    .argument('<file>', 'file to create')
    .option('--recipient <age1>', 'public key that can open the backup; may be repeated', collect)
    .option('--recipients-file <file>', 'file with public keys, one a line')
    .option('--plain', 'write a copy of the database without encryption instead; its records stay sealed')
    .option('--json', 'print JSON')
    .action((file: string, options: BackupOptions) => createBackup(tools, resolve(file), options));
  backup
    .command('list')
    .description('list the backups that have not ended, the oldest first')
    .argument('[folder]', 'only those in this folder, and further files there')
    .option('--json', 'print JSON')
    .action((folder: string | undefined, _: unknown, command: Command) =>
      listBackups(tools, folder, command.optsWithGlobals()),
    );
  backup
    .command('end')
    .description('record that every copy of a backup was destroyed, so that keys that only it needs may be')
    .argument('<id>', 'id of the backup')
    .option('--json', 'print JSON')
    .action((id: string, _: unknown, command: Command) => endBackup(tools, id, command.optsWithGlobals()));
  drillCommand(program, tools, exit);
}

const collect = (text: string, before: readonly string[] = []): string[] => [...before, text];

/** Returns undefined for a copy without encryption. Recipients of options replace those of the setting. */
async function resolveRecipients(tools: CliContext, options: BackupOptions): Promise<Recipients | undefined> {
  const { recipient = [], recipientsFile, plain } = options;
  if (plain === true) {
    if (recipient.length > 0 || recipientsFile !== undefined)
      throw new UsageError('--plain: cannot be combined with recipients');
    return undefined;
  }
  const { parseRecipients, readRecipientsFile } = await import('../crypto/age-file.ts');
  const ofFile = recipientsFile === undefined ? [] : await readRecipientsFile(recipientsFile);
  const given = [...recipient, ...ofFile];
  if (given.length > 0)
    return parseRecipients(given, recipientsFile === undefined ? '--recipient' : `--recipient, ${recipientsFile}`);
  const configured = tools.paths().backupRecipients;
  if (configured.length > 0) return parseRecipients(configured, 'CARDVAULT_BACKUP_RECIPIENTS');
  throw new UsageError(
    '--recipient: name a public key (age1…) that can open the backup; --plain writes a copy without encryption',
  );
}

/** Over PostgreSQL the tables of the console are copied with the others; SQLite copies its file. */
async function listSnapshotTables(tools: CliContext): Promise<readonly Table[]> {
  if (tools.paths().database.kind === 'sqlite') return [];
  return (await import('./copy.ts')).listTables(tools);
}

async function createBackup(tools: CliContext, file: string, options: BackupOptions): Promise<void> {
  if (existsSync(file)) throw new UsageError(`${file} exists already; give the name of a new file`);
  const recipients = await resolveRecipients(tools, options);
  if (!existsSync(dirname(file))) throw new UsageError(`there is no folder ${dirname(file)}`);
  const tables = await listSnapshotTables(tools);
  const { database, dataDirectory, backupKeep } = tools.paths();
  await withCore(tools, async (core) => {
    const [create, retention, { temporaryFolderOf }] = await Promise.all([
      import('../backup/create-backup.ts'),
      import('../backup/retention.ts'),
      import('../storage/sqlite/temporary-folder.ts'),
    ]);
    await retention.removeAbandonedDrafts(dirname(file), tools.clock());
    const dependencies: BackupDependencies = { ...core, writeSnapshot: (path) => core.writeSnapshot(path, tables) };
    const created = await create.createBackup(dependencies, {
      file,
      recipients,
      temporaryFolder: temporaryFolderOf(dataDirectory),
      source: database.kind,
      origin: tools.operatorOrigin(),
    });
    const isRotated = backupKeep > 0 && recipients !== undefined;
    const { removed, missing }: RemovedBackups = isRotated
      ? await retention.removeOldBackups(core, dirname(file), backupKeep, tools.operatorOrigin())
      : { removed: [], missing: [] };
    printBackup(
      tools,
      options,
      created,
      removed.map((each) => each.file),
    );
    const [first] = missing;
    if (first !== undefined) tools.err(`${describeMissing(missing.length, first)}\n`);
  });
}

const describeMissing = (count: number, { id, file }: StoredBackup): string =>
  `warning: ${count} recorded ${count === 1 ? 'backup is' : 'backups are'} missing in ${dirname(file)}, first ${file}` +
  `${existsSync(file) ? ', where a newer backup is' : ''}: ` +
  `mount its file system; when every copy of it was destroyed, run: cardvault backup end ${id}`;

function printBackup(
  tools: CliContext,
  { json }: BackupOptions,
  { stored, manifest }: CreatedBackup,
  removed: readonly string[],
): void {
  const { id, file, bytes, sha256, recipients, createdAt, rootKey } = stored;
  const rows = Object.values(manifest.rows).reduce((sum, each) => sum + each, 0);
  const isPlain = recipients.length === 0;
  const document = {
    ...{ id, file, created_at: formatIso8601(createdAt), bytes, sha256, recipients, rows },
    ...{ log_records: manifest.log.records, root_key: rootKey, verified: true, removed },
  };
  const lines = [
    isPlain
      ? `copied to ${file}, without encryption`
      : `backed up to ${file}, encrypted for ${recipients.length} ${recipients.length === 1 ? 'key' : 'keys'}`,
    `verified: ${rows} rows, ${manifest.log.records} audit records, ${bytes} bytes, SHA-256 ${sha256}`,
    ...removed.map((old) => `removed ${old}`),
    `Keep the root key (${tools.paths().rootKey.file}, check value ${rootKey}) too, apart from it: without that key the backup cannot be read.`,
    ...(isPlain
      ? []
      : ['Keep a private key of a recipient, apart from both. Practice: cardvault drill --identity FILE']),
  ];
  printResult(tools, json, document, lines.join('\n'));
}

/** A backup in a list: recorded by this vault, or a file that it does not know. */
interface ListedBackup {
  readonly id: string | null;
  readonly file: string;
  readonly created_at: string | null;
  readonly bytes: number | null;
  readonly root_key: string | null;
  readonly drilled_at: string | null;
  readonly drill_fault: string | null;
  /** False when there is no file of this name now, or a newer backup was written to its path. */
  readonly present: boolean;
}

function listBackups(tools: CliContext, folder: string | undefined, { json }: { json?: boolean }): Promise<void> {
  return withCore(tools, async ({ database }) => {
    const [store, { readdir }] = await Promise.all([import('../backup/backup-store.ts'), import('node:fs/promises')]);
    const within = folder === undefined ? undefined : resolve(folder);
    if (within !== undefined && !existsSync(within)) throw new UsageError(`there is no folder ${within}`);
    const all = await store.listBackups(database);
    const owners = store.listPathOwners(all);
    const recorded = all.filter(({ file }) => within === undefined || dirname(file) === within);
    const known = new Set(recorded.map(({ file }) => file));
    const others = within === undefined ? [] : (await readdir(within)).filter((name) => name.endsWith('.age'));
    const listed: ListedBackup[] = [
      ...recorded.map((each) => ({
        id: each.id,
        file: each.file,
        created_at: formatIso8601(each.createdAt),
        bytes: each.bytes,
        root_key: each.rootKey,
        drilled_at: formatIso8601OrNull(each.drilledAt),
        drill_fault: each.drillFault || null,
        present: owners.has(each.id) && existsSync(each.file),
      })),
      ...others
        .map((name) => join(within ?? '', name))
        .filter((file) => !known.has(file))
        .map((file) => ({ ...UNKNOWN, file, present: true })),
    ];
    const rows = listed.map((each) => [
      each.id ?? '-',
      each.created_at ?? 'not recorded',
      each.bytes === null ? '-' : String(each.bytes),
      describeDrill(each),
      each.present ? each.file : `${each.file} (not there)`,
    ]);
    printResult(tools, json, listed, formatTable(['ID', 'CREATED', 'BYTES', 'DRILLED', 'FILE'], rows));
  });
}

const UNKNOWN = {
  id: null,
  created_at: null,
  bytes: null,
  root_key: null,
  drilled_at: null,
  drill_fault: null,
} as const;

const describeDrill = ({ drilled_at, drill_fault }: ListedBackup): string => {
  if (drilled_at === null) return 'never';
  return drill_fault === null ? drilled_at : `${drilled_at}, with a fault`;
};

function endBackup(tools: CliContext, id: string, { json }: { json?: boolean }): Promise<void> {
  return withCore(tools, async (core) => {
    const [store, { recordEnd }] = await Promise.all([
      import('../backup/backup-store.ts'),
      import('../backup/retention.ts'),
    ]);
    const backup = await store.findBackup(core.database, id);
    if (backup === undefined || backup.endedAt !== undefined)
      throw new UsageError('there is no such backup that has not ended; see: cardvault backup list');
    const owners = store.listPathOwners(await store.listBackups(core.database));
    if (owners.has(id) && existsSync(backup.file)) throw new UsageError(`${backup.file} still exists; delete it first`);
    await recordEnd(core, backup, 'destroyed', tools.operatorOrigin());
    printResult(tools, json, { id, file: backup.file, ended: true }, `recorded that ${id} was destroyed`);
  });
}
