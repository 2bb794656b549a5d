import { type Database, integerOrNull } from '../storage/database.ts';
import type { StoredBackup } from './backup-store.ts';
import { digestFile } from './create-backup.ts';
import type { Manifest } from './manifest.ts';

/** The file from which a vault is restored. */
export interface RestoredFrom {
  readonly file: string;
  /** Undefined for a copy without encryption, which has none. */
  readonly manifest: Manifest | undefined;
}

interface RestoredVault {
  readonly database: Database;
  /** Check value of the root key that opens the vault. */
  readonly rootKeyCheck: string;
  readonly clock: () => number;
}

const ID_DIGITS = 20;
const NEWEST_RECORD = 'select max(at) as at from journal';

/**
 * Returns the row of the backup from which a vault is restored. The database in a backup lacks it, because it is
 * written after the snapshot; without it the vault would not know that this backup needs keys. Recipients are unknown,
 * because the header of the file does not name them.
 */
export async function describeRestoredBackup(
  vault: RestoredVault,
  { file, manifest }: RestoredFrom,
): Promise<StoredBackup> {
  const { bytes, sha256 } = await digestFile(file);
  const { id, createdAt, rootKey } = manifest ?? (await describePlainCopy(vault, sha256));
  const unknown = { recipients: [], drilledAt: undefined, drillFault: undefined, endedAt: undefined };
  return { id, createdAt, file, bytes, sha256, rootKey, ...unknown };
}

/** A copy without encryption does not contain its id: one made of its digest is the same at every restore. */
async function describePlainCopy(
  { database, rootKeyCheck, clock }: RestoredVault,
  sha256: string,
): Promise<Pick<StoredBackup, 'id' | 'createdAt' | 'rootKey'>> {
  const [newest = {}] = await database.read(NEWEST_RECORD);
  const createdAt = integerOrNull(newest, 'at') ?? clock();
  return { id: `bkp_${sha256.slice(0, ID_DIGITS)}`, createdAt, rootKey: rootKeyCheck };
}
