import { useTranslation } from 'react-i18next';
import { REASONS, type Reason } from '../../../../../src/kernel/reasons.ts';
import { requestLog as texts } from '../../text/en/request-log.ts';

/** The codes of errors of the API. */
export const API_ERRORS = Object.keys(texts.errors) as readonly (keyof typeof texts.errors)[];

const isApiError = (code: string): code is keyof typeof texts.errors => Object.hasOwn(texts.errors, code);

/** Returns the text of an error code; an unknown code is shown as it is. */
export function useApiErrorText(): (code: string) => string {
  const { t } = useTranslation('requestLog');
  return (code) => (isApiError(code) ? t(`errors.${code}`) : code);
}

const isReason = (reason: string): reason is Reason => Object.hasOwn(REASONS, reason);

/** Returns the text of a reason without its values, which the log does not contain. */
export function useReasonPattern(): (reason: string) => string {
  const { t } = useTranslation('reasons');
  return (reason) => (isReason(reason) ? t(reason).replace(/\{\w+\}/g, '…') : reason);
}
