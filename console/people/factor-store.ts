import type { Keyring } from '../../src/crypto/keyring.ts';
import type { EncryptionContext } from '../../src/crypto/seal.ts';
import {
  blob,
  type Database,
  integer,
  integerOrNull,
  type Row,
  text,
  type Write,
  write,
} from '../../src/storage/database.ts';
import type { SealedColumns } from '../../src/storage/sealed-columns.ts';
import type { Table } from '../../src/storage/table.ts';
import type { Passkey } from './passkey.ts';
import type { RecoveryCodeDigests } from './recovery-codes.ts';
import { sealRecord, serviceContext, unsealRecord, unsealRows } from './sealing.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'factors',
    key: ['person', 'id'],
    columns: {
      person: 'text',
      id: 'text',
      kind: 'text',
      record: 'blob',
      counter: 'integer',
      created_at: 'integer',
      last_used_at: 'integer',
    },
  },
];

interface Records {
  /** Base32. */
  readonly totp: { readonly secret: string };
  readonly passkey: Passkey;
  readonly 'recovery-codes': RecoveryCodeDigests;
}

type FactorKind = keyof Records;

interface NewFactorOf<K extends FactorKind> {
  readonly person: string;
  readonly id: string;
  readonly kind: K;
  readonly record: Records[K];
  /** The newest time step whose code was used, the signature counter of a passkey, or which recovery codes are used. */
  readonly counter: number;
  readonly createdAt: number;
  readonly lastUsedAt: number | undefined;
}

interface FactorOf<K extends FactorKind> extends NewFactorOf<K> {
  /** The record as stored: the row has not changed since it was read as long as this is the same. */
  readonly sealed: Uint8Array;
}

/** A factor that is not stored yet. */
export type NewFactor = { [K in FactorKind]: NewFactorOf<K> }[FactorKind];

export type Factor = { [K in FactorKind]: FactorOf<K> }[FactorKind];

const COLUMNS = 'person, id, kind, record, counter, created_at, last_used_at';
const LIST_BY_PERSON = `select ${COLUMNS} from factors where person = ? order by created_at, id`;
const INSERT = `insert into factors (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?)`;
const UPDATE = `update factors set record = ?, counter = ?, last_used_at = ?
  where person = ? and id = ? and record = ?`;
const DELETE = 'delete from factors where person = ? and id = ?';
const DELETE_BY_PERSON = 'delete from factors where person = ?';

type BoundColumns = Pick<NewFactor, 'person' | 'id' | 'kind' | 'counter' | 'createdAt' | 'lastUsedAt'>;

/** Binds every column in clear: turning back a counter in the database makes the factor invalid. */
const recordContext = ({ person, id, kind, counter, createdAt, lastUsedAt }: BoundColumns): EncryptionContext =>
  serviceContext('factors', person, id, kind, ...[counter, createdAt, lastUsedAt ?? ''].map(String));

/** Lists the factors of a user, without altered rows. */
export const listFactorsByPerson = async (database: Database, keyring: Keyring, person: string): Promise<Factor[]> =>
  unsealRows(await database.read(LIST_BY_PERSON, person), (row) => unsealFactor(keyring, row));

export async function insertFactor(keyring: Keyring, factor: NewFactor): Promise<Write> {
  const { person, id, kind, counter, createdAt, lastUsedAt } = factor;
  const record = await sealRecord(keyring, recordContext(factor), factor.record);
  return write(INSERT, [person, id, kind, record, counter, createdAt, lastUsedAt ?? null], 1);
}

/** Conflicts when the factor was used, changed or deleted since it was read. */
export const consumeFactor = (keyring: Keyring, factor: Factor, counter: number, at: number): Promise<Write> =>
  updateFactor(keyring, { ...factor, counter, lastUsedAt: at });

/** Stores new values of a factor that was read. Conflicts as `consumeFactor`. */
export async function updateFactor(keyring: Keyring, factor: Factor): Promise<Write> {
  const { person, id, counter, lastUsedAt, sealed } = factor;
  const record = await sealRecord(keyring, recordContext(factor), factor.record);
  return write(UPDATE, [record, counter, lastUsedAt ?? null, person, id, sealed], 1);
}

/** Conflicts when it was deleted. */
export const deleteFactor = (person: string, id: string): Write => write(DELETE, [person, id], 1);

export const deleteFactorsByPerson = (person: string): Write => write(DELETE_BY_PERSON, [person]);

const toBoundColumns = (row: Row): BoundColumns => ({
  person: text(row, 'person'),
  id: text(row, 'id'),
  kind: text(row, 'kind') as FactorKind,
  counter: integer(row, 'counter'),
  createdAt: integer(row, 'created_at'),
  lastUsedAt: integerOrNull(row, 'last_used_at'),
});

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'factors',
    purpose: 'people',
    scope: 'service',
    key: ['person', 'id'],
    bound: ['kind', 'counter', 'created_at', 'last_used_at'],
    contexts: { record: (row) => recordContext(toBoundColumns(row)) },
  },
];

async function unsealFactor(keyring: Keyring, row: Row): Promise<Factor | undefined> {
  const sealed = blob(row, 'record');
  const bound = toBoundColumns(row);
  const record = await unsealRecord(keyring, recordContext(bound), sealed);
  return record === undefined ? undefined : ({ ...bound, record, sealed } as Factor);
}
