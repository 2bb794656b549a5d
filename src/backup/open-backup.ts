import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, copyFile, open, rm } from 'node:fs/promises';
import { AgeFileError, type Identities, readAgeFile } from '../crypto/age-file.ts';
import { type DatabaseFacts, inspectDatabaseFile } from '../storage/sqlite/inspect-file.ts';
import { BackupError, openArchive } from './archive.ts';
import { digestFile } from './create-backup.ts';
import type { Manifest } from './manifest.ts';

const USER_ONLY_FILE = 0o600;
const AGE_START = 'age-encryption.org/v1\n';

/** True for a file that starts as one in the age format does. */
export async function isEncrypted(path: string): Promise<boolean> {
  const handle = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(AGE_START.length), 0, AGE_START.length, 0);
    return bytesRead > 0 && AGE_START.startsWith(buffer.subarray(0, bytesRead).toString('latin1'));
  } finally {
    await handle.close();
  }
}

/** Reads the manifest alone, whose part of the file is authentic. Throws `AgeFileError`, `BackupError`. */
export async function readManifest(path: string, identities: Identities): Promise<Manifest> {
  const content = readAgeFile(path, identities);
  try {
    return (await openArchive(path, content)).manifest;
  } finally {
    await content.return(undefined);
  }
}

/**
 * Decrypts a backup to a new database file for its user only, synced to disk, and compares it with its manifest: size,
 * digest, pages and rows. A failure leaves no file. Throws `AgeFileError`, `BackupError`.
 */
export async function extractBackup(path: string, identities: Identities, target: string): Promise<Manifest> {
  const content = readAgeFile(path, identities);
  try {
    const { manifest, database } = await openArchive(path, content);
    const handle = await open(target, 'wx', USER_ONLY_FILE);
    const sha256 = createHash('sha256');
    try {
      for await (const piece of database()) {
        sha256.update(piece);
        await handle.appendFile(piece);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (sha256.digest('hex') !== manifest.database.sha256)
      throw new BackupError(`${path} was altered: its database has another digest than its manifest`);
    assertSameFacts(path, manifest, inspectDatabaseFile(target));
    return manifest;
  } catch (error) {
    await rm(target, { force: true });
    throw error instanceof AgeFileError || error instanceof BackupError ? error : asBackupError(path, error);
  } finally {
    await content.return(undefined);
  }
}

/**
 * Copies a backup without encryption to a new file for its user only. `sha256`: hexadecimal digest that the file had when it
 * was written; undefined when it is unknown. Returns what the copy contains. Throws `BackupError`, `StorageError`.
 */
export async function copyPlainBackup(
  path: string,
  target: string,
  sha256: string | undefined,
): Promise<DatabaseFacts> {
  await copyFile(path, target, constants.COPYFILE_EXCL);
  try {
    await chmod(target, USER_ONLY_FILE);
    if (sha256 !== undefined && (await digestFile(target)).sha256 !== sha256)
      throw new BackupError(`${path} was altered: it has another digest than when it was written`);
    return inspectDatabaseFile(target);
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  }
}

function asBackupError(path: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall === undefined ? error : new BackupError(`${path} cannot be decrypted: ${code} (${syscall})`);
}

function assertSameFacts(path: string, manifest: Manifest, found: DatabaseFacts): void {
  const expected = formatFacts(manifest);
  if (formatFacts(found) !== expected)
    throw new BackupError(`${path} was altered: its database does not match the counts in its manifest`);
}

const formatFacts = ({ vault, schema, rows, log, keys }: DatabaseFacts): string =>
  JSON.stringify([vault, schema, Object.entries(rows).sort(), log, keys]);
