import type { Keyring } from '../../src/crypto/keyring.ts';
import type { EncryptionContext } from '../../src/crypto/seal.ts';
import type { Random } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import { blob, type Database, integer, text, type Write, write } from '../../src/storage/database.ts';
import type { SealedColumns } from '../../src/storage/sealed-columns.ts';
import type { Table } from '../../src/storage/table.ts';
import type { Language } from '../people/person.ts';
import { sealRecord, serviceContext, unsealRecord } from '../people/sealing.ts';

/** The outbox of mails to a user about their own sign-in. */
export const TABLES: readonly Table[] = [
  {
    name: 'person_mails',
    key: ['person', 'id'],
    columns: {
      person: 'text',
      id: 'text',
      record: 'blob',
      queued_at: 'integer',
      due_at: 'integer',
      attempts: 'integer',
    },
  },
];

/** The sealed part of a mail. */
export interface PersonMail {
  readonly kind:
    | 'email-changed'
    | 'email-code'
    | 'password-changed'
    | 'factors-changed'
    | 'sign-in-reset'
    | 'new-browser';
  /** The address, which the user may have changed since. */
  readonly to: string;
  readonly language: Language;
  /** For `email-code`. */
  readonly code?: string;
}

export interface DueMail {
  readonly person: string;
  readonly id: string;
  readonly queuedAt: number;
  readonly dueAt: number;
  /** Failures so far. */
  readonly attempts: number;
  /** Undefined when the row was altered in the database. */
  readonly mail: PersonMail | undefined;
}

const ID_CHARACTERS = 16;
const INSERT = `insert into person_mails (person, id, record, queued_at, due_at, attempts) values (?, ?, ?, ?, ?, 0)
  on conflict do nothing`;
const LIST_DUE = `select person, id, record, queued_at, due_at, attempts from person_mails where due_at <= ?
  order by due_at limit ?`;
const SCHEDULE = 'update person_mails set due_at = ?, attempts = ? where person = ? and id = ? and due_at = ?';
const DELETE = 'delete from person_mails where person = ? and id = ?';

const recordContext = (person: string, id: string): EncryptionContext => serviceContext('person_mails', person, id);

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'person_mails',
    purpose: 'people',
    scope: 'service',
    key: ['person', 'id'],
    bound: [],
    contexts: { record: (row) => recordContext(text(row, 'person'), text(row, 'id')) },
  },
];

/** Queues a mail; it is sent within seconds after the commit. */
export async function queuePersonMail(
  { keyring, random }: { readonly keyring: Keyring; readonly random: Random },
  person: string,
  mail: PersonMail,
  now: number,
): Promise<Write> {
  const id = newId('mail', ID_CHARACTERS, random);
  const record = await sealRecord(keyring, recordContext(person, id), mail);
  return write(INSERT, [person, id, record, now, now], 1);
}

export async function listDueMails(
  database: Database,
  keyring: Keyring,
  now: number,
  limit: number,
): Promise<DueMail[]> {
  const mails: DueMail[] = [];
  for (const row of await database.read(LIST_DUE, now, limit)) {
    const [person, id] = [text(row, 'person'), text(row, 'id')];
    const mail = await unsealRecord<PersonMail>(keyring, recordContext(person, id), blob(row, 'record'));
    const times = { queuedAt: integer(row, 'queued_at'), dueAt: integer(row, 'due_at') };
    mails.push({ person, id, ...times, attempts: integer(row, 'attempts'), mail });
  }
  return mails;
}

/** Moves the time of the next attempt; conflicts when another node was faster. */
export const scheduleMail = ({ person, id, dueAt }: DueMail, next: number, attempts: number): Write =>
  write(SCHEDULE, [next, attempts, person, id, dueAt], 1);

export const deleteMail = ({ person, id }: DueMail): Write => write(DELETE, [person, id]);
