import { runExclusively } from '../storage/sqlite/run-exclusively.ts';

const BUSY = 'another command is changing the files of the root key; repeat this one when it has ended';

/**
 * Runs work that replaces, moves or destroys the file of a root key or `FILE.previous`, while nothing else on this machine
 * does. Two replacements at once could each take the other for an earlier crash, and leave the key that the database needs in no
 * file. Throws `OperatorError` while another command or node has the lock.
 */
export const runWithRootKeyLock = <Result>(file: string, act: () => Promise<Result>): Promise<Result> =>
  runExclusively(`${file}.lock`, BUSY, act);
