import { type RefObject, useEffect, useRef, useState } from 'react';

/** Fields that say so themselves, boxes to tick, and parts of a form that are many fields. */
const INVALID_FIELDS = [
  '[aria-invalid="true"]',
  'input[data-error]',
  '[data-fault] button',
  '[data-fault] input',
].join();

/** By then the fields show what was found wrong with them, and a dialog that closed has given the focus back. */
const RENDER_DELAY_MS = 50;

/**
 * Leads to the first bad field of a form after each try to send it, whoever refused it: the form's own checks, or the
 * service. In a long form nobody would see it otherwise, and the button would seem dead.
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
