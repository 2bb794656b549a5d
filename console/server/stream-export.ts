import { formatScope, type LogScope, listConcernedLogs } from '../../src/audit/access-recorder.ts';
import type { AuditAction } from '../../src/audit/audit.ts';
import { SECOND } from '../../src/kernel/clock.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { type Capability, can } from '../people/roles.ts';
import type { Access } from '../wire/definition.ts';
import type { AnyCall } from './route.ts';

/** An export as the audit log names it. */
export interface RecordedExport {
  readonly name: string;
  /** The records that an operator exports; the log of an account shows an export of its records, too. */
  readonly scope?: LogScope;
}

/** The part of an export that has been sent, for the record of its end. */
export interface ExportProgress {
  rows: number;
  outcome: 'success' | 'partial' | 'failed' | 'abandoned';
}

/**
 * Streams an export whose begin is recorded, and records its end with the number of rows, also when reading fails or the reader
 * leaves. The first text is empty: from then on the end is recorded in any case. `stream` sets the progress.
 */
export async function* streamExport(
  call: AnyCall,
  recorded: RecordedExport,
  stream: (progress: ExportProgress) => AsyncGenerator<string>,
): AsyncGenerator<string> {
  const progress: ExportProgress = { rows: 0, outcome: 'abandoned' };
  try {
    yield '';
    yield* stream(progress);
  } catch (error) {
    if (progress.outcome === 'abandoned') progress.outcome = 'failed';
    throw error;
  } finally {
    await recordExport(call, recorded, 'records.export-ended', progress.outcome, { rows: progress.rows });
  }
}

/** Records the begin or the end of an export, apart from the transaction of the call, which ends before the first row leaves. */
export const recordExport = (
  { services, account, tenant, origin }: AnyCall,
  { name, scope = { account } }: RecordedExport,
  action: AuditAction,
  outcome: string,
  more: Readonly<Record<string, string | number>>,
): Promise<void> => {
  const { environment = '' } = tenant;
  // A member's export is of the account whose log has the record.
  const detail = { list: name, ...(account === '' && { of: formatScope(scope) }), ...more };
  return services.transactions.run({ origin }, async (transaction) => {
    for (const log of listConcernedLogs(account, scope))
      transaction.record({ action, outcome, account: log, environment, detail });
  });
};

/** A grant is valid for this time without another check. */
const ACCESS_VALID_MS = 2 * SECOND;

/** Returns a check that the caller still has the session and the role of the call, which reads them every 2 seconds. */
export function accessCheck({ services, account, person, session }: AnyCall, access: Access): () => Promise<void> {
  const { clock, people } = services;
  let checkedAt = clock();
  return async () => {
    const age = clock() - checkedAt;
    if (age >= 0 && age < ACCESS_VALID_MS) return;
    checkedAt += age;
    const role = await people.team.findRole(account, person.id);
    const isSignedIn = (await people.sessions.list(person.id)).some(({ id }) => id === session.id);
    if (!isSignedIn || role === undefined || !can(role, access as Capability)) throw new Failure('not_allowed');
  };
}
