import { CloudOff } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useIsOffline, useOldest } from '../api/failing.ts';
import { localeOf } from '../parts/locale.ts';
import { timeText } from '../parts/time.tsx';
import classes from './outage-bar.module.css';

/** Above what was read before and cannot be read anew just now. */
export function OutageBar() {
  const { t, i18n } = useTranslation();
  const at = useOldest();
  const isOffline = useIsOffline();
  return (
    <div role="status" className={classes['place']}>
      {at !== 0 && (
        <p className={classes['bar']}>
          <CloudOff size={16} aria-hidden />
          {t(isOffline ? 'outage' : 'notRefreshed', { time: clockText(at, i18n.language) })}
        </p>
      )}
    </div>
  );
}

/** The day goes without saying when it is today. */
const clockText = (at: number, language: string): string =>
  new Date(at).toDateString() === new Date().toDateString()
    ? new Intl.DateTimeFormat(localeOf(language), { hour: 'numeric', minute: '2-digit' }).format(at)
    : timeText(new Date(at).toISOString(), language);
