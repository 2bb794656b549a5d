import type { Keyring } from '../crypto/keyring.ts';
import { type EncryptionContext, encryptionContext } from '../crypto/seal.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import {
  blob,
  type Database,
  integer,
  integerOrNull,
  type Row,
  text,
  type Value,
  type Write,
  write,
} from '../storage/database.ts';
import type { SealedColumns } from '../storage/sealed-columns.ts';
import type { Table } from '../storage/table.ts';
import { expiryOf, fromRecord, newest, type ProxyConfiguration, toRecord } from './proxy-configuration.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'proxy_configurations',
    key: ['account', 'environment'],
    columns: {
      account: 'integer',
      environment: 'integer',
      revision: 'integer',
      record: 'blob',
      merchant_expires_at: 'integer',
      processor_expires_at: 'integer',
    },
  },
];

const REVISION = 'select revision from proxy_configurations where account = ?account and environment = ?environment';
const FIND = `select revision, record, merchant_expires_at, processor_expires_at from proxy_configurations
  where account = ?account and environment = ?environment`;
const INSERT = `insert into proxy_configurations (account, environment, record, merchant_expires_at,
  processor_expires_at, revision) values (?account, ?environment, ?, ?, ?, 1) on conflict do nothing`;
const UPDATE = `update proxy_configurations
  set record = ?, merchant_expires_at = ?, processor_expires_at = ?, revision = revision + 1
  where account = ?account and environment = ?environment and revision = ?`;
const LIST_EXPIRIES = `select account, environment, merchant_expires_at, processor_expires_at from proxy_configurations
  where merchant_expires_at is not null or processor_expires_at is not null`;

/** A configuration with the revision at which it was read. */
export interface StoredConfiguration {
  readonly configuration: ProxyConfiguration;
  readonly revision: number;
}

type Expiries = readonly [merchant: number | null, processor: number | null];

/** The encryption context includes the columns in clear. */
const recordContext = ({ environment, account }: Tenant, revision: number, expiries: Expiries): EncryptionContext =>
  encryptionContext(environment, account, 'proxy-configurations', String(revision), ...expiries.map(String), 'record');

const toExpiries = (row: Row): Expiries => [
  integerOrNull(row, 'merchant_expires_at') ?? null,
  integerOrNull(row, 'processor_expires_at') ?? null,
];

const toContext = (row: Row): EncryptionContext => {
  const tenant = { account: text(row, 'account'), environment: text(row, 'environment') as Environment };
  return recordContext(tenant, integer(row, 'revision'), toExpiries(row));
};

/** One row at most for each tenant. */
export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'proxy_configurations',
    purpose: 'proxy',
    scope: 'tenant',
    key: ['environment'],
    bound: ['revision', 'merchant_expires_at', 'processor_expires_at'],
    contexts: { record: toContext },
  },
];

export async function findRevision(database: Database, { account, environment }: Tenant): Promise<number | undefined> {
  const [row] = await database.read(REVISION, account, environment);
  return row === undefined ? undefined : integer(row, 'revision');
}

export async function findConfiguration(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
): Promise<StoredConfiguration | undefined> {
  const [row] = await database.read(FIND, tenant.account, tenant.environment);
  if (row === undefined) return undefined;
  const revision = integer(row, 'revision');
  const expiries = toExpiries(row);
  const record = await keyring.unseal(tenant, 'proxy', recordContext(tenant, revision, expiries), blob(row, 'record'));
  try {
    return { configuration: fromRecord(record.toString('utf8')), revision };
  } finally {
    record.fill(0);
  }
}

/** Replaces revision `old`, or inserts the first; conflicts when another request was faster. */
export async function upsertConfiguration(
  keyring: Keyring,
  tenant: Tenant,
  configuration: ProxyConfiguration,
  old: number | undefined,
): Promise<Write> {
  const { merchant, processor } = configuration;
  const expiries: Expiries = [
    merchant === undefined ? null : expiryOf(newest(merchant).certificate),
    (processor && newest(processor).expiresAt) ?? null,
  ];
  const seal = await keyring.sealer(tenant, 'proxy', 1);
  const record = seal(recordContext(tenant, (old ?? 0) + 1, expiries), toRecord(configuration));
  const scope: Value[] = [tenant.account, tenant.environment];
  if (old === undefined) return write(INSERT, [...scope, record, ...expiries], 1);
  return write(UPDATE, [record, ...expiries, ...scope, old], 1);
}

/** Expiry of a tenant's certificate, in milliseconds. */
export interface CertificateExpiry extends Tenant {
  readonly certificate: 'merchant' | 'processor';
  readonly expiresAt: number;
}

export async function listCertificateExpiries(database: Database): Promise<CertificateExpiry[]> {
  const rows = await database.read(LIST_EXPIRIES);
  return rows.flatMap((row) => {
    const tenant = { account: text(row, 'account'), environment: text(row, 'environment') as Environment };
    return (['merchant', 'processor'] as const).flatMap((certificate) => {
      const expiresAt = integerOrNull(row, `${certificate}_expires_at`);
      return expiresAt === undefined ? [] : [{ ...tenant, certificate, expiresAt }];
    });
  });
}
