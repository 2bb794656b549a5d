import { LIMITS } from '../../src/kernel/limits.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import type { ConsoleCall } from './route.ts';

/** Looks at the audit log, for each database. */
const AUDIT_READS = new WeakMap<object, ConcurrencyLimit>();

/** Reading the log takes long, and a person needs it for one page at a time. Throws `rate_limited`; returns how to end the look. */
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
