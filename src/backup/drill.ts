import { verifyLog } from '../audit/verify-log.ts';
import type { DigestKeys } from '../crypto/digest-keys.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { SigningKeys } from '../crypto/signing-key.ts';
import type { KeyScope } from '../crypto/wrapped-key.ts';
import type { Clock } from '../kernel/clock.ts';
import { ENVIRONMENTS, type Tenant } from '../kernel/environment.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { parameterOf } from '../storage/account-numbers.ts';
import { blobOrNull, type Database, isAlteration, type Row, text, type Value } from '../storage/database.ts';
import { isRowAuthentic, type MacTable, macColumns, rowMacKey } from '../storage/mac-table.ts';
import { positionOf, type RowPosition } from '../storage/owned-rows.ts';
import { readSealedRows, type SealedColumns } from '../storage/sealed-columns.ts';
import { listWrappedKeys } from '../storage/wrapped-key-store.ts';

/** One step of a drill, with what it counted and what it found. */
export interface DrillCheck {
  readonly name: 'extract' | 'open' | 'keys' | 'seals' | 'log' | 'sad-keys';
  readonly ok: boolean;
  /** Files, keys, sealed values or records, as the name says. */
  readonly count: number;
  readonly milliseconds: number;
  /** Empty when the check found nothing. Contains no data of a record. */
  readonly fault: string;
}

/** A vault that was opened from a backup. */
export interface RestoredVault {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly journalKey: DigestKeys;
  readonly signingKeys: SigningKeys;
}

export interface CheckResult {
  readonly count: number;
  readonly fault?: string;
}

/** Runs one check and measures it. An error with a message for operators is its fault; any other ends the drill. */
export async function runCheck(
  name: DrillCheck['name'],
  clock: Clock,
  check: () => Promise<CheckResult>,
): Promise<DrillCheck> {
  const startedAt = clock();
  const toCheck = ({ count, fault = '' }: CheckResult): DrillCheck => ({
    name,
    ok: fault === '',
    count,
    milliseconds: clock() - startedAt,
    fault,
  });
  try {
    return toCheck(await check());
  } catch (error) {
    if (error instanceof OperatorError) return toCheck({ count: 0, fault: error.message });
    throw error;
  }
}

/** Unwraps every key of the vault. */
export async function checkKeys({ database, keyring }: RestoredVault): Promise<CheckResult> {
  const keys = await listWrappedKeys(database);
  for (const { account, environment, purpose } of keys) {
    try {
      await keyring.firstDigestKey({ account, environment, purpose });
    } catch (error) {
      if (!isAlteration(error)) throw error;
      return { count: keys.length, fault: `a ${purpose} key of ${environment} cannot be unwrapped` };
    }
  }
  return { count: keys.length };
}

export interface SealOptions {
  readonly columns: readonly SealedColumns[];
  readonly macs: readonly MacTable[];
  /** Rows of each table by its name. */
  readonly rows: Readonly<Record<string, number>>;
  /** Rows to open of each table, evenly distributed; undefined for all. */
  readonly sample: number | undefined;
}

/** Opens the sealed values and checks the MACs of all rows, or of a sample. The fault names the first table. */
export async function checkSeals(vault: RestoredVault, options: SealOptions): Promise<CheckResult> {
  const { columns, macs, rows, sample } = options;
  const everyNth = (table: string): number =>
    sample === undefined ? 1 : Math.max(1, Math.ceil((rows[table] ?? 0) / sample));
  let count = 0;
  const fault = (table: string, row: number): CheckResult => ({
    count,
    fault: `table ${table}, row ${row}: a sealed value cannot be opened`,
  });
  for (const sealed of columns) {
    const { table } = sealed;
    let row = 0;
    for await (const { owner, page } of readPagesOfOwners(vault.database, sealed))
      for (const each of page) {
        if (row++ % everyNth(table) !== 0) continue;
        const opened = await openValues(vault.keyring, sealed, owner, each);
        if (opened === undefined) return fault(table, row);
        count += opened;
      }
    if (row !== (rows[table] ?? 0)) return { count, fault: `table ${table}: rows belong to no account with keys` };
  }
  for (const table of macs) {
    let row = 0;
    for await (const page of readRowsWithMac(vault.database, table))
      for (const each of page) {
        if (row++ % everyNth(table.name) !== 0) continue;
        if (!isRowAuthentic(await rowMacKey(vault.keyring), table, each)) return fault(table.name, row);
        count++;
      }
  }
  return { count };
}

/** Returns the number of values; undefined when one cannot be opened. */
async function openValues(
  keyring: Keyring,
  { purpose, contexts }: SealedColumns,
  owner: KeyScope,
  row: Row,
): Promise<number | undefined> {
  let count = 0;
  try {
    for (const [column, contextOf] of Object.entries(contexts)) {
      // A deleted token, for example, has no record any more.
      const value = blobOrNull(row, column);
      if (value === undefined) continue;
      (await keyring.unseal(owner, purpose, contextOf(row), value)).fill(0);
      count++;
    }
    return count;
  } catch (error) {
    if (isAlteration(error)) return undefined;
    throw error;
  }
}

const PAGE = 500;

/** Returns the rows of every owner of a key that seals them, page by page. */
async function* readPagesOfOwners(
  database: Database,
  columns: SealedColumns,
): AsyncGenerator<{ owner: KeyScope; page: Row[] }> {
  const service: KeyScope = { account: '', environment: 'service' };
  for (const owner of columns.scope === 'service' ? [service] : await listTenants(database)) {
    let after: RowPosition;
    for (;;) {
      const page = await readSealedRows(database, columns, owner, after, PAGE);
      const last = page.at(-1);
      if (last === undefined) break;
      yield { owner, page };
      if (page.length < PAGE) break;
      after = positionOf(columns, last);
    }
  }
}

const listTenants = async (database: Database): Promise<Tenant[]> =>
  (await database.read('select id from accounts order by id')).flatMap((row) =>
    ENVIRONMENTS.map((environment) => ({ account: text(row, 'id'), environment })),
  );

async function* readRowsWithMac(database: Database, table: MacTable): AsyncGenerator<Row[]> {
  const { name, key } = table;
  const keys = key.filter((column) => !Object.hasOwn(table.sealed, column)).map((column) => `, ${column}`);
  const select = `select ${macColumns(table)}${keys.join('')} from ${name}`;
  const order = `order by ${key.join(', ')} limit ${PAGE}`;
  const behind = `where (${key.join(', ')}) > (${key.map(parameterOf).join(', ')})`;
  let after: Value[] | undefined;
  for (;;) {
    const page = await (after === undefined
      ? database.read(`${select} ${order}`)
      : database.read(`${select} ${behind} ${order}`, ...after));
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = key.map((column) => last[column] ?? null);
  }
}

/** Verifies the audit log from its beginning, with its signed checkpoints. */
export async function checkLog(vault: RestoredVault): Promise<CheckResult> {
  const { records, fault = '' } = await verifyLog(vault);
  return { count: records, fault };
}
