import type { ChainedRecord } from '../storage/journal.ts';
import type { AuditRecord } from './audit.ts';

/** The rules of the daily review of the log (PCI DSS 10.4.1), each over one record. */
export const REVIEW_RULES = [
  'sign-ins-refused',
  'keys-changed',
  'dual-control-off',
  'data-exported',
  'operator-commands',
] as const;

export type ReviewRule = (typeof REVIEW_RULES)[number];

/** An event that a rule found. */
export interface ReviewEvent {
  readonly rule: ReviewRule;
  /** '' for the service. */
  readonly account: string;
  readonly environment: string;
  /** Tells several findings of a rule apart, for example the user or the key. */
  readonly subject: string;
  /** Its name; may be ''. */
  readonly label: string;
  readonly number: number;
  readonly at: number;
}

/** Sign-ins of an address that is no user's have no record of the user. */
const UNKNOWN_USER = 'person:unknown';
const EXPORTS: ReadonlySet<string> = new Set([
  'audit.exported',
  'records.exported',
  'account.exported',
  'vault.backed-up',
  'vault.copied',
]);
/** Changes by which a key may do more than before. */
const WIDENING: ReadonlySet<string> = new Set(['permissions', 'allowList']);

type Rule = (record: AuditRecord, link: ChainedRecord) => Pick<ReviewEvent, 'subject' | 'label' | 'number'> | undefined;

const targetOf = ({ targets = [] }: AuditRecord, kind: string): string =>
  targets.find((target) => target.startsWith(`${kind}:`)) ?? '';

const RULES: Readonly<Record<ReviewRule, Rule>> = {
  'sign-ins-refused': (record) => {
    if (record.action !== 'person.sign-in-refused') return undefined;
    const times = Number(record.detail?.['times'] ?? 1);
    const number = Number.isSafeInteger(times) && times > 0 ? times : 1;
    return { subject: targetOf(record, 'person') || UNKNOWN_USER, label: '', number };
  },
  'keys-changed': (record, { environment }) => {
    const changed = record.detail?.['changed'];
    const isWidened = Array.isArray(changed) && changed.some((name) => WIDENING.has(name));
    const isNew = record.action === 'key.created';
    if (environment !== 'production' || (!isNew && !(record.action === 'key.edited' && isWidened))) return undefined;
    return { subject: targetOf(record, 'key'), label: String(record.detail?.['name'] ?? ''), number: 1 };
  },
  'dual-control-off': (record) =>
    record.action === 'account.edited' && record.detail?.['dual_control'] === 'no'
      ? { subject: '', label: '', number: 1 }
      : undefined,
  'data-exported': (record) =>
    EXPORTS.has(record.action) ? { subject: record.action, label: record.actor.name ?? '', number: 1 } : undefined,
  'operator-commands': ({ actor }) =>
    actor.type === 'operator' ? { subject: actor.id ?? '', label: actor.name ?? '', number: 1 } : undefined,
};

/** Returns what the rules find in a record; nothing in one that was altered in the database and cannot be read. */
export function reviewRecord(link: ChainedRecord): ReviewEvent[] {
  const record = parseRecord(link.record);
  if (record === undefined) return [];
  return REVIEW_RULES.flatMap((rule) => {
    const found = RULES[rule](record, link);
    if (found === undefined) return [];
    // The commands of an operator concern the service, whatever accounts they change.
    const scope =
      rule === 'operator-commands'
        ? { account: '', environment: '' }
        : { account: link.account, environment: rule === 'keys-changed' ? link.environment : '' };
    return [{ rule, ...scope, ...found, at: link.at }];
  });
}

function parseRecord(text: string): AuditRecord | undefined {
  try {
    const record = JSON.parse(text) as Partial<AuditRecord> | null;
    return typeof record?.actor === 'object' && record.actor !== null && typeof record.action === 'string'
      ? (record as AuditRecord)
      : undefined;
  } catch {
    return undefined;
  }
}
