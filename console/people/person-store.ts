import type { Keyring } from '../../src/crypto/keyring.ts';
import type { EncryptionContext } from '../../src/crypto/seal.ts';
import { blob, type Database, integer, type Row, text, type Write, write } from '../../src/storage/database.ts';
import type { DigestColumn } from '../../src/storage/digest-columns.ts';
import type { SealedColumns } from '../../src/storage/sealed-columns.ts';
import type { Table } from '../../src/storage/table.ts';
import { lockFirstVersion } from '../../src/storage/wrapped-key-store.ts';
import type { Person } from './person.ts';
import { normalizeEmail } from './person.ts';
import {
  computeDigest,
  DIGESTS_OWNER,
  isDigestValid,
  listDigests,
  PEOPLE_DIGESTS,
  sealRecord,
  serviceContext,
  unsealRecord,
} from './sealing.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'people',
    key: ['id'],
    columns: {
      id: 'text',
      email: 'blob',
      record: 'blob',
      revision: 'integer',
      created_at: 'integer',
    },
  },
];

const COLUMNS = 'id, record, revision, created_at';
const FIND = `select ${COLUMNS} from people where id = ?`;
const findByEmailSql = (digests: number): string =>
  `select ${COLUMNS} from people where email in (${Array(digests).fill('?').join(', ')})`;
const INSERT = `insert into people (id, email, record, revision, created_at) values (?, ?, ?, ?, ?)
  on conflict do nothing`;
/** While the key of digests has several versions, the unique index alone does not see a user under another one. */
const insertUnlessSql = (digests: number): string => `insert into people (id, email, record, revision, created_at)
  select ?, ?, ?, ?, ? where not exists (select 1 from people where email in (${Array(digests).fill('?').join(', ')}))
  on conflict do nothing`;
const REPLACE_EMAIL = 'update people set email = ? where id = ? and email = ?';
const UPDATE = 'update people set record = ?, revision = ? where id = ? and revision = ?';
const LOCK = 'update people set revision = revision where id = ? and revision = ?';
const DELETE = 'delete from people where id = ? and revision = ?';

type Sealed = Pick<
  Person,
  'email' | 'isEmailUnconfirmed' | 'name' | 'language' | 'timeZone' | 'alertMails' | 'password' | 'formerPasswords'
>;

const recordContext = ({ id, revision, createdAt }: Pick<Person, 'id' | 'revision' | 'createdAt'>): EncryptionContext =>
  serviceContext('people', id, String(revision), String(createdAt));

const toBoundColumns = (row: Row): Pick<Person, 'id' | 'revision' | 'createdAt'> => ({
  id: text(row, 'id'),
  revision: integer(row, 'revision'),
  createdAt: integer(row, 'created_at'),
});

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'people',
    purpose: 'people',
    scope: 'service',
    key: ['id'],
    bound: ['revision', 'created_at'],
    contexts: { record: (row) => recordContext(toBoundColumns(row)) },
  },
];

/** Finds a user; undefined also when the row was altered or moved in the database. */
export const findPerson = async (database: Database, keyring: Keyring, id: string): Promise<Person | undefined> =>
  unsealPerson(keyring, (await database.read(FIND, id))[0]);

export async function findPersonByEmail(
  database: Database,
  keyring: Keyring,
  email: string,
): Promise<Person | undefined> {
  const normalized = normalizeEmail(email);
  const digests = await listDigests(keyring, 'email', normalized);
  const [row] = await database.read(findByEmailSql(digests.length), ...digests);
  const person = await unsealPerson(keyring, row);
  return person !== undefined && normalizeEmail(person.email) === normalized ? person : undefined;
}

/**
 * Conflicts when another user has the email, under any version of the key of digests: inserts then wait for one another, because
 * two that run concurrently would not see each other's rows.
 */
export async function insertPerson(keyring: Keyring, person: Person): Promise<Write[]> {
  const { id, revision, createdAt } = person;
  const digests = await listDigests(keyring, 'email', normalizeEmail(person.email));
  const record = await sealPerson(keyring, person);
  const values = [id, digests[0] ?? null, record, revision, createdAt];
  if (digests.length === 1) return [write(INSERT, values, 1)];
  return [lockFirstVersion(DIGESTS_OWNER), write(insertUnlessSql(digests.length), [...values, ...digests], 1)];
}

export const DIGEST_COLUMNS: readonly DigestColumn[] = [
  {
    table: 'people',
    purpose: PEOPLE_DIGESTS,
    scope: 'service',
    key: ['id'],
    column: 'email',
    selects: ['record', 'revision', 'created_at'],
    renew: async ({ keyring }, row) => {
      const person = await unsealPerson(keyring, row);
      if (person === undefined) return 'altered';
      const email = normalizeEmail(person.email);
      if (!(await isDigestValid(keyring, row['email'], 'email', email))) return 'altered';
      const digest = await computeDigest(keyring, 'email', email);
      return [write(REPLACE_EMAIL, [digest, person.id, blob(row, 'email')], 1)];
    },
  },
];

/** Updates a user. Conflicts when the user has changed since they were read. */
export async function updatePerson(
  keyring: Keyring,
  before: Person,
  changes: Partial<Omit<Person, 'id' | 'email' | 'revision' | 'createdAt'>>,
): Promise<{ write: Write; person: Person }> {
  const person = { ...before, ...changes, revision: before.revision + 1 };
  const record = await sealPerson(keyring, person);
  return { person, write: write(UPDATE, [record, person.revision, before.id, before.revision], 1) };
}

/** Conflicts when any value of the user has changed since they were read. */
export const deletePerson = ({ id, revision }: Person): Write => write(DELETE, [id, revision], 1);

/**
 * Changes the email, which is not confirmed then, by deleting and inserting the row. The first write conflicts when the user has changed since they were
 * read, the last when another user has the email.
 */
export async function updateEmail(
  keyring: Keyring,
  before: Person,
  email: string,
): Promise<{ writes: readonly [Write, ...Write[]]; person: Person }> {
  const person = { ...before, email, isEmailUnconfirmed: true, revision: before.revision + 1 };
  return { person, writes: [deletePerson(before), ...(await insertPerson(keyring, person))] };
}

/** Changes nothing; conflicts when the user has changed since they were read. */
export const lockPerson = ({ id, revision }: Person): Write => write(LOCK, [id, revision], 1);

function sealPerson(keyring: Keyring, person: Person): Promise<Uint8Array> {
  const { email, isEmailUnconfirmed, name, language, timeZone, alertMails, password, formerPasswords } = person;
  const sealed: Sealed = { email, isEmailUnconfirmed, name, language, timeZone, alertMails, password, formerPasswords };
  return sealRecord(keyring, recordContext(person), sealed);
}

async function unsealPerson(keyring: Keyring, row: Row | undefined): Promise<Person | undefined> {
  if (row === undefined) return undefined;
  const columns = toBoundColumns(row);
  const sealed = await unsealRecord<Sealed>(keyring, recordContext(columns), blob(row, 'record'));
  if (sealed === undefined) return undefined;
  return { ...columns, ...sealed };
}
