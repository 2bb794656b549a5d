import { useTranslation } from 'react-i18next';
import { REASONS } from '../../../../../src/payments/transitions.ts';

type Reason = (typeof REASONS)[keyof typeof REASONS][number];

export const isReason = (word: string): word is Reason =>
  Object.values(REASONS).some((words: readonly string[]) => words.includes(word));

/** Shows why a payment was declined or failed; an unknown reason is shown as it is. */
export function ReasonText({ reason }: { readonly reason: string }) {
  const { t } = useTranslation('payments');
  return isReason(reason) ? t(`reason.${reason}`) : reason;
}
