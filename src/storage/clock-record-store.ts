import type { DigestKeys } from '../crypto/digest-keys.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { computeRowMac, isRowMacValid } from '../crypto/row-mac.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Distrust, KnownJump } from '../kernel/time-guard.ts';
import { blob, type Database, type DatabaseReads, type Row, text, type Write, write } from './database.ts';
import type { DigestColumn } from './digest-columns.ts';
import type { Table } from './table.ts';

export const TABLES: readonly Table[] = [
  { name: 'clock_records', key: ['name'], columns: { name: 'text', record: 'text', mac: 'blob' } },
];

/** The records of the clock; all times in milliseconds of the deciding clock. */
export interface ClockRecords {
  /** The last trusted time, and the start of the period in which the node that wrote it compared time without a gap. */
  readonly trusted: { readonly at: number; readonly since: number };
  /** The fault that a node finds; renewed while it lasts. */
  readonly distrust: {
    readonly reason: Distrust;
    readonly at: number;
    readonly expected: number | null;
  };
  /** The time that an operator confirmed. */
  readonly confirmed: { readonly at: number };
}

type ClockRecordName = keyof ClockRecords;

/** Returns the finding of the clock that was ahead, unless a process has trusted the same clock since. */
export function findKnownJump({ trusted, distrust }: Partial<ClockRecords>): KnownJump | undefined {
  if (distrust?.reason !== 'ahead' || distrust.expected === null) return undefined;
  if (trusted !== undefined && trusted.at >= distrust.at - LIMITS.clockToleranceMs) return undefined;
  return { at: distrust.at, expected: distrust.expected };
}

const TABLE = 'clock_records';
const REPLACE_MAC = 'update clock_records set mac = ? where name = ? and record = ? and mac = ?';

const bound = (row: Row): string[] => [text(row, 'name'), text(row, 'record')];

export const DIGEST_COLUMNS: readonly DigestColumn[] = [
  {
    table: TABLE,
    purpose: 'clock',
    scope: 'service',
    key: ['name'],
    column: 'mac',
    selects: ['record'],
    renew: async ({ keys }, row) =>
      isRowMacValid(keys, TABLE, bound(row), row['mac'])
        ? [write(REPLACE_MAC, [computeRowMac(keys, TABLE, bound(row)), ...bound(row), blob(row, 'mac')], 1)]
        : 'altered',
  },
];
const FIND = 'select name, record, mac from clock_records';
const UPSERT = `insert into clock_records (name, record, mac) values (?, ?, ?)
  on conflict (name) do update set record = excluded.record, mac = excluded.mac`;
const DELETE = 'delete from clock_records where name = ?';

/** Returns the records for a diagnosis that has no key: those that were altered in the database are not recognized. */
export async function listUnprovenClockRecords(database: DatabaseReads): Promise<Partial<ClockRecords>> {
  const rows = await database.read(FIND);
  return Object.fromEntries(rows.map((row) => [text(row, 'name'), JSON.parse(text(row, 'record'))]));
}

/** Stores the records of the clock. Each has a MAC: a record that was altered in the database counts as missing. */
export class ClockRecordStore {
  readonly #database: Database;
  readonly #macKey: DigestKeys;

  private constructor(database: Database, macKey: DigestKeys) {
    this.#database = database;
    this.#macKey = macKey;
  }

  static async open(database: Database, keyring: Keyring): Promise<ClockRecordStore> {
    const macKey = await keyring.digests({ account: '', environment: 'service', purpose: 'clock' });
    return new ClockRecordStore(database, macKey);
  }

  /** Returns the records that exist and are authentic. */
  async list(): Promise<Partial<ClockRecords>> {
    await this.#macKey.refresh();
    const genuine = (await this.#database.read(FIND)).filter((row) => this.#isMacValid(row));
    return Object.fromEntries(genuine.map((row) => [text(row, 'name'), JSON.parse(text(row, 'record'))]));
  }

  async upsert<Name extends ClockRecordName>(name: Name, record: ClockRecords[Name]): Promise<Write> {
    await this.#macKey.refresh();
    const json = JSON.stringify(record);
    return write(UPSERT, [name, json, computeRowMac(this.#macKey, TABLE, [name, json])]);
  }

  delete(name: ClockRecordName): Write {
    return write(DELETE, [name]);
  }

  #isMacValid(row: Row): boolean {
    return isRowMacValid(this.#macKey, TABLE, bound(row), row['mac']);
  }
}
