import { type RefObject, useEffect, useRef, useState } from 'react';

/** Invalid fields, checkboxes, and groups of fields. */
const INVALID_FIELDS = [
  '[aria-invalid="true"]',
  'input[data-error]',
  '[data-fault] button',
  '[data-fault] input',
].join();

/** Time after which fields show their errors and a closed dialog has returned the focus. */
const RENDER_DELAY_MS = 50;

/**
 * Moves the focus to the first invalid field after each attempt to send a form, whether the form or the service
 * rejected it. In a long form the error would be invisible otherwise.
 */
export function useFocusFirstError(isBusy: boolean): {
  readonly form: RefObject<HTMLFormElement | null>;
  readonly onSubmitted: () => void;
} {
  const form = useRef<HTMLFormElement>(null);
  const [attempts, setAttempts] = useState(0);
  useEffect(() => {
    if (attempts === 0 || isBusy) return;
    const timer = setTimeout(() => {
      const field = form.current?.querySelector<HTMLElement>(INVALID_FIELDS);
      field?.scrollIntoView({ block: 'center' });
      field?.focus({ preventScroll: true });
    }, RENDER_DELAY_MS);
    return () => clearTimeout(timer);
  }, [attempts, isBusy]);
  return { form, onSubmitted: () => setAttempts((count) => count + 1) };
}
