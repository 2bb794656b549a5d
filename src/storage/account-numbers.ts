import {
  type Addition,
  integer,
  type JournalEntry,
  type Row,
  text,
  type UnitOfWork,
  type Value,
  type Write,
} from './database.ts';

/**
 * Accounts and environments are integers in the database, so that rows and index entries are short. Everything else knows
 * accounts by id and environments by name: seals, MACs and hashes contain these texts. A statement writes `?account` and
 * `?environment` for parameters of this kind, and the columns `account` and `environment` of its result are converted back.
 */

/** The number of an environment is its place. Keys of the service have `service`, and records of no environment ''. */
const ENVIRONMENT_NAMES: readonly string[] = ['production', 'sandbox', 'service', ''];

/** The number of the service, whose id is ''. */
export const SERVICE_NUMBER = 0;

/** Begins the text for a number without an account or an environment; only an attacker writes such a number. */
const UNKNOWN = '#';

/** Stands for what is no number at all, and is converted to null, which equals nothing. */
const UNREADABLE = '\ufffd';

const toUnknown = (value: Value): string => (Number.isSafeInteger(value) ? `${UNKNOWN}${value}` : UNREADABLE);

const fromUnknown = (text: string): number | null =>
  /^#-?[0-9]{1,15}$/.test(text) ? Number(text.slice(UNKNOWN.length)) : null;

/** Returns null for a text that is no environment. */
export const environmentNumber = (name: string): number | null => {
  const number = ENVIRONMENT_NAMES.indexOf(name);
  return number < 0 ? fromUnknown(name) : number;
};

const toEnvironmentName = (value: Value): string =>
  (typeof value === 'number' ? ENVIRONMENT_NAMES[value] : undefined) ?? toUnknown(value);

/** Returns the parameter of a column, for statements that are made of column names. */
export const parameterOf = (column: string): string =>
  column === 'account' || column === 'environment' ? `?${column}` : '?';

/** A journal entry with the number of its account. */
export interface StoredEntry extends JournalEntry {
  readonly number: number;
}

/** A unit as a driver writes it: with numbers in place of accounts and environments. */
export interface StoredUnit {
  readonly account?: number;
  readonly writes: readonly Write[];
  readonly additions?: readonly Addition[];
  readonly journal?: readonly StoredEntry[];
  readonly scrubAfterCommit?: boolean;
}

/** A statement without the names of parameters, and which of its parameters are converted. */
interface ParsedStatement {
  readonly sql: string;
  readonly accounts: readonly number[];
  readonly environments: readonly number[];
}

const MAX_PARSED = 2000;
const parsed = new Map<string, ParsedStatement>();

function parseStatement(sql: string): ParsedStatement {
  const known = parsed.get(sql);
  if (known !== undefined) return known;
  const kinds = [...sql.matchAll(/\?(account|environment)?/g)].map(([, kind]) => kind);
  const listPositions = (wanted: string): number[] => kinds.flatMap((kind, place) => (kind === wanted ? [place] : []));
  const statement: ParsedStatement = {
    sql: sql.replaceAll(/\?(?:account|environment)\b/g, '?'),
    accounts: listPositions('account'),
    environments: listPositions('environment'),
  };
  if (parsed.size < MAX_PARSED) parsed.set(sql, statement);
  return statement;
}

const FIND_BY_ID = 'select id, number from accounts where id = ?';
const FIND_BY_NUMBER = 'select id, number from accounts where number = ?';
const LIST = 'select id, number from accounts';
/** Beyond this number of accounts one statement reads all of them. */
const MAX_READ_SINGLY = 20;

/** Converts between accounts and their numbers. What it has read stays true: accounts are never deleted or renumbered. */
export class AccountNumbers {
  readonly #read: (sql: string, ...values: readonly Value[]) => Promise<Row[]>;
  readonly #numbers = new Map<string, number>([['', SERVICE_NUMBER]]);
  readonly #converting = new Set<Promise<StoredUnit>>();
  readonly #ids = new Map<number, string>([[SERVICE_NUMBER, '']]);

  /** `read`: reads without conversion. */
  constructor(read: (sql: string, ...values: readonly Value[]) => Promise<Row[]>) {
    this.#read = read;
  }

  /** Gives the number of an account that the next commit inserts. */
  name(id: string, number: number): void {
    this.#numbers.set(id, number);
  }

