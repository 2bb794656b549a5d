import { useTranslation } from 'react-i18next';
import { type Explanation, fillText } from '../../../../src/kernel/reasons.ts';

/** Returns the sentence of a reason in the user's language. */
export function useReasonText(): (explanation: Explanation) => string {
  const { t } = useTranslation('reasons');
  return (explanation) => fillText((reason) => t(reason), explanation);
}
