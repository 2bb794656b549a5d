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

/** Databases whose audit log this process is verifying. */
const VERIFYING = new WeakSet<Database>();

/** Runs one verification at a time, because it reads the entire log. Throws `unavailable` while another one runs. */
export async function withVerificationLock<T>(database: Database, verify: () => Promise<T>): Promise<T> {
  if (VERIFYING.has(database)) throw new Failure('unavailable', explain('verificationRunning'));
  VERIFYING.add(database);
  try {
    return await verify();
  } finally {
    VERIFYING.delete(database);
  }
}
