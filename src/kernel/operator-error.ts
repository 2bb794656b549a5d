/** An error whose text was written for the operator and holds no data; of any other only the kind is told. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
  /** The command or the configuration is wrong, not the world. */
  readonly isUsageError: boolean = false;
  /** Each a line of its own below the message. */
  readonly problems: readonly string[] = [];
  /** Members of the error document of `--json`, beside `error`. */
  readonly details: Readonly<Record<string, string>> = {};
  /** The next step, for people. */
  readonly hint: string | undefined = undefined;
  /** Which of several things that were given is at fault, where that is known, as forms call it. */
  readonly field: string | undefined = undefined;
}
