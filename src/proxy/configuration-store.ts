import type { Keyring } from '../crypto/keyring.ts';
import { type EncryptionContext, encryptionContext } from '../crypto/seal.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import {
  blob,
  type Database,
  integer,
  integerOrNull,
  text,
  type Value,
  type Write,
  write,
} from '../storage/database.ts';
import type { Table } from '../storage/table.ts';
import { type Configuration, configurationFrom, endOf, latest, recordOf } from './configuration.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'proxy_configurations',
    key: ['account', 'environment'],
    columns: {
      account: 'text',
      environment: 'text',
      revision: 'integer',
      record: 'blob',
      merchant_expires_at: 'integer',
      processor_expires_at: 'integer',
    },
  },
];

const REVISION = 'select revision from proxy_configurations where account = ? and environment = ?';
const FIND = `select revision, record, merchant_expires_at, processor_expires_at from proxy_configurations
  where account = ? and environment = ?`;
const INSERT = `insert into proxy_configurations (account, environment, record, merchant_expires_at,
  processor_expires_at, revision) values (?, ?, ?, ?, ?, 1) on conflict do nothing`;
const UPDATE = `update proxy_configurations
  set record = ?, merchant_expires_at = ?, processor_expires_at = ?, revision = revision + 1
  where account = ? and environment = ? and revision = ?`;
const EXPIRIES = `select account, environment, merchant_expires_at, processor_expires_at from proxy_configurations
  where merchant_expires_at is not null or processor_expires_at is not null`;

/** A configuration with the revision it was read at. */
export interface StoredConfiguration {
  readonly configuration: Configuration;
  readonly revision: number;
}

type Ends = readonly [merchant: number | null, processor: number | null];

/** Bound to the columns in clear, too. */
const placeOfRecord = ({ environment, account }: Tenant, revision: number, ends: Ends): EncryptionContext =>
  encryptionContext(environment, account, 'proxy-configurations', String(revision), ...ends.map(String), 'record');

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
  const ends = [
    integerOrNull(row, 'merchant_expires_at') ?? null,
    integerOrNull(row, 'processor_expires_at') ?? null,
  ] as const;
  const record = await keyring.unseal(tenant, 'proxy', placeOfRecord(tenant, revision, ends), blob(row, 'record'));
  try {
    return { configuration: configurationFrom(record.toString('utf8')), revision };
  } finally {
    record.fill(0);
  }
}

/** Takes the place of revision `old`, or is the first; conflicts when somebody else was faster. */
export async function putConfiguration(
  keyring: Keyring,
  tenant: Tenant,
  configuration: Configuration,
  old: number | undefined,
): Promise<Write> {
  const { merchant, processor } = configuration;
  const ends: Ends = [
    merchant === undefined ? null : endOf(latest(merchant).certificate),
    (processor && latest(processor).expiresAt) ?? null,
  ];
  const seal = await keyring.sealer(tenant, 'proxy', 1);
  const record = seal(placeOfRecord(tenant, (old ?? 0) + 1, ends), recordOf(configuration));
  const scope: Value[] = [tenant.account, tenant.environment];
  if (old === undefined) return write(INSERT, [...scope, record, ...ends], 1);
  return write(UPDATE, [record, ...ends, ...scope, old], 1);
}

/** When a certificate of a tenant ends, milliseconds. */
export interface CertificateEnd extends Tenant {
  readonly certificate: 'merchant' | 'processor';
  readonly at: number;
}

export async function certificateEnds(database: Database): Promise<CertificateEnd[]> {
  const rows = await database.read(EXPIRIES);
  return rows.flatMap((row) => {
    const tenant = { account: text(row, 'account'), environment: text(row, 'environment') as Environment };
    return (['merchant', 'processor'] as const).flatMap((certificate) => {
      const at = integerOrNull(row, `${certificate}_expires_at`);
      return at === undefined ? [] : [{ ...tenant, certificate, at }];
    });
  });
}
