import {
  type Database,
  type DatabaseReads,
  integer,
  integerOrNull,
  type Row,
  text,
  textOrNull,
  type Write,
  write,
} from '../storage/database.ts';
import type { Table } from '../storage/table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'backups',
    key: ['id'],
    columns: {
      id: 'text',
      created_at: 'integer',
      file: 'text',
      bytes: 'integer',
      sha256: 'text',
      recipients: 'text',
      root_key: 'text',
      drilled_at: 'integer',
      drill_fault: 'text',
      ended_at: 'integer',
    },
  },
];

/**
 * A backup that was written and verified. It contains every key that sealed a record at `createdAt`: a key that was
 * replaced later, and whose records were sealed again, is needed by the backups that were created before that and have
 * not ended.
 */
export interface StoredBackup {
  readonly id: string;
  /** Unix time in milliseconds of the moment that the backup contains. */
  readonly createdAt: number;
  /** Path at which the file was written. */
  readonly file: string;
  readonly bytes: number;
  /** Hexadecimal SHA-256 of the file. */
  readonly sha256: string;
  /** Empty for a copy without encryption, and for a file of which this vault knows no more than its content. */
  readonly recipients: readonly string[];
  /** Check value of the root key that opens it. */
  readonly rootKey: string;
  /** Time of the last drill; undefined when there was none. */
  readonly drilledAt: number | undefined;
  /** The fault that the last drill found; empty for none. */
  readonly drillFault: string | undefined;
  /** When the file was removed, or reported as destroyed. */
  readonly endedAt: number | undefined;
}

const COLUMNS = 'id, created_at, file, bytes, sha256, recipients, root_key, drilled_at, drill_fault, ended_at';
const LIST = `select ${COLUMNS} from backups where ended_at is null order by created_at, id`;
const FIND = `select ${COLUMNS} from backups where id = ?`;
const INSERT = `insert into backups (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`;
const DRILLED = 'update backups set drilled_at = ?, drill_fault = ? where id = ?';
const END = 'update backups set ended_at = ? where id = ? and ended_at is null';
const NEWEST = `select max(created_at) as created_at from backups
  where ended_at is null and (drill_fault is null or drill_fault = '')`;
const NEWEST_DRILL = `select max(drilled_at) as drilled_at from backups where drill_fault = ''`;

/** Lists the backups that have not ended, the oldest first. */
export const listBackups = async (database: Database): Promise<StoredBackup[]> =>
  (await database.read(LIST)).map(toBackup);

export const findBackup = async (database: Database, id: string): Promise<StoredBackup | undefined> =>
  (await database.read(FIND, id)).map(toBackup)[0];

/**
 * Returns the ids of the backups that their paths hold: of several that were written to one path, the newest.
 * `backups`: the oldest first.
 */
export const listPathOwners = (backups: readonly StoredBackup[]): ReadonlySet<string> =>
  new Set(new Map(backups.map(({ file, id }) => [file, id])).values());

/** Does nothing when the backup is stored already. */
export const insertBackup = (backup: StoredBackup): Write =>
  write(INSERT, [
    backup.id,
    backup.createdAt,
    backup.file,
    backup.bytes,
    backup.sha256,
    JSON.stringify(backup.recipients),
    backup.rootKey,
    backup.drilledAt ?? null,
    backup.drillFault ?? null,
    backup.endedAt ?? null,
  ]);

/** `fault`: empty when the drill found none. */
export const updateDrill = (id: string, at: number, fault: string): Write => write(DRILLED, [at, fault, id]);

/** Conflicts when the backup has ended already. */
export const endBackup = (id: string, at: number): Write => write(END, [at, id], 1);

/**
 * Times of the newest backup that has not ended and in which no drill found a fault, and of the newest drill without a
 * fault; undefined for none.
 */
export interface BackupTimes {
  readonly backedUpAt: number | undefined;
  readonly drilledAt: number | undefined;
}

export async function findBackupTimes(database: DatabaseReads): Promise<BackupTimes> {
  const [[newest = {}], [drilled = {}]] = await Promise.all([database.read(NEWEST), database.read(NEWEST_DRILL)]);
  return { backedUpAt: integerOrNull(newest, 'created_at'), drilledAt: integerOrNull(drilled, 'drilled_at') };
}

/** Returns the milliseconds since the times of `findBackupTimes`; undefined for none. */
export async function readBackupAges(
  database: DatabaseReads,
  now: number,
): Promise<Record<'backup' | 'drill', number | undefined>> {
  const { backedUpAt, drilledAt } = await findBackupTimes(database);
  const ageOf = (at: number | undefined): number | undefined => (at === undefined ? undefined : Math.max(0, now - at));
  return { backup: ageOf(backedUpAt), drill: ageOf(drilledAt) };
}

const toBackup = (row: Row): StoredBackup => ({
  id: text(row, 'id'),
  createdAt: integer(row, 'created_at'),
  file: text(row, 'file'),
  bytes: integer(row, 'bytes'),
  sha256: text(row, 'sha256'),
  recipients: JSON.parse(text(row, 'recipients')) as string[],
  rootKey: text(row, 'root_key'),
  drilledAt: integerOrNull(row, 'drilled_at'),
  drillFault: textOrNull(row, 'drill_fault'),
  endedAt: integerOrNull(row, 'ended_at'),
});
