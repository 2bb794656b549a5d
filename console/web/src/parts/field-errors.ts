import { useState } from 'react';
import type { CallError } from '../api/call.ts';
import { useErrorText } from './error-alert.tsx';

interface FormLike {
  getValues(): object;
  setFieldError(path: string, error: string): void;
}

/**
 * Assigns a failure to the form field of the same name (`names` maps differing names), or to `rest` for an ErrorAlert.
 */
export function useFieldErrors(form: FormLike, names: Readonly<Record<string, string>> = {}) {
  const textOf = useErrorText();
  const [rest, setRest] = useState<CallError | null>(null);
  const onError = (error: CallError): void => {
    const path = error.field ?? '';
    const field = names[path] ?? path.replace(/\[(\d+)\]/g, '.$1');
    const root = field.split('.')[0] ?? '';
    const isFormField = root !== '' && Object.hasOwn(form.getValues(), root);
    if (isFormField) form.setFieldError(field, textOf(error));
    setRest(isFormField ? null : error);
  };
  return { rest, onError, clear: () => setRest(null) };
}
