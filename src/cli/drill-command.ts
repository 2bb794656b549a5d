import { existsSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { type DrillCheck, type RestoredVault, runCheck, type SealOptions } from '../backup/drill.ts';
import type { Manifest } from '../backup/manifest.ts';
import type { Identities } from '../crypto/age-file.ts';
import { systemRandom } from '../crypto/random.ts';
import { formatIso8601 } from '../kernel/clock.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { type CliContext, type Core, withCore } from './context.ts';
import { invalidOption } from './options.ts';
import { EXIT, formatTable, printResult, UsageError } from './output.ts';

interface DrillOptions {
  readonly from?: string;
  readonly identity: string;
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
    .requiredOption('--identity <file>', 'file with a private key of a recipient of the backup')
    .option('--from <path>', 'the backup, or a folder with backups; default: the newest one that was recorded')
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
    const { readIdentities } = await import('../crypto/age-file.ts');
    const identities = await readIdentities(options.identity);
    const file = await selectBackup(core, options, identities);
    const report = await drill(tools, core, { file, identities, sample: options.sample });
    await record(tools, core, report);
    print(tools, options, report);
    isOk = report.ok;
  });
  return isOk;
}

/** Drills where there is no vault, but its root key. */
async function drillAlone(tools: CliContext, options: DrillOptions): Promise<boolean> {
  const { readIdentities } = await import('../crypto/age-file.ts');
  const identities = await readIdentities(options.identity);
  if (options.from === undefined) throw new UsageError('--from: required with --unrecorded');
  const file = await selectFrom(options.from, identities);
  const report = await drill(tools, undefined, { file, identities, sample: options.sample });
  print(tools, options, report);
  return report.ok;
}

interface DrillReport {
  readonly file: string;
  /** Undefined when the backup could not be decrypted. */
  readonly manifest: Manifest | undefined;
  readonly ok: boolean;
  readonly checks: readonly DrillCheck[];
  readonly milliseconds: number;
  /** The first fault; empty for none. */
  readonly fault: string;
}

async function selectBackup({ database }: Core, { from }: DrillOptions, identities: Identities): Promise<string> {
  if (from === undefined) {
    const { listBackups } = await import('../backup/backup-store.ts');
    const newest = (await listBackups(database)).findLast(({ recipients }) => recipients.length > 0);
    if (newest === undefined)
      throw new UsageError('--from: no encrypted backup was recorded; name one, or create it: cardvault backup');
    if (!existsSync(newest.file))
      throw new OperatorError(`the newest backup is not there: ${newest.file}; name a copy of it with --from`);
    return newest.file;
  }
  return selectFrom(from, identities);
}

async function selectFrom(from: string, identities: Identities): Promise<string> {
  const path = resolve(from);
  if (!existsSync(path)) throw new UsageError(`--from: there is no file ${path}`);
  if (!statSync(path).isDirectory()) return path;
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
  readonly identities: Identities;
  readonly sample: number | undefined;
}

const NAME_BYTES = 8;

async function drill(
  tools: CliContext,
  live: Core | undefined,
  { file, identities, sample }: DrillRun,
): Promise<DrillReport> {
  const startedAt = tools.clock();
  const [{ extractBackup }, { createTemporaryFolder, temporaryFolderOf }] = await Promise.all([
    import('../backup/open-backup.ts'),
    import('../storage/sqlite/temporary-folder.ts'),
  ]);
  const name = `drill_${Buffer.from(systemRandom().bytes(NAME_BYTES)).toString('hex')}`;
  const folder = createTemporaryFolder(temporaryFolderOf(tools.paths().dataDirectory), name);
  try {
    const database = join(folder.path, 'cardvault.db');
    let manifest: Manifest | undefined;
    const extract = await runCheck('extract', tools.clock, async () => {
      manifest = await extractBackup(file, identities, database);
      return { count: Object.values(manifest.rows).reduce((sum, rows) => sum + rows, 0) };
    });
    const checks =
      manifest === undefined
        ? [extract]
        : [extract, ...(await openAndCheck(tools, live, { database, manifest, sample }))];
    const fault = checks.find(({ ok }) => !ok)?.fault ?? '';
    return { file, manifest, ok: fault === '', checks, milliseconds: tools.clock() - startedAt, fault };
  } finally {
    folder.remove();
  }
}

interface ExtractedBackup {
  readonly database: string;
  readonly manifest: Manifest;
  readonly sample: number | undefined;
}

/** Opens the restored database with the root key of this vault, and runs the checks that need it. */
async function openAndCheck(
  tools: CliContext,
  live: Core | undefined,
  { database: databaseFile, manifest, sample }: ExtractedBackup,
): Promise<DrillCheck[]> {
  const { clock } = tools;
  const checks: DrillCheck[] = [];
  const sadKeys = manifest.rows['sad_keys'] ?? 0;
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
  const seals = { columns, macs: MAC_TABLES, rows: manifest.rows, sample };
  const open = await runCheck('open', clock, async () => {
    const { rootKey } = manifest;
    if (live !== undefined && rootKey !== live.rootKeyCheck)
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

/** The row of a backup that this vault does not know is added, so that its drill counts. */
async function record(tools: CliContext, core: Core, report: DrillReport): Promise<void> {
  const [{ insertBackup, updateDrill }, { digestFile }] = await Promise.all([
    import('../backup/backup-store.ts'),
    import('../backup/create-backup.ts'),
  ]);
  const { file, manifest, fault, checks } = report;
  const digest = await digestFile(file);
  const origin = tools.operatorOrigin();
  await core.transactions.run({ origin }, (transaction) => {
    if (manifest !== undefined) {
      const { id, createdAt, rootKey } = manifest;
      const unknown = { drilledAt: undefined, drillFault: undefined, endedAt: undefined };
      transaction.write(insertBackup({ id, createdAt, file, ...digest, recipients: [], rootKey, ...unknown }));
      transaction.write(updateDrill(id, transaction.now, fault));
    }
    transaction.record({
      action: 'backup.drilled',
      outcome: report.ok ? 'success' : 'failed',
      account: '',
      environment: '',
      ...(manifest !== undefined && { targets: [`backup:${manifest.id}`] }),
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
  const { file, manifest, ok, checks, milliseconds, fault } = report;
  const created = manifest && formatIso8601(manifest.createdAt);
  const document = {
    ...{ ok, file, id: manifest?.id ?? null, created_at: created ?? null, root_key: manifest?.rootKey ?? null },
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
