import { existsSync, statSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Origin } from '../audit/audit.ts';
import { DRAFT_SUFFIX } from '../crypto/age-file.ts';
import { syncDirectory } from '../crypto/secret-file.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import { HOUR } from '../kernel/clock.ts';
import type { Database } from '../storage/database.ts';
import { endBackup, listBackups, type StoredBackup } from './backup-store.ts';

export interface RetentionDependencies {
  readonly database: Database;
  readonly transactions: Transactions;
}

/**
 * Removes the oldest encrypted backups of a folder beyond `keep`, and records each. Only files that this vault wrote there
 * are removed: with the name and the size that it recorded. Returns what was removed.
 */
export async function removeOldBackups(
  core: RetentionDependencies,
  folder: string,
  keep: number,
  origin: Origin,
): Promise<StoredBackup[]> {
  const here = (await listBackups(core.database)).filter(
    ({ file, recipients }) => dirname(file) === folder && recipients.length > 0,
  );
  const old = here.slice(0, Math.max(0, here.length - keep)).filter(isUnchanged);
  for (const backup of old) {
    await rm(backup.file, { force: true });
    syncDirectory(folder);
    await recordEnd(core, backup, 'removed', origin);
  }
  return old;
}

/** True also for a file that is gone already, which a crash after its removal left unrecorded. */
const isUnchanged = ({ file, bytes }: StoredBackup): boolean => !existsSync(file) || statSync(file).size === bytes;

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
