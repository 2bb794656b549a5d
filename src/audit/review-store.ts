import { DAY } from '../kernel/clock.ts';
import { type Database, integer, type Row, text, type Write, write } from '../storage/database.ts';
import type { Table } from '../storage/table.ts';
import { REVIEW_RULES, type ReviewEvent, type ReviewRule } from './review-rules.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'audit_findings',
    key: ['account', 'environment', 'rule', 'subject'],
    columns: {
      account: 'integer',
      environment: 'integer',
      rule: 'text',
      subject: 'text',
      label: 'text',
      number: 'integer',
      since: 'integer',
      at: 'integer',
    },
  },
];

/** How long an event is part of a finding. */
export const FINDING_MS = DAY;

const COLUMNS = 'account, environment, rule, subject, label, number, since, at';
const LIST = `select ${COLUMNS} from audit_findings where at > ? order by at desc limit ?`;
/** Events that follow an old finding begin another one. */
const isOld = `audit_findings.at <= excluded.at - ${FINDING_MS}`;
const UPSERT = `insert into audit_findings (${COLUMNS}) values (?account, ?environment, ?, ?, ?, ?, ?, ?)
  on conflict (account, environment, rule, subject) do update set label = excluded.label,
    number = case when ${isOld} then excluded.number else audit_findings.number + excluded.number end,
    since = case when ${isOld} then excluded.since else audit_findings.since end,
    at = case when audit_findings.at > excluded.at then audit_findings.at else excluded.at end`;
const FIND_OLD = 'select 1 as found from audit_findings where at <= ? limit 1';
const DELETE_OLD = 'delete from audit_findings where at <= ?';

/** Events of a rule about one subject since the first one. */
export interface ReviewFinding extends ReviewEvent {
  /** Time of the first event; `at` is that of the last one. */
  readonly since: number;
}

/** Adds events to the findings; those of one subject are added together. */
export function addEvents(events: readonly ReviewEvent[]): Write[] {
  const findings = new Map<string, ReviewFinding>();
  for (const event of events) {
    const key = JSON.stringify([event.account, event.environment, event.rule, event.subject]);
    const known = findings.get(key);
    const since = Math.min(known?.since ?? event.at, event.at);
    const at = Math.max(known?.at ?? event.at, event.at);
    findings.set(key, { ...event, number: (known?.number ?? 0) + event.number, since, at });
  }
  return [...findings.values()].map(({ account, environment, rule, subject, label, number, since, at }) =>
    write(UPSERT, [account, environment, rule, subject, label, number, since, at]),
  );
}

/** Returns the newest findings whose last event is at most a day old. */
export const listFindings = async (database: Database, now: number, limit: number): Promise<ReviewFinding[]> =>
  (await database.read(LIST, now - FINDING_MS, limit)).flatMap(toFinding);

/** Returns the write that deletes old findings; none when there are none. */
export const deleteOldFindings = async (database: Database, now: number): Promise<Write[]> =>
  (await database.read(FIND_OLD, now - FINDING_MS)).length === 0 ? [] : [write(DELETE_OLD, [now - FINDING_MS])];

/** None for a row of another version. */
function toFinding(row: Row): ReviewFinding[] {
  const rule = REVIEW_RULES.find((each): each is ReviewRule => each === text(row, 'rule'));
  if (rule === undefined) return [];
  return [
    {
      rule,
      account: text(row, 'account'),
      environment: text(row, 'environment'),
      subject: text(row, 'subject'),
      label: text(row, 'label'),
      number: integer(row, 'number'),
      since: integer(row, 'since'),
      at: integer(row, 'at'),
    },
  ];
}
