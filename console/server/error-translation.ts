import { Failure, type FailureCode } from '../../src/kernel/failure.ts';
import { explain } from '../../src/kernel/reasons.ts';
import { isAlteration } from '../../src/storage/database.ts';

const UNKNOWN_CODES: ReadonlySet<FailureCode> = new Set([
  'unknown_token',
  'unknown_capture',
  'unknown_payment',
  'unknown_session',
]);

/** Gives the fields of a failure the names of the call. `fieldNames` maps the names of the use case to them. */
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

/**
 * Returns the failure for the console, where every missing record is `unknown_record`, and a record that was altered is
 * `not_possible`. Errors that are no failures stay as they are.
 */
export function translate(error: unknown, fieldNames: Readonly<Record<string, string>> = {}): unknown {
  if (isAlteration(error)) return new Failure('not_possible', explain('recordAltered'), { cause: error });
  if (!(error instanceof Failure)) return error;
  if (UNKNOWN_CODES.has(error.code)) return new Failure('unknown_record', { cause: error });
  const { field = '', reason, values } = error;
  const name = Object.hasOwn(fieldNames, field) ? fieldNames[field] : undefined;
  const explanation = reason === undefined ? undefined : { reason, values };
  // A file or a setting that is at fault is a field of the form.
  if (explanation !== undefined && field !== '' && (error.code === 'usage' || error.code === 'not_possible'))
    return new Failure('invalid_field', explanation, { field: name ?? field, cause: error });
  if (error.code === 'usage') return new Failure('not_possible', explanation, { cause: error });
  return name === undefined ? error : new Failure(error.code, explanation, { field: name, cause: error });
}
