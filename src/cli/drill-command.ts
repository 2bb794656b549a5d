import { existsSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { StoredBackup } from '../backup/backup-store.ts';
import { type DrillCheck, type RestoredVault, runCheck, type SealOptions } from '../backup/drill.ts';
import type { Identities } from '../crypto/age-file.ts';
import { systemRandom } from '../crypto/random.ts';
import { formatIso8601 } from '../kernel/clock.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { type CliContext, type Core, withCore } from './context.ts';
import { invalidOption } from './options.ts';
import { EXIT, formatTable, printResult, UsageError } from './output.ts';

interface DrillOptions {
  readonly from?: string;
  readonly identity?: string;
  readonly sample?: number;
  readonly unrecorded?: boolean;
  readonly json?: boolean;
}

const MAX_SAMPLE = 1_000_000;

const parseSample = (text: string): number => {
  const rows = /^[0-9]{1,7}$/.test(text) ? Number(text) : 0;
  return rows >= 1 && rows <= MAX_SAMPLE ? rows : invalidOption(`expected 1 to ${MAX_SAMPLE}`);
};

/** Restores the newest backup elsewhere, checks what it contains, and records the result in the live vault. */
export function drillCommand(program: Command, tools: CliContext, exit: (code: number) => void): void {
  program
    .command('drill')
    .description('restore the newest backup in a temporary folder and check it; the exit code is 1 if it has a fault')
    .option('--identity <file>', 'file with a private key of a recipient of the backup; only without it: a plain copy')
    .option(
      '--from <path>',
      'the backup, or a folder with encrypted backups; default: the newest one that was recorded',
    )
    .option('--sample <rows>', 'rows of each table to open; default: all', parseSample)
    .option('--unrecorded', 'for a machine without the vault: use its root key alone, and record nothing')
    .option('--json', 'print JSON')
    .action(async (options: DrillOptions) => {
      const isOk = options.unrecorded === true ? await drillAlone(tools, options) : await drillBeside(tools, options);
      if (!isOk) exit(EXIT.failed);
    });
}

/** Drills with the root key of the vault, and records the result there. Returns false for a fault. */
async function drillBeside(tools: CliContext, options: DrillOptions): Promise<boolean> {
  let isOk = false;
  await withCore(tools, async (core) => {
    const identities = await readIdentityOption(options);
    const { listBackups } = await import('../backup/backup-store.ts');
    const recorded = await listBackups(core.database);
    const file = await selectBackup(recorded, options, identities);
    const report = await drill(tools, core, { file, identities, sample: options.sample, recorded });
    await record(tools, core, recorded, report);
    print(tools, options, report);
    isOk = report.ok;
  });
  return isOk;
}

/** Drills where there is no vault, but its root key. */
async function drillAlone(tools: CliContext, options: DrillOptions): Promise<boolean> {
  const identities = await readIdentityOption(options);
  if (options.from === undefined) throw new UsageError('--from: required with --unrecorded');
  const file = await selectFrom(options.from, identities);
  const report = await drill(tools, undefined, { file, identities, sample: options.sample, recorded: [] });
  print(tools, options, report);
  return report.ok;
}

/** Undefined for a drill of a copy without encryption. */
const readIdentityOption = async ({ identity }: DrillOptions): Promise<Identities | undefined> =>
  identity === undefined ? undefined : (await import('../crypto/age-file.ts')).readIdentities(identity);

/** A backup that could be read. */
interface ReadBackup {
  /** Undefined for a copy without encryption that this vault has not recorded: such a file does not name itself. */
  readonly identity: { readonly id: string; readonly createdAt: number; readonly rootKey: string } | undefined;
  /** Number of rows by table. */
  readonly rows: Readonly<Record<string, number>>;
}

interface DrillReport {
  readonly file: string;
  /** Undefined when the backup could not be read. */
  readonly backup: ReadBackup | undefined;
  readonly ok: boolean;
  readonly checks: readonly DrillCheck[];
  readonly milliseconds: number;
  /** The first fault; empty for none. */
  readonly fault: string;
}

/**
 * Throws a usage error when the file is encrypted and no identity was given. With an identity, a file that does not begin as
 * an encrypted one is damaged, which is a result of the drill.
 */
async function assertReadable(file: string, identities: Identities | undefined): Promise<string> {
  const { isEncrypted } = await import('../backup/open-backup.ts');
  if (identities === undefined && (await isEncrypted(file)))
    throw new UsageError(`--identity: required, because ${file} is encrypted; name a private key of a recipient`);
  return file;
}

async function selectBackup(
  recorded: readonly StoredBackup[],
  { from }: DrillOptions,
  identities: Identities | undefined,
): Promise<string> {
  if (from === undefined) {
    const newest = recorded.findLast(({ recipients }) => identities === undefined || recipients.length > 0);
    if (newest === undefined)
      throw new UsageError(
        `--from: no ${identities === undefined ? '' : 'encrypted '}backup was recorded; name one, or create it: cardvault backup`,
      );
    if (!existsSync(newest.file))
      throw new OperatorError(`the newest backup is not there: ${newest.file}; name a copy of it with --from`);
    return assertReadable(newest.file, identities);
  }
  return selectFrom(from, identities);
}

async function selectFrom(from: string, identities: Identities | undefined): Promise<string> {
  const path = resolve(from);
  if (!existsSync(path)) throw new UsageError(`--from: there is no file ${path}`);
  if (!statSync(path).isDirectory()) return assertReadable(path, identities);
  if (identities === undefined)
    throw new UsageError('--identity: required for a folder; name a copy without encryption itself');
  return findNewestInFolder(path, identities);
}

/** The manifest decides, because a copy of a file has another time. A file that cannot be opened is a fault. */
async function findNewestInFolder(folder: string, identities: Identities): Promise<string> {
  const { readManifest } = await import('../backup/open-backup.ts');
  let newest: { file: string; createdAt: number } | undefined;
  for (const name of (await readdir(folder)).filter((each) => each.endsWith('.age'))) {
    const file = join(folder, name);
    const { createdAt } = await readManifest(file, identities);
    if (newest === undefined || createdAt > newest.createdAt) newest = { file, createdAt };
  }
  if (newest === undefined) throw new UsageError(`--from: ${folder} contains no file that ends in .age`);
  return newest.file;
}

interface DrillRun {
  readonly file: string;
  readonly identities: Identities | undefined;
  readonly sample: number | undefined;
  /** The backups that the live vault knows. */
  readonly recorded: readonly StoredBackup[];
}

const NAME_BYTES = 8;

async function drill(tools: CliContext, live: Core | undefined, run: DrillRun): Promise<DrillReport> {
  const { file, sample } = run;
  const startedAt = tools.clock();
  const { createTemporaryFolder, temporaryFolderOf } = await import('../storage/sqlite/temporary-folder.ts');
  const name = `drill_${Buffer.from(systemRandom().bytes(NAME_BYTES)).toString('hex')}`;
  const folder = createTemporaryFolder(temporaryFolderOf(tools.paths().dataDirectory), name);
  try {
    const database = join(folder.path, 'cardvault.db');
    let backup: ReadBackup | undefined;
    const extract = await runCheck('extract', tools.clock, async () => {
      backup = await readBackup(run, database);
      return { count: Object.values(backup.rows).reduce((sum, rows) => sum + rows, 0) };
    });
    const checks =
      backup === undefined ? [extract] : [extract, ...(await openAndCheck(tools, live, { database, backup, sample }))];
    const fault = checks.find(({ ok }) => !ok)?.fault ?? '';
    return { file, backup, ok: fault === '', checks, milliseconds: tools.clock() - startedAt, fault };
  } finally {
    folder.remove();
  }
}

/** A copy without encryption has no manifest: the vault that wrote it has recorded its digest. */
async function readBackup({ file, identities, recorded }: DrillRun, target: string): Promise<ReadBackup> {
  const [{ copyPlainBackup, extractBackup }, { digestFile }] = await Promise.all([
    import('../backup/open-backup.ts'),
    import('../backup/create-backup.ts'),
  ]);
  if (identities !== undefined) {
    const manifest = await extractBackup(file, identities, target);
    return { identity: manifest, rows: manifest.rows };
  }
  const atPath = recorded.findLast((each) => each.file === file);
  const { sha256 } = await digestFile(file);
  const known = recorded.find((each) => each.sha256 === sha256) ?? atPath;
  const { rows } = await copyPlainBackup(file, target, known?.sha256);
  return { identity: known, rows };
}

interface ExtractedBackup {
  readonly database: string;
  readonly backup: ReadBackup;
  readonly sample: number | undefined;
}

/** Opens the restored database with the root key of this vault, and runs the checks that need it. */
async function openAndCheck(
  tools: CliContext,
  live: Core | undefined,
  { database: databaseFile, backup, sample }: ExtractedBackup,
): Promise<DrillCheck[]> {
  const { clock } = tools;
  const checks: DrillCheck[] = [];
  const sadKeys = backup.rows['sad_keys'] ?? 0;
  checks.push(
    await runCheck('sad-keys', clock, () =>
      Promise.resolve({ count: sadKeys, ...(sadKeys > 0 && { fault: 'it contains keys of security codes' }) }),
    ),
  );
  const [{ MAC_TABLES }, { listRotatedColumns }] = await Promise.all([
    import('../accounts/mac-tables.ts'),
    import('../tables.ts'),
  ]);
  const { sealed: columns } = await listRotatedColumns(tools.listRotatedConsoleColumns);
  const seals = { columns, macs: MAC_TABLES, rows: backup.rows, sample };
  const open = await runCheck('open', clock, async () => {
    const rootKey = backup.identity?.rootKey;
    if (live !== undefined && rootKey !== undefined && rootKey !== live.rootKeyCheck)
      return {
        count: 0,
        fault: `it needs the root key with check value ${rootKey}; this vault has ${live.rootKeyCheck}`,
      };
    await withCore(
      tools,
      async (restored) => {
        checks.push(...(await checkVault(restored, clock, seals)));
      },
      live === undefined ? { databaseFile } : { databaseFile, roots: { root: live.root, previous: undefined } },
    );
    return { count: 1 };
  });
  return [open, ...checks];
}

async function checkVault(vault: RestoredVault, clock: () => number, options: SealOptions): Promise<DrillCheck[]> {
  const { checkKeys, checkLog, checkSeals } = await import('../backup/drill.ts');
  return [
    await runCheck('keys', clock, () => checkKeys(vault)),
    await runCheck('seals', clock, () => checkSeals(vault, options)),
    await runCheck('log', clock, () => checkLog(vault)),
  ];
}

/**
 * The row of a backup that this vault does not know is added, so that its drill counts. The fault of a file that could not be
 * read, and is not the one that was written, belongs to the newest backup that was written to its path.
 */
async function record(
  tools: CliContext,
  core: Core,
  recorded: readonly StoredBackup[],
  report: DrillReport,
): Promise<void> {
  const [{ insertBackup, updateDrill }, { digestFile }] = await Promise.all([
    import('../backup/backup-store.ts'),
    import('../backup/create-backup.ts'),
  ]);
  const { file, backup, fault, checks } = report;
  const digest = await digestFile(file);
  const origin = tools.operatorOrigin();
  // A file with the digest that was recorded is whole: the identity was the wrong one, or this machine failed.
  const owner = recorded.findLast((each) => each.file === file);
  const damaged = owner?.sha256 === digest.sha256 ? undefined : owner?.id;
  const id = backup === undefined ? damaged : backup.identity?.id;
  await core.transactions.run({ origin }, (transaction) => {
    if (backup?.identity !== undefined) {
      const { createdAt, rootKey } = backup.identity;
      const unknown = { drilledAt: undefined, drillFault: undefined, endedAt: undefined };
      const row = { id: backup.identity.id, createdAt, file, ...digest, recipients: [], rootKey, ...unknown };
      transaction.write(insertBackup(row));
    }
    if (id !== undefined) transaction.write(updateDrill(id, transaction.now, fault));
    transaction.record({
      action: 'backup.drilled',
      outcome: report.ok ? 'success' : 'failed',
      account: '',
      environment: '',
      ...(id !== undefined && { targets: [`backup:${id}`] }),
      detail: {
        what: basename(file),
        sha256: digest.sha256,
        ...(fault !== '' && { fault }),
        checks: checks.map(({ name, count, ok }) => `${name} ${count} ${ok ? 'ok' : 'failed'}`),
        milliseconds: report.milliseconds,
      },
    });
    return Promise.resolve();
  });
}

function print(tools: CliContext, { json, sample }: DrillOptions, report: DrillReport): void {
  const { file, backup, ok, checks, milliseconds, fault } = report;
  const identity = backup?.identity;
  const created = identity && formatIso8601(identity.createdAt);
  const document = {
    ...{ ok, file, id: identity?.id ?? null, created_at: created ?? null, root_key: identity?.rootKey ?? null },
    ...{ sample: sample ?? null, checks, milliseconds, fault: fault === '' ? null : fault },
  };
  const rows = checks.map((each) => [
    each.name,
    each.ok ? 'ok' : 'FAILED',
    String(each.count),
    `${(each.milliseconds / 1000).toFixed(1)} s`,
    each.fault,
  ]);
  const lines = [
    `${file}${created === undefined ? '' : `, of ${created}`}`,
    formatTable(['CHECK', 'RESULT', 'COUNT', 'TIME', 'FAULT'], rows),
    ok ? 'the backup can be restored' : `the backup has a FAULT: ${fault}`,
  ];
  printResult(tools, json, document, lines.join('\n'));
}
