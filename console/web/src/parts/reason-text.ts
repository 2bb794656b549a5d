import { useTranslation } from 'react-i18next';
import { type Explanation, fillText } from '../../../../src/kernel/reasons.ts';
import { isStatus } from './status-badge.tsx';

/** Returns the sentence of a reason in the user's language, with the statuses that it names as the pages name them. */
export function useReasonText(): (explanation: Explanation) => string {
  const { t } = useTranslation('reasons');
  const { t: textOfStatus } = useTranslation('status');
  return ({ reason, values }) => {
    const { status } = values;
    const translated = isStatus(status) ? { ...values, status: textOfStatus(status) } : values;
    return fillText((name) => t(name), { reason, values: translated });
  };
}
