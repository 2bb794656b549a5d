/**
 * Where standard output goes. A `terminal` shows what it gets to the operator and stores nothing; the `journal` of systemd stores it for
 * other users of the machine; any `other` is a file or a pipe.
 */
export type StandardOutput = 'terminal' | 'journal' | 'other';

/** Device and inode of an open file. */
interface FileIdentity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/**
 * Returns where standard output goes. `journalStream` is the variable JOURNAL_STREAM, in which systemd gives device and inode of the
 * journal's stream (systemd.exec(5)); a process whose output was redirected since has another file.
 */
export function classifyOutput(
  isTerminal: boolean,
  journalStream: string | undefined,
  { dev, ino }: FileIdentity,
): StandardOutput {
  if (isTerminal) return 'terminal';
  return journalStream === `${dev}:${ino}` ? 'journal' : 'other';
}
