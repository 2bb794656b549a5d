import type { Environment } from '../../src/kernel/environment.ts';
import {
  type Database,
  integer,
  integerOrNull,
  type Row,
  text,
  type Write,
  write,
} from '../../src/storage/database.ts';
import type { Table } from '../../src/storage/table.ts';
import { ALERT_KINDS, type Alert, type Finding, SEVERITIES } from './alert.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'alerts',
    key: ['account', 'environment', 'kind', 'subject'],
    columns: {
      account: 'integer',
      environment: 'integer',
      kind: 'text',
      subject: 'text',
      id: 'text',
      label: 'text',
      severity: 'text',
      number: 'integer',
      expires_at: 'integer',
      since: 'integer',
    },
  },
  {
    name: 'seen_alerts',
    key: ['account', 'alert', 'person'],
    columns: { account: 'integer', alert: 'text', person: 'text' },
  },
];

const COLUMNS = 'account, environment, kind, subject, id, label, severity, number, expires_at, since';
const LIST = `select ${COLUMNS} from alerts order by id`;
const LIST_OF_ACCOUNT = `select ${COLUMNS} from alerts where account = ?account`;
const LIST_SEEN = 'select alert from seen_alerts where account = ?account and person = ?';
const UPSERT = `insert into alerts (${COLUMNS}) values (?account, ?environment, ?, ?, ?, ?, ?, ?, ?, ?)
  on conflict (account, environment, kind, subject) do update set label = excluded.label, severity = excluded.severity,
    number = excluded.number, expires_at = excluded.expires_at`;
const DELETE =
  'delete from alerts where account = ?account and environment = ?environment and kind = ? and subject = ?';
const DELETE_SEEN = 'delete from seen_alerts where account = ?account and alert = ?';
const MARK_SEEN = `insert into seen_alerts (account, alert, person)
  select account, id, ? from alerts where account = ?account and id = ? on conflict do nothing`;

/** All alerts, the oldest first. */
export const listAlerts = async (database: Database): Promise<Alert[]> => (await database.read(LIST)).flatMap(toAlert);

/** The alerts of an account, and which of them the user has seen. */
export async function listAlertsForPerson(
  database: Database,
  account: string,
  person: string,
): Promise<(Alert & { readonly isSeen: boolean })[]> {
  const [alerts, seen] = await Promise.all([
    database.read(LIST_OF_ACCOUNT, account),
    database.read(LIST_SEEN, account, person),
  ]);
  const ids = new Set(seen.map((row) => text(row, 'alert')));
  return alerts.flatMap(toAlert).map((alert) => ({ ...alert, isSeen: ids.has(alert.id) }));
}

/** Inserts an alert, or updates what changes while its cause exists. */
export const upsertAlert = ({ account, environment, kind, subject, id, ...alert }: Alert): Write => {
  const { label, severity, number, expiresAt = null, since } = alert;
  return write(UPSERT, [account, environment, kind, subject, id, label, severity, number, expiresAt, since], 1);
};

/** Deletes an alert whose cause has ended, and who has seen it. */
export const deleteAlert = ({ account, environment, kind, subject, id }: Alert): Write[] => [
  write(DELETE, [account, environment, kind, subject]),
  write(DELETE_SEEN, [account, id]),
];

/** Marks an alert as seen by a user; nothing when it has ended. */
export const markAlertSeen = (account: string, alert: string, person: string): Write =>
  write(MARK_SEEN, [person, account, alert]);

/** None for a row of another version. */
function toAlert(row: Row): Alert[] {
  const kind = ALERT_KINDS.find((each) => each === text(row, 'kind'));
  const severity = SEVERITIES.find((each) => each === text(row, 'severity'));
  if (kind === undefined || severity === undefined) return [];
  const finding: Omit<Finding, 'since'> = {
    account: text(row, 'account'),
    environment: text(row, 'environment') as Environment | '',
    kind,
    subject: text(row, 'subject'),
    label: text(row, 'label'),
    severity,
    number: integer(row, 'number'),
    expiresAt: integerOrNull(row, 'expires_at'),
  };
  return [{ ...finding, id: text(row, 'id'), since: integer(row, 'since') }];
}
