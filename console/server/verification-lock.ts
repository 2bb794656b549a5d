import { Failure } from '../../src/kernel/failure.ts';
import type { Database } from '../../src/storage/database.ts';

/** Databases whose audit log this process verifies at present. */
const VERIFYING = new WeakSet<Database>();

const BUSY = 'The audit log is being verified already; try again when that has ended.';

/** It reads all of the log, so one at a time is enough. Throws `unavailable` while another one runs. */
export async function withVerificationLock<T>(database: Database, verify: () => Promise<T>): Promise<T> {
  if (VERIFYING.has(database)) throw new Failure('unavailable', { message: BUSY });
  VERIFYING.add(database);
  try {
    return await verify();
  } finally {
    VERIFYING.delete(database);
  }
}
