import type { DatabaseError } from 'pg';
import { StorageError } from '../database.ts';
import { pg } from './pg.ts';

/** Returns the SQLSTATE of a server's error; undefined for any other error. */
export const sqlState = (error: unknown): string | undefined => {
  const { code } = error as { code?: unknown };
  return error instanceof pg().DatabaseError && typeof code === 'string' ? code : undefined;
};

/** serialization_failure and deadlock_detected: nothing was committed, and the next attempt may succeed. */
export const RETRYABLE: ReadonlySet<string> = new Set(['40001', '40P01']);

export const UNIQUE_VIOLATION = '23505';

/** invalid_sql_statement_name: the server has no prepared statement of this name. */
export const UNKNOWN_STATEMENT = '26000';

/** True for faults that no single unit has caused: of resources, the operator, the system or the database itself. */
export const isServerFault = (error: unknown): boolean => /^(53|57|58|XX|F0)/.test(sqlState(error) ?? '');

/**
 * True when the connection is unusable: the error came from no server, or the server announced the end of the
 * connection.
 */
export const breaksConnection = (error: unknown): boolean => {
  const state = sqlState(error);
  return state === undefined || /^57P0[1-5]$|^25P0[34]$|^25006$/.test(state);
};

/** The tables were changed, so that a prepared statement would return other columns. */
export const isPlanOutdated = (error: unknown): boolean =>
  sqlState(error) === '0A000' && (error as DatabaseError).routine === 'RevalidateCachedQuery';

/**
 * True for a warning that a commit may be less durable than configured. Warnings are recognized by their code, because
 * their severity is in the server's language. The warning about exhausted transaction numbers comes with every commit
 * and is excluded.
 */
export const isReplicationWarning = ({
  code = '',
  routine = '',
}: {
  code?: string | undefined;
  routine?: string | undefined;
}): boolean => /^(01|57)/.test(code) && !routine.startsWith('GetNew');

/** Returns no message of the server, which can quote data. */
export function describe(error: unknown): string {
  if (error instanceof StorageError) return error.message;
  const state = sqlState(error);
  if (state !== undefined) return DESCRIPTIONS[state] ?? `it answered ${state}`;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code;
  return /timeout/i.test((error as Error).message) ? 'no answer in time' : 'the connection broke';
}

/** Returns the reason why a write failed, without the server's texts. */
export const failure = (error: unknown): StorageError =>
  error instanceof StorageError
    ? error
    : new StorageError(`a write failed: ${sqlState(error) ?? (error as Error).name}`);

/** Descriptions of the errors that operators meet. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  '28P01': 'it refuses the password',
  '28000': 'it refuses the user',
  '3D000': 'there is no such database',
  '42501': 'the user may not do that',
  '53300': 'it has too many connections',
  '57P03': 'it is starting up or shutting down',
  '25006': 'it takes no writes',
};
