import { accessEvents, type LogScope } from '../../../src/audit/access-recorder.ts';
import { AUDIT_ACTIONS, type AuditRecord } from '../../../src/audit/audit.ts';
import type { AuditFilter, AuditPage, LogEntry } from '../../../src/audit/audit-log-query.ts';
import { formatExportedRecord } from '../../../src/audit/export-format.ts';
import { exportJournal } from '../../../src/audit/verify-journal.ts';
import type { LogVerification } from '../../../src/audit/verify-log.ts';
import type { ValueOf } from '../../../src/http/fields.ts';
import type { StreamedFile } from '../../../src/http/route.ts';
import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { ENVIRONMENTS, type Environment } from '../../../src/kernel/environment.ts';
import { Failure, invalidField } from '../../../src/kernel/failure.ts';
import { LIMITS } from '../../../src/kernel/limits.ts';
import { listAudit } from '../../wire/audit.ts';
import type { Access, recordCount } from '../../wire/definition.ts';
import type { exportAuditRecords } from '../../wire/exports.ts';
import { acquireAuditRead, withAuditRead } from '../audit-read-limit.ts';
import { exportList, toExportedPage } from '../list-export.ts';
import type { AnyCall, ConsoleCall } from '../route.ts';
import { accessCheck, type ExportProgress, streamExport } from '../stream-export.ts';
import { isId, parseTimeInput } from '../user-input.ts';

/** The search that the logs of accounts and of the service share. */

type Search = ValueOf<NonNullable<typeof listAudit.body>>;

/**
 * Returns a page of an account's log, or with '' of the service's; the reader is recorded first. Throws
 * `invalid_field`, `unknown_record` and `rate_limited`.
 */
export const readLog = (call: AuditCall, account: string) => withAuditRead(call, () => readPage(call, account));

/** A search in the log of an account, or of the service. */
type AuditCall = ConsoleCall<Search, undefined>;

async function readPage(call: AuditCall, account: string) {
  const { services, body } = call;
  const filter = parseFilter(body);
  const seen = await resolveScope(call, account);
  // The account of an operator's search is the scope; the order chooses no records.
  const reading = { scope: seen, filters: { ...body, cursor: undefined, order: undefined, account: undefined } };
  await services.auditReading.accessRecorder.record(services.clock, call, reading);
  const page = await services.auditReading.read(account, filter, body.cursor);
  const count = () => services.auditReading.countMatching(account, filter);
  return toPageView(page, await services.listCounts.ofPage(listAudit, call, page, count));
}

/**
 * Undefined is everything. An operator may request any id, and an unknown one must not get into the log: throws
 * `unknown_record`.
 */
export async function resolveScope({ services }: AnyCall, account: string | undefined): Promise<LogScope> {
  if (account === undefined) return 'everything';
  const isThere = account === '' || (isId(account) && (await services.accounts.find(account)) !== undefined);
  if (!isThere) throw new Failure('unknown_record');
  return { account };
}

/** Throws `invalid_field`. */
const parseFilter = ({ action, actor, target, outcome, environment, from, to, order }: Search): AuditFilter => ({
  actions: action === undefined ? undefined : parseActions(action),
  actor,
  target,
  outcome,
  environment: environment === undefined ? undefined : parseEnvironment(environment),
  from: parseTimeInput(from, 'from'),
  to: parseTimeInput(to, 'to'),
  order,
});

/** One action, or with a trailing dot all that start with it. */
function parseActions(text: string): string[] {
  const actions = AUDIT_ACTIONS.filter((action) => action === text || (text.endsWith('.') && action.startsWith(text)));
  if (actions.length === 0) throw invalidField('action', 'action');
  return actions;
}

const NONE = 'none';

function parseEnvironment(text: string): Environment | '' {
  if (text === NONE) return '';
  const environment = ENVIRONMENTS.find((name) => name === text);
  if (environment === undefined)
    throw invalidField('environment', 'environmentChoice', { words: [...ENVIRONMENTS, NONE].join(', ') });
  return environment;
}

/**
 * Exports the records of an account, or with '' of the service, that the filter shows, for people; `exportLog` has the data to
 * verify the log. Throws `unknown_record`.
 */
export const exportRecords = async (
  call: ConsoleCall<ValueOf<typeof exportAuditRecords.body & {}>, undefined>,
  account: string,
  access: Access,
) =>
  exportList(call, {
    name: 'audit',
    access,
    scope: await resolveScope(call, account),
    columns: RECORD_COLUMNS,
    codeFilters: ['account', 'action', 'outcome', 'environment', 'from', 'to', 'order'],
    page: async (cursor) => {
      const page = await call.services.auditReading.read(account, parseFilter(call.body.filter), cursor);
      return toExportedPage(page, toExportedRecord);
    },
  });

