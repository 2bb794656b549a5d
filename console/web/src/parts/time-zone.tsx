import { useTranslation } from 'react-i18next';

/** Returns the time zone of the browser, such as `Europe/Madrid`. */
export const localTimeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Names the time zone, once on each page with times. */
export function TimeZone() {
  const { t } = useTranslation('parts');
  return <span>{t('timesIn', { zone: localTimeZone() })}</span>;
}
