import { LIMITS } from '../../src/kernel/limits.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import type { ConsoleCall } from './route.ts';

/** Readings of the audit log in progress, for each database. */
const AUDIT_READS = new WeakMap<object, ConcurrencyLimit>();

/**
 * Limits concurrent readings of the audit log per user: reading takes long, and a user needs one page at a time. Throws
 * `rate_limited`; returns a function that ends the reading.
 */
export function acquireAuditRead({
  services,
  person,
}: Pick<ConsoleCall<unknown, unknown>, 'services' | 'person'>): () => void {
  const { database } = services;
  const limit = AUDIT_READS.get(database) ?? new ConcurrencyLimit(LIMITS.auditReadsPerUser);
  AUDIT_READS.set(database, limit);
  return limit.acquire(person.id);
}

export async function withAuditRead<T>(call: ConsoleCall<unknown, unknown>, read: () => Promise<T>): Promise<T> {
  const release = acquireAuditRead(call);
  try {
    return await read();
  } finally {
    release();
  }
}
