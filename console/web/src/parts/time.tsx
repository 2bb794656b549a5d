import { Text } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { resolveLocale } from './locale.ts';
import classes from './time.module.css';

interface TimeProps {
  /** ISO 8601 text of the service. */
  readonly value: string | null;
  /** Adds the relative time. */
  readonly isRelative?: boolean;
  /** Shows the day only. */
  readonly isDay?: boolean;
  /** Shown instead of null. */
  readonly none?: ReactNode;
}

/** Shows a time in the user's language and time zone, with the exact time as its title. */
export function Time({ value, isRelative = false, isDay = false, none = '–' }: TimeProps) {
  const { i18n } = useTranslation();
  if (value === null)
    return (
      <Text span inherit c="dimmed">
        {none}
      </Text>
    );
  return (
    <time dateTime={value} title={value} className={classes['time']}>
      <span className={classes['words']}>{formatTime(value, i18n.language, isDay)}</span>{' '}
      {isRelative && <Relative value={value} language={i18n.language} />}
    </time>
  );
}

/** Formats a time; the current year is omitted unless only the day is shown. */
export function formatTime(value: string, language: string, isDay = false): string {
  const time = new Date(value);
  const isThisYear = time.getFullYear() === new Date().getFullYear();
  return new Intl.DateTimeFormat(resolveLocale(language), {
    day: 'numeric',
    month: 'short',
    ...((isDay || !isThisYear) && { year: 'numeric' }),
    ...(!isDay && { hour: 'numeric', minute: '2-digit' }),
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

const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** Formats a time such as "3 minutes ago". */
function formatRelativeTime(value: string, now: number, language: string): string {
  const seconds = Math.round((Date.parse(value) - now) / 1000);
  const format = new Intl.RelativeTimeFormat(resolveLocale(language), { numeric: 'auto' });
  for (const [unit, length] of UNITS)
    if (Math.abs(seconds) >= length) return format.format(Math.trunc(seconds / length), unit);
  return format.format(0, 'second');
}
