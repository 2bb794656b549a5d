import { Failure } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { explain } from '../../src/kernel/reasons.ts';
import type { Database } from '../../src/storage/database.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import type { AnyCall } from './route.ts';

/** Readings of the audit log in progress, for each database. */
const AUDIT_READS = new WeakMap<object, ConcurrencyLimit>();

/**
 * Limits concurrent readings of the audit log per user: reading takes long, and a user needs one page at a time. Throws
 * `rate_limited`; returns a function that ends the reading.
 */
export function acquireAuditRead({ services, person }: Pick<AnyCall, 'services' | 'person'>): () => void {
  const { database } = services;
  const limit = AUDIT_READS.get(database) ?? new ConcurrencyLimit(LIMITS.auditReadsPerUser);
  AUDIT_READS.set(database, limit);
  return limit.acquire(person.id);
}

export async function withAuditRead<T>(call: AnyCall, read: () => Promise<T>): Promise<T> {
  const release = acquireAuditRead(call);
  try {
    return await read();
  } finally {
    release();
  }
}

/** Accounts whose log this process is verifying, for each database; undefined is the log of all of them. */
const VERIFYING = new WeakMap<Database, Set<string | undefined>>();

/**
 * Runs one verification of a log at a time, because it reads the entire log. `account`: undefined for the log of all accounts
 * and of the service, whose verification never waits for those of accounts. Throws `unavailable` while another one of the same
 * log runs, and at the limit of accounts.
 */
export async function withVerificationLock<T>(
  database: Database,
  account: string | undefined,
  verify: () => Promise<T>,
): Promise<T> {
  const running = VERIFYING.get(database) ?? new Set();
  VERIFYING.set(database, running);
  if (running.has(account)) throw new Failure('unavailable', explain('verificationRunning'));
  const ofAccounts = running.size - (running.has(undefined) ? 1 : 0);
  if (account !== undefined && ofAccounts >= LIMITS.verifiedAccounts)
    throw new Failure('unavailable', explain('tooManyVerifications'));
  running.add(account);
  try {
    return await verify();
  } finally {
    running.delete(account);
  }
}
