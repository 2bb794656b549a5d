import { createContext, use } from 'react';
import { useTranslation } from 'react-i18next';
import { isTimeZone } from '../../../people/time-zone.ts';

/** Returns the time zone of the browser, such as `Europe/Madrid`. */
export const localTimeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Returns the time zone of a profile; that of the browser where it is chosen, or where the browser does not know the zone. */
export const resolveTimeZone = (name: string): string => (isTimeZone(name) ? name : localTimeZone());

/** Time zone of all times on the page; that of the browser before the sign-in. */
export const TimeZoneContext = createContext(localTimeZone());

export const useTimeZone = (): string => use(TimeZoneContext);

/** Names the time zone, once on each page with times. */
export function TimeZone() {
  const { t } = useTranslation('parts');
  return <span>{t('timesIn', { zone: useTimeZone() })}</span>;
}
