import type { Keyring } from '../../src/crypto/keyring.ts';
import type { EncryptionContext } from '../../src/crypto/seal.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { blob, type Database, integer, type Row, text, type Write, write } from '../../src/storage/database.ts';
import type { SealedColumns } from '../../src/storage/sealed-columns.ts';
import type { Table } from '../../src/storage/table.ts';
import { sealRecord, serviceContext, unsealRecord, unsealRows } from './sealing.ts';
import type { ViewedList } from './viewed-lists.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'saved_views',
    key: ['account', 'person', 'id'],
    columns: { account: 'integer', person: 'text', id: 'text', record: 'blob', created_at: 'integer' },
  },
];

interface SavedViewRecord {
  readonly list: ViewedList;
  readonly name: string;
  readonly filters: readonly { readonly name: string; readonly value: string }[];
}

/** Filters of a list that a member has named. */
export interface SavedView extends SavedViewRecord {
  readonly account: string;
  readonly person: string;
  readonly id: string;
  readonly createdAt: number;
}

interface StoredView extends SavedView {
  /** The record as stored: the row has not changed since it was read as long as this is the same. */
  readonly sealed: Uint8Array;
}

const COLUMNS = 'account, person, id, record, created_at';
const LIST = `select ${COLUMNS} from saved_views where account = ?account and person = ? order by created_at, id`;
/** A member who is being removed saves nothing that would stay. */
const INSERT = `insert into saved_views (account, person, id, record, created_at) select ?account, ?, ?, ?, ?
  where (select count(*) from saved_views where account = ?account and person = ?) < ${LIMITS.savedViewsPerMember}
    and exists (select 1 from memberships where account = ?account and person = ?)`;
const UPDATE = 'update saved_views set record = ? where account = ?account and person = ? and id = ? and record = ?';
const DELETE = 'delete from saved_views where account = ?account and person = ? and id = ?';
const DELETE_BY_MEMBER = 'delete from saved_views where account = ?account and person = ?';

type BoundColumns = Pick<SavedView, 'account' | 'person' | 'id' | 'createdAt'>;

const recordContext = ({ account, person, id, createdAt }: BoundColumns): EncryptionContext =>
  serviceContext('saved_views', account, person, id, String(createdAt));

/** Lists the views of a member, the oldest first, without altered rows. */
export const listSavedViews = async (
  database: Database,
  keyring: Keyring,
  account: string,
  person: string,
): Promise<StoredView[]> => unsealRows(await database.read(LIST, account, person), (row) => unsealView(keyring, row));

/** Conflicts when the member has as many views as allowed, or is no member. */
export async function insertSavedView(keyring: Keyring, view: SavedView): Promise<Write> {
  const { account, person, id, createdAt } = view;
  const values = [account, person, id, await sealView(keyring, view), createdAt];
  return write(INSERT, [...values, account, person, account, person], 1);
}

/** Conflicts when the view has changed since it was read, or was deleted. */
export async function updateSavedView(keyring: Keyring, { sealed, ...view }: StoredView): Promise<Write> {
  const { account, person, id } = view;
  return write(UPDATE, [await sealView(keyring, view), account, person, id, sealed], 1);
}

/** Conflicts when there is no such view. */
export const deleteSavedView = ({ account, person, id }: Pick<SavedView, 'account' | 'person' | 'id'>): Write =>
  write(DELETE, [account, person, id], 1);

export const deleteSavedViewsByMember = (account: string, person: string): Write =>
  write(DELETE_BY_MEMBER, [account, person]);

function sealView(keyring: Keyring, view: SavedView): Promise<Uint8Array> {
  const { list, name, filters } = view;
  const record: SavedViewRecord = { list, name, filters };
  return sealRecord(keyring, recordContext(view), record);
}

const toBoundColumns = (row: Row): BoundColumns => ({
  account: text(row, 'account'),
  person: text(row, 'person'),
  id: text(row, 'id'),
  createdAt: integer(row, 'created_at'),
});

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'saved_views',
    purpose: 'people',
    scope: 'service',
    key: ['account', 'person', 'id'],
    bound: ['created_at'],
    contexts: { record: (row) => recordContext(toBoundColumns(row)) },
  },
];

async function unsealView(keyring: Keyring, row: Row): Promise<StoredView | undefined> {
  const sealed = blob(row, 'record');
  const bound = toBoundColumns(row);
  const record = await unsealRecord<SavedViewRecord>(keyring, recordContext(bound), sealed);
  return record && { ...bound, ...record, sealed };
}
