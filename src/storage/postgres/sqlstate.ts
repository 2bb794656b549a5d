import pg from 'pg';
import { StorageError } from '../database.ts';

/** SQLSTATE of a server's answer; undefined for anything else. */
export const sqlState = (error: unknown): string | undefined => {
  const { code } = error as { code?: unknown };
  return error instanceof pg.DatabaseError && typeof code === 'string' ? code : undefined;
};

/** serialization_failure and deadlock_detected: nothing happened, and the next try may succeed. */
export const RETRYABLE: ReadonlySet<string> = new Set(['40001', '40P01']);

export const UNIQUE_VIOLATION = '23505';

/** invalid_sql_statement_name: the server knows no prepared statement of this name. */
export const UNKNOWN_STATEMENT = '26000';

/** Faults of the database, of which no single unit is the cause: resources, the operator, the system, itself. */
export const isServerFault = (error: unknown): boolean => /^(53|57|58|XX|F0)/.test(sqlState(error) ?? '');

/** Whatever is no answer of the server broke the connection; so did an answer that announces its end. */
export const breaksConnection = (error: unknown): boolean => {
  const state = sqlState(error);
  return state === undefined || /^57P0[1-5]$|^25P0[34]$|^25006$/.test(state);
};

/** The tables were changed so that the answer to a prepared statement has other columns than it was prepared with. */
export const isPlanOutdated = (error: unknown): boolean =>
  sqlState(error) === '0A000' && (error as pg.DatabaseError).routine === 'RevalidateCachedQuery';

/**
 * A warning that what was committed may not be as safe as it was to be. Told by its code, because its severity is in the
 * server's language. That transaction numbers run out is warned of at every one of them, and not meant.
 */
export const isReplicationWarning = ({
  code = '',
  routine = '',
}: {
  code?: string | undefined;
  routine?: string | undefined;
}): boolean => /^(01|57)/.test(code) && !routine.startsWith('GetNew');

/** Never a message of the server, which can quote data. */
export function describe(error: unknown): string {
  if (error instanceof StorageError) return error.message;
  const state = sqlState(error);
  if (state !== undefined) return DESCRIPTIONS[state] ?? `it answered ${state}`;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code;
  return /timeout/i.test((error as Error).message) ? 'no answer in time' : 'the connection broke';
}

/** What a write failed of, without the server's texts. */
export const failure = (error: unknown): StorageError =>
  error instanceof StorageError
    ? error
    : new StorageError(`a write failed: ${sqlState(error) ?? (error as Error).name}`);

/** The answers that operators meet, in words. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  '28P01': 'it refuses the password',
  '28000': 'it refuses the user',
  '3D000': 'there is no such database',
  '42501': 'the user may not do that',
  '53300': 'it has too many connections',
  '57P03': 'it is starting up or shutting down',
  '25006': 'it takes no writes',
};
