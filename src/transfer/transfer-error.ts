import { OperatorError } from '../kernel/operator-error.ts';

/** Thrown for a file or a state because of which nothing more is exported or imported. Names lines and fields, never a value. */
export class TransferError extends OperatorError {
  override readonly name = 'TransferError';
  override readonly isUsageError: boolean;
  override readonly hint: string | undefined;

  constructor(message: string, { isUsageError = true, hint }: { isUsageError?: boolean; hint?: string } = {}) {
    super(message);
    this.isUsageError = isUsageError;
    this.hint = hint;
  }
}
