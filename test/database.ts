import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readConfig } from '../src/config.ts';
import { systemRandom } from '../src/crypto/random.ts';
import type { Database, Driver, Value } from '../src/storage/database.ts';
import { openDatabase } from '../src/storage/open.ts';
import { VAULT_TABLES } from '../src/storage/tables.ts';
import { sharedPostgres } from './postgres.ts';

/**
 * Which database the tests run over: SQLite, or with TEST_DATABASE=postgres a database of the run's PostgreSQL server
 * for each data folder. The same folder has the same database again.
 */
export const isPostgres = process.env['TEST_DATABASE'] === 'postgres';

const nameFor = (directory: string): string =>
  `of_${createHash('sha256').update(resolve(directory)).digest('hex').slice(0, 24)}`;

/** The settings by which a service on this data folder finds its database, which is made if there is none. */
export async function databaseSettings(directory: string | undefined): Promise<Record<string, string>> {
  if (!isPostgres || directory === undefined) return {};
  return { CARDVAULT_DATABASE_URL: await (await sharedPostgres()).newDatabase(nameFor(directory)) };
}

/** Nobody comes back to this folder. */
export async function dropDatabase(directory: string): Promise<void> {
  if (isPostgres) await (await sharedPostgres()).dropDatabase(nameFor(directory));
}

/** The database of a data folder, without a service. */
export const openFolder = async (directory: string): Promise<Driver> =>
  open({ CARDVAULT_DATA_DIR: directory, ...(await databaseSettings(directory)) });

export const openAddress = (address: string): Driver => open({ CARDVAULT_DATABASE_URL: address });

const open = (settings: Readonly<Record<string, string>>): Driver =>
  openDatabase(readConfig(settings).database, () => Date.now(), systemRandom()).database;

const bytesOf = (value: Value): Uint8Array => (value instanceof Uint8Array ? value : Buffer.from(`${value}\n`));

/** Every byte that is stored of a service: the files of its folder, and over PostgreSQL all values of its rows. */
export async function storedBytes(directory: string, database: Database): Promise<Buffer> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const stored: Uint8Array[] = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name)));
  for (const { name } of isPostgres ? VAULT_TABLES : [])
    for (const row of await database.read(`select * from ${name}`)) stored.push(...Object.values(row).map(bytesOf));
  return Buffer.concat(stored);
}
