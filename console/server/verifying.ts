import { Failure } from '../../src/kernel/failure.ts';
import type { Database } from '../../src/storage/database.ts';

/** Databases whose audit log this process verifies at present. */
const UNDER_WAY = new WeakSet<Database>();

const BUSY = 'The audit log is being verified already; try again when that has ended.';

/** It reads all of the log, so one at a time is enough. Throws `unavailable` while another one runs. */
export async function oneAtATime<T>(database: Database, verify: () => Promise<T>): Promise<T> {
  if (UNDER_WAY.has(database)) throw new Failure('unavailable', { message: BUSY });
  UNDER_WAY.add(database);
  try {
    return await verify();
  } finally {
    UNDER_WAY.delete(database);
  }
}
