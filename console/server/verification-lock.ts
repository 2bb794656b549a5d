import { Failure } from '../../src/kernel/failure.ts';
import { explain } from '../../src/kernel/reasons.ts';
import type { Database } from '../../src/storage/database.ts';

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
