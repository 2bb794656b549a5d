import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { StorageError } from '../database.ts';

/** The keys of one purpose by which a database was sealed. */
interface KeyVersions {
  readonly environment: string;
  readonly purpose: string;
  readonly versions: readonly number[];
  /** Keys of all accounts and versions. */
  readonly keys: number;
}

/** Facts about a database file that was closed, for the manifest of a backup. */
export interface DatabaseFacts {
  /** Identifies the vault and its copies: SHA-256 of the register's first lane. Empty without a vault. */
  readonly vault: string;
  readonly schema: number;
  /** Number of rows by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** The newest records of the audit log: the number of chains and records, and SHA-256 over all heads. */
  readonly log: { readonly chains: number; readonly records: number; readonly sha256: string };
  readonly keys: readonly KeyVersions[];
}

/** By the number of an environment, see `account-numbers.ts`. */
const ENVIRONMENTS = ['production', 'sandbox', 'service'];

const TABLES = `select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name`;
const HEADS = 'select account, lane, sequence, hash from journal_heads order by account, lane';
const KEYS = `select environment, purpose, group_concat(distinct version) as versions, count(*) as keys
  from wrapped_keys group by environment, purpose order by environment, purpose`;

/** Reads a file that no process has open. Throws `StorageError` when it is damaged, or no vault. */
export function inspectDatabaseFile(path: string): DatabaseFacts {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    const [check] = database.prepare('pragma integrity_check').all();
    if (check?.['integrity_check'] !== 'ok') throw new StorageError(`${path}: its pages are damaged`);
    const names = database
      .prepare(TABLES)
      .all()
      .map(({ name }) => String(name));
    const rows = Object.fromEntries(names.map((name) => [name, countRows(database as DatabaseSync, name)]));
    const register = database.prepare('select lanes from lane_register where account = 0').get();
    const lanes = JSON.parse(String(register?.['lanes'] ?? '[]')) as { first: string }[];
    return {
      vault: lanes[0] === undefined ? '' : createHash('sha256').update(`vault ${lanes[0].first}`).digest('hex'),
      schema: Number(database.prepare('select max(version) as version from schema_migrations').get()?.['version']),
      rows,
      log: { ...digestHeads(database), records: rows['journal'] ?? 0 },
      keys: listKeyVersions(database),
    };
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    throw new StorageError(`${path}: is no cardvault database`);
  } finally {
    database?.close();
  }
}

const countRows = (database: DatabaseSync, table: string): number =>
  Number(database.prepare(`select count(*) as rows from "${table}"`).get()?.['rows']);

function digestHeads(database: DatabaseSync): { chains: number; sha256: string } {
  const sha256 = createHash('sha256');
  let chains = 0;
  for (const { account, lane, sequence, hash } of database.prepare(HEADS).iterate()) {
    sha256.update(`${account}/${lane} ${sequence} ${hash}\n`);
    chains++;
  }
  return { chains, sha256: sha256.digest('hex') };
}

const listKeyVersions = (database: DatabaseSync): KeyVersions[] =>
  database
    .prepare(KEYS)
    .all()
    .map(({ environment, purpose, versions, keys }) => ({
      environment: ENVIRONMENTS[Number(environment)] ?? String(environment),
      purpose: String(purpose),
      versions: String(versions)
        .split(',')
        .map(Number)
        .sort((one, other) => one - other),
      keys: Number(keys),
    }));
