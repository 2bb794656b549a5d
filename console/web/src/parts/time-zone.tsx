import { useTranslation } from 'react-i18next';

/** Where the times of this browser are those of, as `Europe/Madrid`. */
export const localTimeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Once on a page with times. */
export function TimeZone() {
  const { t } = useTranslation('parts');
  return <span>{t('timesIn', { zone: localTimeZone() })}</span>;
}
