import type { Keyring } from '../crypto/keyring.ts';
import { type Clock, MINUTE } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { parameterOf } from '../storage/account-numbers.ts';
import type { Database, Row, Value } from '../storage/database.ts';
import { isRowAuthentic, type MacTable, macColumns, rowMacKey } from '../storage/mac-table.ts';
import { type AlteredRow, type AlteredRows, isLocatable } from './altered-rows.ts';

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
