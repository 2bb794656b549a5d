import { CloudOff } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useIsOffline, useOldestDataTime } from '../api/failed-queries.ts';
import { resolveLocale } from '../parts/locale.ts';
import { formatTime } from '../parts/time.tsx';
import classes from './outage-bar.module.css';

/** Bar above data that cannot be reloaded. */
export function OutageBar() {
  const { t, i18n } = useTranslation();
  const at = useOldestDataTime();
  const isOffline = useIsOffline();
  return (
    <div role="status" className={classes['place']}>
      {at !== 0 && (
        <p className={classes['bar']}>
          <CloudOff size={16} aria-hidden />
          {t(isOffline ? 'outage' : 'notRefreshed', { time: formatClock(at, i18n.language) })}
        </p>
      )}
    </div>
  );
}

/** Formats a time; the day is omitted for today. */
const formatClock = (at: number, language: string): string =>
  new Date(at).toDateString() === new Date().toDateString()
    ? new Intl.DateTimeFormat(resolveLocale(language), { hour: 'numeric', minute: '2-digit' }).format(at)
    : formatTime(new Date(at).toISOString(), language);
