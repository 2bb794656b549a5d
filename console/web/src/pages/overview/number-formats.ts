import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { resolveLocale } from '../../parts/locale.ts';
import { useTimeZone } from '../../parts/time-zone.tsx';
import type { Step } from './series.ts';

interface NumberFormats {
  readonly whole: (value: number) => string;
  /** Short form for the scale of a chart: `12K`. */
  readonly short: (value: number) => string;
  /** Share of a total: `98.2%`. */
  readonly share: (part: number) => string;
  /** Change in percent: `12%`. */
  readonly percent: (part: number) => string;
  /** Change of a share in percentage points: `1.2`. */
  readonly points: (part: number) => string;
  /** Duration, in seconds from one second on; `> 60 sec` above the longest counted time. */
  readonly milliseconds: (value: number | null) => string;
  /** Duration for the scale of a chart, which may exceed the longest counted time. */
  readonly duration: (value: number) => string;
  /** Start of an hour, or of a day or week, in the user's time zone. */
  readonly moment: (at: string, step: Step) => string;
  readonly shortMoment: (at: string, step: Step) => string;
}

const MAX_MS = LIMITS.maxMeasuredMs;
/** Days are counted from a full hour of UTC, which may be up to this time before their midnight. */
const MAX_EARLY_MS = 45 * 60_000;

function buildNumberFormats(language: string, timeZone: string): NumberFormats {
  const whole = new Intl.NumberFormat(language);
  const short = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 });
  const share = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 });
  const percent = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 0 });
  const point = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
  const unit = (name: string) => new Intl.NumberFormat(language, { style: 'unit', unit: name });
  const [millisecond, second] = [unit('millisecond'), unit('second')];
  const duration = (value: number): string => (value < 1000 ? millisecond.format(value) : second.format(value / 1000));
  const when = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(language, options);
  const isTwelveHour = when({ hour: 'numeric' }).resolvedOptions().hour12 === true;
  const clock = { hour: isTwelveHour ? 'numeric' : '2-digit', minute: '2-digit', timeZone } as const;
  const hour = when({ ...clock, day: 'numeric', month: 'short' });
  const date = { day: 'numeric', month: 'short', timeZone } as const;
  const day = when({ ...date, weekday: 'short' });
  const dayOfYear = when({ ...date, weekday: 'short', year: 'numeric' });
  const shortHour = when(isTwelveHour ? { hour: 'numeric', timeZone } : clock);
  const shortDay = when(date);
  const toDay = (at: string): Date => new Date(Date.parse(at) + MAX_EARLY_MS);
  return {
    whole: (value) => whole.format(value),
    short: (value) => short.format(value),
    share: (part) => share.format(part),
    percent: (part) => percent.format(part),
    points: (part) => `${point.format(part * 100)} pp`,
    milliseconds: (value) => (value === null ? '–' : value > MAX_MS ? `> ${duration(MAX_MS)}` : duration(value)),
    duration,
    moment: (at, step) => {
      if (step === 'hour') return hour.format(new Date(at));
      const time = toDay(at);
      return (time.getUTCFullYear() === new Date().getUTCFullYear() ? day : dayOfYear).format(time);
    },
    shortMoment: (at, step) => (step === 'hour' ? shortHour.format(new Date(at)) : shortDay.format(toDay(at))),
  };
}

/** Returns number and time formats for the user's language and time zone. */
export function useNumberFormats(): NumberFormats {
  const { i18n } = useTranslation();
  const timeZone = useTimeZone();
  return useMemo(() => buildNumberFormats(resolveLocale(i18n.language), timeZone), [i18n.language, timeZone]);
}
