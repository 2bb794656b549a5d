/** An error whose text is for the operator and contains no data. Of any other error only the type is reported. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
  /** True when the command or the configuration is wrong, and not the environment of the process. */
  readonly isUsageError: boolean = false;
  /** Details, each on a line of its own below the message. */
  readonly problems: readonly string[] = [];
  /** Members of the error document of `--json`, beside `error`. */
  readonly details: Readonly<Record<string, string>> = {};
  /** The next step for the operator. */
  readonly hint: string | undefined = undefined;
  /** The field of a form that is at fault, where several values were given and the field is known. */
  readonly field: string | undefined = undefined;
}
