import { existsSync, statSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Origin } from '../audit/audit.ts';
import { DRAFT_SUFFIX } from '../crypto/age-file.ts';
import { syncDirectory } from '../crypto/secret-file.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import { HOUR } from '../kernel/clock.ts';
import type { Database } from '../storage/database.ts';
import { endBackup, listBackups, listPathOwners, type StoredBackup } from './backup-store.ts';
import { digestFile } from './create-backup.ts';

export interface RetentionDependencies {
  readonly database: Database;
  readonly transactions: Transactions;
}

export interface RemovedBackups {
  readonly removed: readonly StoredBackup[];
  /** Backups that were written into the folder, have not ended, and are not there, or have a newer one at their path. */
  readonly missing: readonly StoredBackup[];
}

/**
 * Removes the oldest encrypted backups of a folder beyond `keep`, and records each. Only files that this vault wrote there
 * are removed: with the name, the size and the digest that it recorded. A missing file is neither counted nor recorded as
 * removed, because the backup may live on: its file system may not be mounted now, or the file was moved before a newer backup
 * was written to its path. `backup end` records its end, also where a crash came between the removal of a file and its record.
 */
export async function removeOldBackups(
  core: RetentionDependencies,
  folder: string,
  keep: number,
  origin: Origin,
): Promise<RemovedBackups> {
  const recorded = await listBackups(core.database);
  const owners = listPathOwners(recorded);
  const here = recorded.filter(({ file, recipients }) => dirname(file) === folder && recipients.length > 0);
  const present = here.filter(({ id, file }) => owners.has(id) && existsSync(file));
  const removed: StoredBackup[] = [];
  for (const backup of present.slice(0, Math.max(0, present.length - keep))) {
    if (!(await isUnchanged(backup))) continue;
    await rm(backup.file, { force: true });
    syncDirectory(folder);
    await recordEnd(core, backup, 'removed', origin);
    removed.push(backup);
  }
  return { removed, missing: here.filter((backup) => !present.includes(backup)) };
}

/** True when the file is the one that was written; false also when it cannot be read: such a file stays, and hinders no other. */
async function isUnchanged({ file, bytes, sha256 }: StoredBackup): Promise<boolean> {
  try {
    return statSync(file).size === bytes && (await digestFile(file)).sha256 === sha256;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return false;
  }
}

/** Records that a backup exists no longer: keys that only it needs may then be destroyed. */
export const recordEnd = (
  { transactions }: RetentionDependencies,
  { id, file, sha256 }: StoredBackup,
  outcome: 'removed' | 'destroyed',
  origin: Origin,
): Promise<void> =>
  transactions.run({ origin }, (transaction) => {
    transaction.write(endBackup(id, transaction.now));
    const detail = { what: basename(file), sha256, how: outcome };
    transaction.record({
      action: 'backup.ended',
      outcome: 'success',
      account: '',
      environment: '',
      targets: [`backup:${id}`],
      detail,
    });
    return Promise.resolve();
  });

/** Removes drafts that a crash left in a folder; a draft that is being written changes within the hour. */
export async function removeAbandonedDrafts(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    if (!/\.[0-9a-f]{16}\.partial$/.test(name) || !name.endsWith(DRAFT_SUFFIX)) continue;
    if (now - statSync(path).mtimeMs > HOUR) await rm(path, { force: true });
  }
}
