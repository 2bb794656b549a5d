import { DAY, HOUR } from '../../src/kernel/clock.ts';
import { invalidField } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { isTimeZone } from '../people/time-zone.ts';
import { dayOf, startOfDay } from '../wire/start-of-day.ts';

/** The days of a time zone for which an overview is shown, in steps. Counters are by hour, so times are whole hours. */
export interface OverviewPeriod {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  readonly step: 'hour' | 'day' | 'week';
  /** The start of each step. */
  readonly starts: readonly number[];
  /** The first and the last day. */
  readonly days: readonly [first: string, last: string];
  readonly zone: string;
  /** False where days of the zone do not begin with an hour of UTC: they are counted from the hour in which they begin. */
  readonly isExact: boolean;
  /** The time of the same length before, without the hours that the period has not had yet. */
  readonly before: { readonly from: number; readonly to: number };
}

interface PeriodQuery {
  readonly days?: number | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly zone?: string | undefined;
}

const DEFAULT_DAYS = 7;
const MAX_DAYS_BY_HOUR = 2;
const MAX_DAYS_BY_DAY = 92;
const DAYS_OF_WEEK = 7;

/** Returns the days of the query, or as many days as it names, of which today is the last. Throws `invalid_field`. */
export function parsePeriod({ days = DEFAULT_DAYS, from, to, zone = 'UTC' }: PeriodQuery, now: number): OverviewPeriod {
  if (!isTimeZone(zone)) throw invalidField('zone', 'timeZone');
  const today = dayOf(now, zone);
  if (from === undefined && to === undefined) return buildPeriod(addDays(today, 1 - days), days, zone, now);
  const [first, last] = [parseDay(from ?? today, 'from'), parseDay(to ?? today, 'to')];
  const count = (Date.parse(last) - Date.parse(first)) / DAY + 1;
  if (count < 1) throw invalidField('to', 'order');
  if (count > LIMITS.overviewDays) throw invalidField('to', 'period', { days: LIMITS.overviewDays });
  return buildPeriod(first, count, zone, now);
}

function buildPeriod(first: string, days: number, zone: string, now: number): OverviewPeriod {
  const step = days <= MAX_DAYS_BY_HOUR ? 'hour' : days <= MAX_DAYS_BY_DAY ? 'day' : 'week';
  const [start, end] = [startTime(first, zone), startTime(first, zone, days)];
  const [from, to] = [toHour(start), toHour(end)];
  const thisHour = toHour(now);
  const length = to - from;
  return {
    from,
    to,
    step,
    starts: step === 'hour' ? listHours(from, to) : listDays(first, days, zone, step === 'day' ? 1 : DAYS_OF_WEEK),
    days: [first, addDays(first, days - 1)],
    zone,
    isExact: start === from && end === to,
    before: { from: from - length, to: Math.max(from - length, Math.min(to, thisHour + HOUR) - length) },
  };
}

const startTime = (day: string, zone: string, daysLater = 0): number =>
  Date.parse(startOfDay(day, zone, daysLater) ?? '');

const toHour = (at: number): number => at - (at % HOUR);

function listHours(from: number, to: number): number[] {
  const hours: number[] = [];
  for (let at = from; at < to; at += HOUR) hours.push(at);
  return hours;
}

function listDays(first: string, days: number, zone: string, every: number): number[] {
  const starts: number[] = [];
  for (let day = 0; day < days; day += every) starts.push(toHour(startTime(first, zone, day)));
  return starts;
}

const addDays = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY).toISOString().slice(0, day.length);

/** Throws `invalid_field`. */
function parseDay(text: string, field: string): string {
  const at = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  if (!(at >= 0) || !new Date(at).toISOString().startsWith(text)) throw invalidField(field, 'day');
  return text;
}
