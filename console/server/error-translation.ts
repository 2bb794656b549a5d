import { UnsealError } from '../../src/crypto/seal.ts';
import { Failure, type FailureCode, invalid } from '../../src/kernel/failure.ts';
import { OperatorError } from '../../src/kernel/operator-error.ts';

const UNKNOWN_CODES: ReadonlySet<FailureCode> = new Set(['unknown_token', 'unknown_capture', 'unknown_payment']);

const ALTERED = 'The record cannot be opened: it was changed in the database.';

/**
 * Translates failures of use cases for the console: every missing record is `unknown_record`, and fields have the names of the
 * call. `names` maps the names of the use case to them.
 */
export async function translateErrors<T>(
  fieldNames: Readonly<Record<string, string>>,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw translate(error, fieldNames);
  }
}

function translate(error: unknown, fieldNames: Readonly<Record<string, string>>): unknown {
  if (error instanceof UnsealError) return new Failure('not_possible', { message: ALTERED, cause: error });
  if (error instanceof OperatorError && error.field !== undefined) return invalid(error.field, error.message);
  if (!(error instanceof Failure)) return error;
  if (UNKNOWN_CODES.has(error.code)) return new Failure('unknown_record', { cause: error });
  const { field = '' } = error;
  const name = Object.hasOwn(fieldNames, field) ? fieldNames[field] : undefined;
  if (name === undefined) return error;
  return new Failure(error.code, { field: name, message: error.message.slice(`${field}: `.length), cause: error });
}
