import { LIMITS } from '../../src/kernel/limits.ts';
import type { Call } from './route.ts';
import { UnderWay } from './under-way.ts';

/** Looks at the audit log, for each database. */
const LOOKS = new WeakMap<object, UnderWay>();

/** Reading the log takes long, and a person needs it for one page at a time. Throws `rate_limited`; returns how to end the look. */
export function beginLook({ services, person }: Pick<Call<unknown, unknown>, 'services' | 'person'>): () => void {
  const { database } = services;
  const looks = LOOKS.get(database) ?? new UnderWay(LIMITS.auditReadsPerUser);
  LOOKS.set(database, looks);
  return looks.begin(person.id);
}

export async function lookedAt<T>(call: Call<unknown, unknown>, look: () => Promise<T>): Promise<T> {
  const end = beginLook(call);
  try {
    return await look();
  } finally {
    end();
  }
}
