import { CloudOff } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useIsOffline, useOldestDataTime } from '../api/failed-queries.ts';
import { resolveLocale } from '../parts/locale.ts';
import { useFormatTime } from '../parts/time.tsx';
import { useTimeZone } from '../parts/time-zone.tsx';
import classes from './outage-bar.module.css';

/** Bar above data that cannot be reloaded. */
export function OutageBar() {
  const { t } = useTranslation();
  const formatClock = useFormatClock();
  const at = useOldestDataTime();
  const isOffline = useIsOffline();
  return (
    <div role="status" className={classes['place']}>
      {at !== 0 && (
        <p className={classes['bar']}>
          <CloudOff size={16} aria-hidden />
          {t(isOffline ? 'outage' : 'notRefreshed', { time: formatClock(at) })}
        </p>
      )}
    </div>
  );
}

/** Returns the format of a time without the day for today. */
function useFormatClock(): (at: number) => string {
  const { i18n } = useTranslation();
  const timeZone = useTimeZone();
  const formatTime = useFormatTime();
  const day = new Intl.DateTimeFormat('en', { timeZone, dateStyle: 'short' });
  const clock: Intl.DateTimeFormatOptions = { timeZone, hour: 'numeric', minute: '2-digit' };
  return (at) =>
    day.format(at) === day.format(Date.now())
      ? new Intl.DateTimeFormat(resolveLocale(i18n.language), clock).format(at)
      : formatTime(new Date(at).toISOString());
}
