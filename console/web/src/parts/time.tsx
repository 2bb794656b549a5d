import { Text } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { dateTimeFormat } from './formatters.ts';
import { resolveLocale } from './locale.ts';
import { toRelativeTime } from './relative-time.ts';
import classes from './time.module.css';
import { useTimeZone } from './time-zone.tsx';

interface TimeProps {
  /** ISO 8601 text of the service. */
  readonly value: string | null;
  /** Adds the relative time. */
  readonly isRelative?: boolean;
  /** Shows the day only. */
  readonly isDay?: boolean;
  /** Shows seconds, where the order of events matters. */
  readonly hasSeconds?: boolean;
  /** Shown instead of null. */
  readonly none?: ReactNode;
}

/** Shows a time in the user's language and time zone, with the exact time as its title. */
export function Time({ value, isRelative = false, isDay = false, hasSeconds = false, none = '–' }: TimeProps) {
  const { i18n } = useTranslation();
  const formatTime = useFormatTime();
  if (value === null)
    return (
      <Text span inherit c="dimmed">
        {none}
      </Text>
    );
  return (
    <time dateTime={value} title={value} className={classes['time']}>
      <span className={classes['words']}>{formatTime(value, isDay ? 'day' : hasSeconds ? 'second' : 'minute')}</span>{' '}
      {isRelative && <Relative value={value} language={i18n.language} />}
    </time>
  );
}

type Precision = 'day' | 'minute' | 'second';

/** Returns the format of times in the user's language and time zone. */
export function useFormatTime(): (value: string, precision?: Precision) => string {
  const { i18n } = useTranslation();
  const timeZone = useTimeZone();
  return (value, precision = 'minute') => formatTime(value, { language: i18n.language, timeZone, precision });
}

interface TimeFormat {
  readonly language: string;
  readonly timeZone: string;
  readonly precision: Precision;
}

/** Formats a time; the current year is omitted unless only the day is shown. */
function formatTime(value: string, { language, timeZone, precision }: TimeFormat): string {
  const time = new Date(value);
  const year = dateTimeFormat('en', { timeZone, year: 'numeric' });
  const isThisYear = year.format(time) === year.format(new Date());
  return dateTimeFormat(resolveLocale(language), {
    timeZone,
    day: 'numeric',
    month: 'short',
    ...((precision === 'day' || !isThisYear) && { year: 'numeric' }),
    ...(precision !== 'day' && { hour: 'numeric', minute: '2-digit' }),
    ...(precision === 'second' && { second: '2-digit' }),
  }).format(time);
}

function Relative({ value, language }: { readonly value: string; readonly language: string }) {
  const now = useNow(30_000);
  return (
    <Text span inherit c="dimmed" className={classes['words'] ?? ''}>
      {formatRelativeTime(value, now, language)}
    </Text>
  );
}

/** Returns the current time, updated at the interval. */
export function useNow(intervalMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), intervalMs);
    return () => clearInterval(timer);
  }, [intervalMs]);
  return now;
}

/** Formats a time such as "3 minutes ago". */
function formatRelativeTime(value: string, now: number, language: string): string {
  const { number, unit } = toRelativeTime(Date.parse(value) - now);
  return new Intl.RelativeTimeFormat(resolveLocale(language), { numeric: 'auto' }).format(number, unit);
}
