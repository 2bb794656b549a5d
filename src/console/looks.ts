import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Call } from './route.ts';

/** How many looks at the audit log each person has under way in this process, for each database. */
const UNDER_WAY = new WeakMap<object, Map<string, number>>();

/** Reading the log takes long, and a person needs it for one page at a time. Throws `rate_limited`; returns how to end the look. */
export function beginLook({ services, person }: Pick<Call<unknown, unknown>, 'services' | 'person'>): () => void {
  const { database } = services;
  const looks = UNDER_WAY.get(database) ?? new Map<string, number>();
  UNDER_WAY.set(database, looks);
  const before = looks.get(person.id) ?? 0;
  if (before >= LIMITS.auditLooksPerPerson) throw new Failure('rate_limited');
  looks.set(person.id, before + 1);
  return () => {
    const left = (looks.get(person.id) ?? 1) - 1;
    if (left > 0) looks.set(person.id, left);
    else looks.delete(person.id);
  };
}

export async function lookedAt<T>(call: Call<unknown, unknown>, look: () => Promise<T>): Promise<T> {
  const end = beginLook(call);
  try {
    return await look();
  } finally {
    end();
  }
}
