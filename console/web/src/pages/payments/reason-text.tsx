import { useTranslation } from 'react-i18next';
import { type FailureCause, REASONS } from '../../../../../src/payments/transitions.ts';

type Reason = (typeof REASONS)[keyof typeof REASONS][number];

export const isReason = (word: string): word is Reason =>
  Object.values(REASONS).some((words: readonly string[]) => words.includes(word));

interface ReasonTextProps {
  readonly reason: string;
  /** Distinguishes the failures of one reason; absent where several payments share the text. */
  readonly cause?: FailureCause | null;
}

/** Shows why a payment was declined or failed; an unknown reason is shown as it is. */
export function ReasonText({ reason, cause = null }: ReasonTextProps) {
  const { t } = useTranslation('payments');
  if (cause !== null) return t(`cause.${cause}`);
  return isReason(reason) ? t(`reason.${reason}`) : reason;
}