  async read(sql: string, values: readonly Value[]): Promise<Row[]> {
    const statement = parseStatement(sql);
    const unknown: string[] = [];
    let bound = this.#bind(statement, values, unknown);
    if (unknown.length > 0) {
      await this.#loadNumbers(unknown);
      bound = this.#bind(statement, values, []);
    }
    const rows = await this.#read(statement.sql, ...bound);
    const [first] = rows;
    if (first === undefined || (first['account'] === undefined && first['environment'] === undefined)) return rows;
    return this.#convertRows(rows);
  }

  /**
   * Returns the unit as the database holds it, at once while its accounts are known. What names no account matches no row,
   * and cannot be inserted.
   */
  convert(unit: UnitOfWork): StoredUnit | Promise<StoredUnit> {
    const unknown: string[] = [];
    const stored = this.#convert(unit, unknown);
    if (unknown.length === 0) return stored;
    const converted = this.#loadNumbers(unknown)
      .then(() => this.#convert(unit, []))
      .finally(() => this.#converting.delete(converted));
    this.#converting.add(converted);
    return converted;
  }

  /** Resolves when the units of all calls of `convert` so far were returned. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#converting);
  }

  /** Adds the ids that are not known yet to `unknown`. */
  #convert({ account, writes, additions, journal, ...unit }: UnitOfWork, unknown: string[]): StoredUnit {
    return {
      ...unit,
      ...(account !== undefined && { account: this.#numberOf(account, unknown) ?? SERVICE_NUMBER }),
      writes: writes.map((write) => this.#convertWrite(write, unknown)),
      ...(additions !== undefined && { additions: additions.map((each) => this.#convertAddition(each, unknown)) }),
      ...(journal !== undefined && { journal: journal.map((entry) => this.#convertEntry(entry, unknown)) }),
    };
  }

  #convertWrite(write: Write, unknown: string[]): Write {
    const statement = parseStatement(write.sql);
    if (statement.accounts.length === 0 && statement.environments.length === 0) return write;
    return { ...write, sql: statement.sql, rows: write.rows.map((row) => this.#bind(statement, row, unknown)) };
  }

  #convertAddition(addition: Addition, unknown: string[]): Addition {
    const statement = parseStatement(addition.sql);
    return { ...addition, sql: statement.sql, key: this.#bind(statement, addition.key, unknown) };
  }

  #bind({ accounts, environments }: ParsedStatement, values: readonly Value[], unknown: string[]): readonly Value[] {
    if (accounts.length === 0 && environments.length === 0) return values;
    const bound = [...values];
    for (const place of accounts) {
      const id = bound[place];
      if (typeof id === 'string') bound[place] = this.#numberOf(id, unknown) ?? fromUnknown(id);
    }
    for (const place of environments) {
      const name = bound[place];
      if (typeof name === 'string') bound[place] = environmentNumber(name);
    }
    return bound;
  }

  /** A record of an account without a row belongs to the log of the service. */
  #convertEntry(entry: JournalEntry, unknown: string[]): StoredEntry {
    const number = this.#numberOf(entry.account, unknown);
    return number === undefined ? { ...entry, account: '', number: SERVICE_NUMBER } : { ...entry, number };
  }

  #numberOf(id: string, unknown: string[]): number | undefined {
    const number = this.#numbers.get(id);
    if (number === undefined) unknown.push(id);
    return number;
  }

  async #loadNumbers(ids: readonly string[]): Promise<void> {
    for (const id of ids) if (!this.#numbers.has(id)) await this.#learn(FIND_BY_ID, id);
  }

  async #convertRows(rows: readonly Row[]): Promise<Row[]> {
    const unknown = new Set<number>();
    for (const { account } of rows) if (typeof account === 'number' && !this.#ids.has(account)) unknown.add(account);
    if (unknown.size > MAX_READ_SINGLY) await this.#learn(LIST);
    else for (const number of unknown) await this.#learn(FIND_BY_NUMBER, number);
    return rows.map((row) => {
      const { account, environment } = row;
      return {
        ...row,
        ...(account != null && { account: this.#idOf(account) }),
        ...(environment != null && { environment: toEnvironmentName(environment) }),
      };
    });
  }

  async #learn(sql: string, ...values: readonly Value[]): Promise<void> {
    for (const row of await this.#read(sql, ...values)) {
      this.#numbers.set(text(row, 'id'), integer(row, 'number'));
      this.#ids.set(integer(row, 'number'), text(row, 'id'));
    }
  }

  #idOf(account: Value): string {
    return (typeof account === 'number' ? this.#ids.get(account) : undefined) ?? toUnknown(account);
  }
}
