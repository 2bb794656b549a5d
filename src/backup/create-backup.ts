import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Origin } from '../audit/audit.ts';
import { recordBackup } from '../audit/resumption.ts';
import { nameDraft, newDraftName, type Recipients, type WrittenAgeFile, writeAgeFile } from '../crypto/age-file.ts';
import { syncDirectory } from '../crypto/secret-file.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Database } from '../storage/database.ts';
import { inspectDatabaseFile } from '../storage/sqlite/inspect-file.ts';
import { createTemporaryFolder } from '../storage/sqlite/temporary-folder.ts';
import { VERSION } from '../version.ts';
import { BackupError, packArchive } from './archive.ts';
import { insertBackup, type StoredBackup } from './backup-store.ts';
import type { Manifest } from './manifest.ts';

const ID_BYTES = 10;
const SNAPSHOT = 'snapshot.db';
const USER_ONLY_FILE = 0o600;

export interface BackupDependencies {
  readonly database: Database;
  readonly transactions: Transactions;
  readonly clock: Clock;
  readonly random: Random;
  /** Check value of the root key of the vault. */
  readonly rootKeyCheck: string;
  /** Writes the vault as it is at one moment to a new SQLite file. */
  writeSnapshot(path: string): Promise<void>;
}

export interface BackupOptions {
  readonly file: string;
  /** Undefined for a copy without encryption. */
  readonly recipients: Recipients | undefined;
  /** Folder in which the snapshot exists until it is encrypted. */
  readonly temporaryFolder: string;
  readonly source: Manifest['source'];
  readonly origin: Origin;
}

export interface CreatedBackup {
  readonly stored: StoredBackup;
  readonly manifest: Manifest;
}

/**
 * Writes a backup of a vault that may be in use. The file gets its name after it was synced, read again and compared with
 * the snapshot. A crash leaves no file of that name, and a snapshot that the next start removes.
 */
export async function createBackup(core: BackupDependencies, options: BackupOptions): Promise<CreatedBackup> {
  const { clock, random } = core;
  if (existsSync(options.file)) throw new BackupError(`${options.file} exists already; give the name of a new file`);
  const id = `bkp_${Buffer.from(random.bytes(ID_BYTES)).toString('hex')}`;
  const createdAt = clock();
  // Before the snapshot, so that the backup contains the record.
  await recordBackup(core, options.origin, basename(options.file));
  const folder = createTemporaryFolder(options.temporaryFolder, id);
  try {
    const snapshot = join(folder.path, SNAPSHOT);
    await core.writeSnapshot(snapshot);
    const facts = inspectDatabaseFile(snapshot);
    const database = await digestFile(snapshot);
    const { rootKeyCheck: rootKey } = core;
    const manifest: Manifest = {
      ...facts,
      id,
      createdAt,
      cardvault: VERSION,
      source: options.source,
      rootKey,
      database,
    };
    const { bytes, sha256 } =
      options.recipients === undefined
        ? await writePlain(snapshot, options.file, database)
        : await writeEncrypted(snapshot, options.file, manifest, options.recipients);
    const stored: StoredBackup = {
      ...{ id, createdAt, file: options.file, bytes, sha256, rootKey },
      ...{ recipients: options.recipients ?? [], drilledAt: undefined, drillFault: undefined, endedAt: undefined },
    };
    await recordVerified(core, options.origin, { stored, manifest });
    return { stored, manifest };
  } finally {
    folder.remove();
  }
}

const writeEncrypted = (
  snapshot: string,
  path: string,
  manifest: Manifest,
  recipients: Recipients,
): Promise<WrittenAgeFile> => writeAgeFile({ path, recipients, content: packArchive(manifest, snapshot) });

/** Copies the snapshot for its user only, reads the copy again, and gives it its name. A crash leaves a draft or the complete file. */
async function writePlain(
  snapshot: string,
  path: string,
  expected: Manifest['database'],
): Promise<{ bytes: number; sha256: string }> {
  const draft = newDraftName(path);
  const target = await open(draft, 'wx', USER_ONLY_FILE);
  try {
    try {
      await target.writeFile(createReadStream(snapshot, { highWaterMark: LIMITS.backupChunkBytes }));
      await target.sync();
    } finally {
      await target.close();
    }
    const written = await digestFile(draft);
    if (written.sha256 !== expected.sha256)
      throw new BackupError(`${draft} does not contain what was written; the disk may be damaged`);
    if (!(await nameDraft(draft, path))) throw new BackupError(`${path} exists already; give the name of a new file`);
    return written;
  } finally {
    await rm(draft, { force: true });
    syncDirectory(dirname(path));
  }
}

/** Returns the size and the hexadecimal SHA-256 of a file. */
export async function digestFile(path: string): Promise<{ bytes: number; sha256: string }> {
  const sha256 = createHash('sha256');
  const { size } = await stat(path);
  for await (const chunk of createReadStream(path, { highWaterMark: LIMITS.backupChunkBytes }))
    sha256.update(chunk as Buffer);
  return { bytes: size, sha256: sha256.digest('hex') };
}

/** The row and the record are one unit: rotation of keys relies on the row. */
const recordVerified = (core: BackupDependencies, origin: Origin, { stored, manifest }: CreatedBackup): Promise<void> =>
  core.transactions.run({ origin }, (transaction) => {
    transaction.write(insertBackup(stored));
    transaction.record({
      action: 'backup.verified',
      outcome: 'success',
      account: '',
      environment: '',
      targets: [`backup:${stored.id}`],
      detail: {
        what: basename(stored.file),
        bytes: stored.bytes,
        sha256: stored.sha256,
        root_key: stored.rootKey,
        recipients: stored.recipients,
        rows: Object.values(manifest.rows).reduce((sum, rows) => sum + rows, 0),
        log_records: manifest.log.records,
        log_heads: manifest.log.sha256,
      },
    });
    return Promise.resolve();
  });
