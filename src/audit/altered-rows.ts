import { isSameDigest } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { type Clock, MINUTE } from '../kernel/clock.ts';
import { ENVIRONMENTS } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { parameterOf } from '../storage/account-numbers.ts';
import { type Database, integer, type Row, type Value, type Write, write } from '../storage/database.ts';
import { computeRowState, isRowAuthentic, type MacTable, macColumns, rowMacKey } from '../storage/mac-table.ts';
import type { Table } from '../storage/table.ts';
import { buildAuditEntry, SERVICE_ORIGIN } from './audit.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'altered_rows',
    key: ['account', 'table_name', 'row_key'],
    columns: { account: 'text', table_name: 'text', row_key: 'text', state: 'blob', found_at: 'integer' },
    isLocal: true,
  },
];

const INSERT = `insert into altered_rows (account, table_name, row_key, state, found_at) select ?, ?, ?, ?, ?
  where (select count(*) from altered_rows) < ${LIMITS.alteredRows}
  on conflict (account, table_name, row_key) do update set state = excluded.state, found_at = excluded.found_at
    where altered_rows.state <> excluded.state`;
const COUNT = 'select table_name, count(*) as number from altered_rows group by table_name';
const LIST = `select account as account_id, table_name, row_key from altered_rows order by account, table_name, row_key limit ${LIMITS.alteredRows}`;
const FIND_STATE = 'select state from altered_rows where account = ? and table_name = ? and row_key = ?';
const DELETE = 'delete from altered_rows where account = ? and table_name = ? and row_key = ?';

/** Maximum number and lifetime of the states of altered rows that a process remembers as reported. */
const MAX_CACHED_REPORTS = 1000;
const REPORT_CACHE_MS = MINUTE;

/** A row that was found altered, and has not been found authentic since. */
interface AlteredRow {
  readonly account: string;
  readonly table: string;
  /** The other columns of its key. */
  readonly key: readonly string[];
}

/**
 * Records that a row was altered in the database: once for each state of the row and not at each request, so that
 * requests cannot flood the audit log; while the list is full, one row a minute. The list is no evidence, because an
 * attacker who alters rows can alter it too; the audit log is.
 */
export class AlteredRows {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #reported = new Map<string, number>();
  #lastUnlistedReportAt = Number.NEGATIVE_INFINITY;

  constructor(options: { database: Database; keyring: Keyring; clock: Clock }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
  }

