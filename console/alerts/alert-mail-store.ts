import { type Database, integer, type Row, text, type Write, write } from '../../src/storage/database.ts';
import type { Table } from '../../src/storage/table.ts';

/** The outbox of mails about alerts, and when each user gets the next mail. */
export const TABLES: readonly Table[] = [
  {
    name: 'alert_mails',
    key: ['account', 'alert', 'person'],
    columns: { account: 'integer', alert: 'text', person: 'text', queued_at: 'integer', revision: 'integer' },
  },
  {
    name: 'mail_schedules',
    key: ['person'],
    columns: { person: 'text', due_at: 'integer', attempts: 'integer' },
  },
];

/** An alert that waits to be sent to a user. */
interface MailKey {
  readonly account: string;
  readonly alert: string;
  readonly person: string;
}

export interface QueuedMail extends MailKey {
  readonly queuedAt: number;
  /** Increases when the alert is queued again before it was sent. */
  readonly revision: number;
}

export interface DueRecipient {
  readonly person: string;
  /** Failures since the last mail. */
  readonly attempts: number;
}

const UPSERT = `insert into alert_mails (account, alert, person, queued_at, revision) values (?account, ?, ?, ?, 1)
  on conflict (account, alert, person) do update set revision = alert_mails.revision + 1`;
const COUNT = 'select count(*) as number from alert_mails';
const LIST_DUE = `select distinct alert_mails.person as person, coalesce(mail_schedules.attempts, 0) as attempts
  from alert_mails left join mail_schedules on mail_schedules.person = alert_mails.person
  where coalesce(mail_schedules.due_at, 0) <= ? limit ?`;
const LIST = `select account, alert, person, queued_at, revision from alert_mails where person = ?
  order by queued_at, alert`;
const DELETE = 'delete from alert_mails where account = ?account and alert = ? and person = ? and revision = ?';
const CLAIM = `insert into mail_schedules (person, due_at, attempts) values (?, ?, 0)
  on conflict (person) do update set due_at = excluded.due_at where mail_schedules.due_at <= ?`;
const SCHEDULE = 'update mail_schedules set due_at = ?, attempts = ? where person = ?';

/** Queues an alert; one that is queued already counts as another one, also while it is being sent. */
export const queueMail = ({ account, alert, person }: MailKey, now: number): Write =>
  write(UPSERT, [account, alert, person, now]);

export const countQueuedMails = async (database: Database): Promise<number> =>
  integer((await database.read(COUNT))[0] ?? {}, 'number');

export const listDueRecipients = async (database: Database, now: number, limit: number): Promise<DueRecipient[]> =>
  (await database.read(LIST_DUE, now, limit)).map((row) => ({
    person: text(row, 'person'),
    attempts: integer(row, 'attempts'),
  }));

export const listQueuedMails = async (database: Database, person: string): Promise<QueuedMail[]> =>
  (await database.read(LIST, person)).map(toQueuedMail);

const toQueuedMail = (row: Row): QueuedMail => ({
  account: text(row, 'account'),
  alert: text(row, 'alert'),
  person: text(row, 'person'),
  queuedAt: integer(row, 'queued_at'),
  revision: integer(row, 'revision'),
});

/** Deletes what was sent. An alert that was queued again in the meantime remains. */
export const deleteQueuedMails = (mails: readonly QueuedMail[]): Write => ({
  sql: DELETE,
  rows: mails.map(({ account, alert, person, revision }) => [account, alert, person, revision]),
});

/** Sets the time of the next mail of a user whose time has come; conflicts when another node was faster. */
export const claimRecipient = (person: string, now: number, until: number): Write =>
  write(CLAIM, [person, until, now], 1);

export const scheduleRecipient = (person: string, dueAt: number, attempts: number): Write =>
  write(SCHEDULE, [dueAt, attempts, person]);
