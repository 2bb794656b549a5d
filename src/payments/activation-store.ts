import type { Keyring } from '../crypto/keyring.ts';
import { type EncryptionContext, encryptionContext } from '../crypto/seal.ts';
import { unsealJson } from '../crypto/sealed-json.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { blob, type Database, integer, type Row, text, type Write, write } from '../storage/database.ts';
import type { SealedColumns } from '../storage/sealed-columns.ts';
import type { Table } from '../storage/table.ts';
import type { ConfiguredSettings } from './settings.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'processor_configurations',
    key: ['account', 'environment', 'processor'],
    columns: { account: 'integer', environment: 'integer', processor: 'text', revision: 'integer', record: 'blob' },
  },
];

const FIND =
  'select processor, revision, record from processor_configurations where account = ?account and environment = ?environment';
const INSERT = `insert into processor_configurations (account, environment, processor, record, revision)
  values (?account, ?environment, ?, ?, 1) on conflict do nothing`;
const UPDATE = `update processor_configurations set record = ?, revision = revision + 1
  where account = ?account and environment = ?environment and processor = ? and revision = ?`;

/** Settings, and since when they name the same account at the processor: Unix time in milliseconds, 0 from the beginning. */
export interface AccountSettings {
  readonly configured: ConfiguredSettings;
  readonly accountSince: number;
}

/**
 * The settings of a processor, and the revision at which they were read. A row that was altered cannot be unsealed: it
 * can only be replaced completely, by settings that contain nothing of it.
 */
export type StoredSettings = { readonly revision: number } & (
  | ({ readonly isTampered: false } & AccountSettings)
  | { readonly isTampered: true; readonly configured?: undefined }
);

/**
 * The record of a row: the settings, which are texts, and beside them the time as a number. Release 0.1.0 writes the settings alone, and
 * reads this record too, because it uses the settings that it knows.
 */
type StoredRecord = Readonly<Record<string, string | number>>;

function fromRecord({ accountSince, ...settings }: StoredRecord): AccountSettings {
  const configured = settings as ConfiguredSettings;
  return typeof accountSince === 'number' ? { configured, accountSince } : { configured, accountSince: 0 };
}

const toRecord = ({ configured, accountSince }: AccountSettings): StoredRecord => ({ ...configured, accountSince });

const recordContext = ({ environment, account }: Tenant, processor: string, revision: number): EncryptionContext =>
  encryptionContext(environment, account, 'processor-configurations', processor, String(revision), 'record');

const toContext = (row: Row): EncryptionContext => {
  const tenant = { account: text(row, 'account'), environment: text(row, 'environment') as Environment };
  return recordContext(tenant, text(row, 'processor'), integer(row, 'revision'));
};

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'processor_configurations',
    purpose: 'payments',
    scope: 'tenant',
    key: ['processor'],
    bound: ['revision'],
    contexts: { record: toContext },
  },
];

/** Settings by the name of the processor. */
export async function findSettings(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
): Promise<Map<string, StoredSettings>> {
  const found = new Map<string, StoredSettings>();
  for (const row of await database.read(FIND, tenant.account, tenant.environment)) {
    const processor = text(row, 'processor');
    const revision = integer(row, 'revision');
    const place = recordContext(tenant, processor, revision);
    const record = await unsealJson<StoredRecord>(keyring, tenant, 'payments', place, blob(row, 'record'));
    if (record === undefined) found.set(processor, { isTampered: true, revision });
    else found.set(processor, { isTampered: false, ...fromRecord(record), revision });
  }
  return found;
}

/** Replaces revision `old`, or inserts the first; conflicts when another request was faster. */
export async function upsertSettings(
  keyring: Keyring,
  tenant: Tenant,
  processor: string,
  settings: AccountSettings,
  old: number | undefined,
): Promise<Write> {
  const seal = await keyring.sealer(tenant, 'payments', 1);
  const record = seal(recordContext(tenant, processor, (old ?? 0) + 1), JSON.stringify(toRecord(settings)));
  const scope = [tenant.account, tenant.environment, processor];
  return old === undefined ? write(INSERT, [...scope, record], 1) : write(UPDATE, [record, ...scope, old], 1);
}
