import { UnsealError } from '../../src/crypto/seal.ts';
import { Failure, type FailureCode, invalid } from '../../src/kernel/failure.ts';
import { OperatorError } from '../../src/kernel/operator-error.ts';

const UNKNOWN_CODES: ReadonlySet<FailureCode> = new Set(['unknown_token', 'unknown_capture', 'unknown_payment']);

const ALTERED = 'The record cannot be opened: it was changed in the database.';

/**
 * What a use case refuses, in the words of the console: a record that is not there is unknown whatever it is, a part that
 * is at fault is a field, and a field has the name that it has in the call (`names`: as the use case calls it to as it is
 * called there).
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