  /** Reports a row of `macColumns` whose MAC is invalid. */
  async report(table: MacTable, row: Row, prefix = ''): Promise<void> {
    const state = computeRowState(await rowMacKey(this.#keyring), table, row, prefix);
    const name = Buffer.from(state).toString('base64');
    const now = this.#clock();
    const reportedAt = this.#reported.get(name);
    if (reportedAt !== undefined && now >= reportedAt && now - reportedAt < REPORT_CACHE_MS) return;
    const account = await this.#findClaimedAccount(row[`${prefix}${table.key[0]}`]);
    const listKey = toListKey(table, row, prefix);
    const plain = Object.fromEntries(Object.keys(table.sealed).map((column) => [column, row[prefix + column] ?? null]));
    const environment = ENVIRONMENTS.find((each) => each === plain['environment']) ?? '';
    const event = {
      action: 'record.altered' as const,
      outcome: 'detected',
      account,
      environment: account === '' ? ('' as const) : environment,
      targets: [redactTarget(table.target(plain))],
      detail: { table: table.name },
    };
    const journal = [buildAuditEntry(this.#clock, SERVICE_ORIGIN, event)];
    const listed = await this.#database.commit({ writes: [write(INSERT, [...listKey, state, now], 1)], journal });
    // Otherwise this state was recorded before, or the list is full, perhaps of rows that an attacker wrote.
    if (!listed.committed && !(await this.#isListed(listKey, state))) {
      if (Math.abs(now - this.#lastUnlistedReportAt) < REPORT_CACHE_MS) return;
      this.#lastUnlistedReportAt = now;
      await this.#database.commit({ writes: [], journal });
    }
    if (this.#reported.size >= MAX_CACHED_REPORTS) this.#reported.clear();
    this.#reported.set(name, now);
  }

  /** Returns the number of known altered rows of each table. */
  async countByTable(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.read(COUNT);
    return new Map(rows.map((row) => [toStorable(row['table_name']), integer(row, 'number')]));
  }

  async list(): Promise<AlteredRow[]> {
    return (await this.#database.read(LIST)).map((row) => ({
      account: toStorable(row['account_id']),
      table: toStorable(row['table_name']),
      key: parseKey(toStorable(row['row_key'])),
    }));
  }

  /**
   * Removes a row from the list because it is authentic again, or was deleted. Its next alteration is recorded again.
   */
  async remove({ account, table, key }: AlteredRow): Promise<void> {
    this.#reported.clear();
    await this.#database.commit({ writes: [write(DELETE, [account, table, JSON.stringify(key)])] });
  }

  /** Does the same in the unit that replaces the row. */
  buildRemoval(table: MacTable, row: Row): Write {
    this.#reported.clear();
    return write(DELETE, toListKey(table, row));
  }

  async #isListed(listKey: readonly string[], state: Uint8Array): Promise<boolean> {
    const [row] = await this.#database.read(FIND_STATE, ...listKey);
    const listed = row?.['state'];
    return listed instanceof Uint8Array && isSameDigest(state, listed);
  }

  /** Returns the account whose log gets the record: that of the row if it exists, otherwise the log of the service. */
  async #findClaimedAccount(account: Value | undefined): Promise<string> {
    if (typeof account !== 'string') return '';
    return (await this.#database.read('select 1 as found from accounts where id = ?', account)).length > 0
      ? account
      : '';
  }
}

/** A part of a key that cannot be stored or searched, which only an attacker writes. */
const UNUSABLE = '\ufffd';

const toStorable = (part: Value | undefined): string =>
  typeof part === 'string' && !part.includes('\0') ? part : UNUSABLE;

/** Account, table and the rest of the key, as stored in the list. */
function toListKey(table: MacTable, row: Row, prefix = ''): string[] {
  const [account = '', ...others] = table.key.map((column) => toStorable(row[prefix + column]));
  return [account, table.name, JSON.stringify(others)];
}

/** False for a row that cannot be found by its key. */
const isLocatable = ({ account, key }: AlteredRow): boolean => ![account, ...key].includes(UNUSABLE);

function parseKey(stored: string): string[] {
  try {
    const key: unknown = JSON.parse(stored);
    return Array.isArray(key) && key.every((part) => typeof part === 'string') ? key : [];
  } catch {
    return [];
  }
}

/** Matches an id that this service creates; an attacker may have written any other value. */
const redactTarget = (target: string): string =>
  /^[a-z-]+:[!-~]{1,100}$/.test(target) ? target : target.replace(/:.*/s, ':*');

const PASS_INTERVAL_MS = MINUTE;
/** Lower for API keys, whose rows can be long. */
const PAGE_ROWS = 50;

/**
 * Checks the MAC of every row, a bounded number of rows at a time, so that an altered row is found before it is used. A
 * pass over all tables starts one minute after the previous one has ended.
 */
export class RowCheck {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #alteredRows: AlteredRows;
  readonly #tables: readonly MacTable[];
  #table = 0;
  #after: readonly Value[] | undefined;
  #nextPassAt = 0;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    clock: Clock;
    alteredRows: AlteredRows;
    tables: readonly MacTable[];
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#alteredRows = options.alteredRows;
    this.#tables = options.tables;
  }

  async runOnce(): Promise<void> {
    for (const altered of await this.#alteredRows.list())
      if (isLocatable(altered) && !(await this.#isStillAltered(altered))) await this.#alteredRows.remove(altered);
    const now = this.#clock();
    // A clock that was set back must not stop the checks.
    if (now < this.#nextPassAt && this.#nextPassAt - now <= PASS_INTERVAL_MS) return;
    for (let checked = 0; checked < LIMITS.rowsCheckedPerRound; ) {
      const table = this.#tables[this.#table];
      if (table === undefined) {
        this.#table = 0;
        this.#nextPassAt = this.#clock() + PASS_INTERVAL_MS;
        return;
      }
      checked += await this.#checkPage(table);
    }
  }

  /** Returns the number of rows that were checked. The cursor advances to the next table behind the last page. */
  async #checkPage(table: MacTable): Promise<number> {
    const key = await rowMacKey(this.#keyring);
    const rows = await this.#database.read(buildPageQuery(table, this.#after !== undefined), ...(this.#after ?? []));
    for (const row of rows) if (!isRowAuthentic(key, table, row)) await this.#alteredRows.report(table, row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_ROWS) {
      this.#table++;
      this.#after = undefined;
    } else this.#after = toKey(table, last);
    return rows.length;
  }

  async #isStillAltered({ account, table: name, key }: AlteredRow): Promise<boolean> {
    const table = this.#tables.find((each) => each.name === name);
    if (table === undefined || key.length !== table.key.length - 1) return false;
    const where = table.key.map((column) => `${column} = ${parameterOf(column)}`).join(' and ');
    const sql = `select ${macColumns(table)} from ${table.name} where ${where}`;
    const [row] = await this.#database.read(sql, account, ...key);
    return row !== undefined && !isRowAuthentic(await rowMacKey(this.#keyring), table, row);
  }
}

function buildPageQuery(table: MacTable, continues: boolean): string {
  const columns = table.key.join(', ');
  const after = continues ? `where (${columns}) > (${table.key.map(parameterOf).join(', ')})` : '';
  return `select ${macColumns(table)} from ${table.name} ${after} order by ${columns} limit ${PAGE_ROWS}`;
}

const toKey = ({ key }: MacTable, row: Row): Value[] => key.map((column) => row[column] ?? null);