const RECORD_COLUMNS = [
  'at',
  'environment',
  'action',
  'outcome',
  'actor_type',
  'actor_id',
  'actor_name',
  'actor_source',
  'address',
  'request_id',
  'targets',
  'detail',
  'lane',
  'sequence',
  'hash',
] as const;

function toExportedRecord(entry: LogEntry) {
  const record = toRecordView(entry);
  return { ...record, detail: record.detail.map(({ name, value }) => `${name}=${value}`) };
}

const toPageView = ({ items, cursor, searchedUntil }: AuditPage, count: ValueOf<typeof recordCount>) => ({
  records: items.map(toRecordView),
  next: cursor ?? null,
  count,
  searched_back_to: formatIso8601OrNull(searchedUntil),
});

function toRecordView({ lane, sequence, at, environment, record, hash }: LogEntry) {
  return {
    lane,
    sequence,
    at: formatIso8601(at),
    environment,
    // A record that cannot be parsed was altered; the verification of the log reports it.
    action: record?.action ?? '',
    outcome: record?.outcome ?? '',
    actor_type: record?.actor.type ?? 'unknown',
    actor_id: record?.actor.id ?? null,
    actor_name: record?.actor.name ?? null,
    actor_source: record?.actor.source ?? null,
    address: record?.address ?? null,
    request_id: record?.request_id ?? null,
    targets: record?.targets ?? [],
    detail: toDetailView(record),
    hash,
  };
}

const toDetailView = (record: AuditRecord | undefined) =>
  Object.entries(record?.detail ?? {}).map(([name, value]) => ({
    name,
    value: Array.isArray(value) ? value.join(', ') : String(value),
  }));

export const toVerificationView = ({ ok, records, checkpoints, explanation }: LogVerification) => ({
  ok,
  records,
  checkpoints,
  fault: explanation ?? null,
});

/**
 * Exports the log of one account, or everything, as `cardvault audit export` prints it. The export is recorded before the
 * first line is sent (PCI DSS 10.2.1.3), and its end with the number of records. Throws `unknown_record` and `rate_limited`.
 */
export async function exportLog(call: AnyCall, account: string | undefined, access: Access): Promise<StreamedFile> {
  const lines = streamLog(call, { account, access, scope: await resolveScope(call, account) });
  // The begin is recorded with the first text; from then on the end is recorded in any case.
  await lines.next();
  const name = `audit-${account || 'service'}-${formatIso8601(call.now).slice(0, 'YYYY-MM-DD'.length)}.ndjson`;
  return { type: 'application/x-ndjson; charset=utf-8', name, lines };
}

/** A log that is exported. */
interface ExportedLog {
  /** Absent: the logs of all accounts and of the service. */
  readonly account: string | undefined;
  readonly access: Access;
  readonly scope: LogScope;
}

async function* streamLog(call: AnyCall, log: ExportedLog): AsyncGenerator<string> {
  const { scope } = log;
  const release = acquireAuditRead(call);
  try {
    await call.services.transactions.run({ origin: call.origin }, async (transaction) => {
      for (const event of accessEvents('audit.exported', call.account, scope)) transaction.record(event);
    });
    yield* streamExport(call, { name: 'log', scope }, (progress) => streamLines(call, log, progress));
  } finally {
    release();
  }
}

/** Characters; a write for each line would take most of the time. */
const CHUNK_CHARACTERS = 64 * 1024;

/**
 * Throws `not_allowed` when the caller has lost the session or the role, and `rate_limited` at the limit of time: lines of the
 * log have no place for a reason, and a file that ended there without a failure would be taken for the complete log.
 */
async function* streamLines(
  call: AnyCall,
  { account, access }: ExportedLog,
  progress: ExportProgress,
): AsyncGenerator<string> {
  const { clock, database } = call.services;
  const startedAt = clock();
  const assertAllowed = accessCheck(call, access);
  let lines = '';
  let records = 0;
  for await (const link of exportJournal(database, account)) {
    lines += `${formatExportedRecord(link)}\n`;
    records++;
    if (lines.length < CHUNK_CHARACTERS) continue;
    await assertAllowed();
    if (clock() - startedAt > LIMITS.exportMs) {
      progress.outcome = 'partial';
      throw new Failure('rate_limited');
    }
    progress.rows += records;
    yield lines;
    lines = '';
    records = 0;
  }
  if (lines !== '') {
    await assertAllowed();
    progress.rows += records;
    yield lines;
  }
  progress.outcome = 'success';
}
