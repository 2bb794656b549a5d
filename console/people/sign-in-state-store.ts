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
import { sealRecord, serviceContext, unsealRecord, unsealRows } from './sealing.ts';
import type { SignInState } from './sign-in-state.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'sign_in_states',
    key: ['person'],
    columns: {
      person: 'text',
      record: 'blob',
      last_sign_in_at: 'integer',
      password_blocked_at: 'integer',
      disabled_at: 'integer',
    },
  },
];

/** A state as it was read; `sealed` is equal as long as the row is unchanged. */
export interface StoredSignInState extends SignInState {
  readonly person: string;
  readonly sealed: Uint8Array;
}

const COLUMNS = 'person, record, last_sign_in_at, password_blocked_at, disabled_at';
const FIND = `select ${COLUMNS} from sign_in_states where person = ?`;
const LIST_BY_ACCOUNT = `select ${COLUMNS} from sign_in_states
  where person in (select person from memberships where account = ?account)`;
const LIST_INACTIVE = `select ${COLUMNS} from sign_in_states
  where disabled_at is null and last_sign_in_at <= ? and (last_sign_in_at, person) > (?, ?)
  order by last_sign_in_at, person limit ?`;
const COUNT_INACTIVE = `select count(*) as number from sign_in_states
  where disabled_at is null and last_sign_in_at <= ?`;
const COUNT_BLOCKED = 'select count(*) as number from sign_in_states where password_blocked_at is not null';
/** A credential reset also replaces an altered row. */
const REPLACE = `insert into sign_in_states (${COLUMNS}) values (?, ?, ?, ?, ?)
  on conflict (person) do update set record = excluded.record, last_sign_in_at = excluded.last_sign_in_at,
    password_blocked_at = excluded.password_blocked_at, disabled_at = excluded.disabled_at`;
const UPDATE = `update sign_in_states
  set record = ?, last_sign_in_at = ?, password_blocked_at = ?, disabled_at = ? where person = ? and record = ?`;
const LOCK = 'update sign_in_states set disabled_at = disabled_at where person = ? and record = ?';
const DELETE = 'delete from sign_in_states where person = ?';

type BoundColumns = Pick<StoredSignInState, 'person' | 'lastSignInAt' | 'passwordBlockedAt' | 'disabledAt'>;

/** Binds the columns in clear: nothing can be enabled, unblocked or reset by writing to the database. */
const recordContext = ({ person, lastSignInAt, passwordBlockedAt, disabledAt }: BoundColumns): EncryptionContext =>
  serviceContext('sign_in_states', person, ...[lastSignInAt, passwordBlockedAt ?? '', disabledAt ?? ''].map(String));

const toBoundColumns = (row: Row): BoundColumns => ({
  person: text(row, 'person'),
  lastSignInAt: integer(row, 'last_sign_in_at'),
  passwordBlockedAt: integerOrNull(row, 'password_blocked_at'),
  disabledAt: integerOrNull(row, 'disabled_at'),
});

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'sign_in_states',
    purpose: 'people',
    scope: 'service',
    key: ['person'],
    bound: ['last_sign_in_at', 'password_blocked_at', 'disabled_at'],
    contexts: { record: (row) => recordContext(toBoundColumns(row)) },
  },
];

type Sealed = Omit<SignInState, 'lastSignInAt' | 'passwordBlockedAt' | 'disabledAt'>;

/** Returns undefined also when the row was altered or deleted in the database; sign-ins are then rejected. */
export async function findSignInState(
  database: Database,
  keyring: Keyring,
  person: string,
): Promise<StoredSignInState | undefined> {
  const [row] = await database.read(FIND, person);
  return row === undefined ? undefined : unsealState(keyring, row);
}

/** Lists the states of an account's members, by their ids. */
export async function listSignInStates(
  database: Database,
  keyring: Keyring,
  account: string,
): Promise<ReadonlyMap<string, StoredSignInState>> {
  const rows = await database.read(LIST_BY_ACCOUNT, account);
  const states = await unsealRows(rows, (row) => unsealState(keyring, row));
  return new Map(states.map((state) => [state.person, state]));
}

/**
 * Lists users who are enabled and did not sign in since `before`, the longest inactive first. `next` is where the next page
 * begins; undefined after the last one.
 */
export async function listInactive(
  database: Database,
  keyring: Keyring,
  { before, after }: { readonly before: number; readonly after: Pick<StoredSignInState, 'lastSignInAt' | 'person'> },
  limit: number,
): Promise<{ readonly states: StoredSignInState[]; readonly next: typeof after | undefined }> {
  const rows = await database.read(LIST_INACTIVE, before, after.lastSignInAt, after.person, limit);
  const states = await unsealRows(rows, (row) => unsealState(keyring, row));
  const last = rows.length < limit ? undefined : rows.at(-1);
  const next = last && { lastSignInAt: integer(last, 'last_sign_in_at'), person: text(last, 'person') };
  return { states, next };
}

/** Counts users who are enabled and did not sign in since `before`. */
export const countInactive = async (database: Database, before: number): Promise<number> =>
  Number((await database.read(COUNT_INACTIVE, before))[0]?.['number']);

/** Counts users whose password is not accepted any more. */
export const countBlockedPasswords = async (database: Database): Promise<number> =>
  Number((await database.read(COUNT_BLOCKED))[0]?.['number']);

/** Writes the state of a new user, or of one whose credentials are reset. */
export async function replaceSignInState(keyring: Keyring, person: string, state: SignInState): Promise<Write> {
  return write(REPLACE, [person, ...(await columnValues(keyring, person, state))], 1);
}

/** Conflicts when the state has changed since it was read. */
export async function updateSignInState(
  keyring: Keyring,
  { person, sealed }: StoredSignInState,
  state: SignInState,
): Promise<Write> {
  return write(UPDATE, [...(await columnValues(keyring, person, state)), person, sealed], 1);
}

/** Changes nothing; conflicts as `updateSignInState`. */
export const lockSignInState = ({ person, sealed }: StoredSignInState): Write => write(LOCK, [person, sealed], 1);

export const deleteSignInState = (person: string): Write => write(DELETE, [person]);

async function columnValues(keyring: Keyring, person: string, state: SignInState) {
  const { networks, browsers, newNetworks, factorFailures, usedChallenges } = state;
  const { lastSignInAt, passwordBlockedAt, disabledAt } = state;
  const sealed: Sealed = { networks, browsers, newNetworks, factorFailures, usedChallenges };
  const record = await sealRecord(keyring, recordContext({ person, ...state }), sealed);
  return [record, lastSignInAt, passwordBlockedAt ?? null, disabledAt ?? null];
}

async function unsealState(keyring: Keyring, row: Row): Promise<StoredSignInState | undefined> {
  const bound = toBoundColumns(row);
  const sealed = blob(row, 'record');
  const state = await unsealRecord<Sealed>(keyring, recordContext(bound), sealed);
  return state === undefined ? undefined : { ...bound, ...state, sealed };
}
