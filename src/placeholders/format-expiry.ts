import type { Expiry } from '../kernel/expiry.ts';
import type { DateFormat } from './grammar.ts';

const FORMATTERS: Readonly<Record<DateFormat, (month: string, year: string) => string>> = {
  MM: (month) => month,
  YY: (_, year) => year,
  YYYY: (_, year) => `20${year}`,
  'MM/YY': (month, year) => `${month}/${year}`,
  'MM/YYYY': (month, year) => `${month}/20${year}`,
  'YYYY/MM': (month, year) => `20${year}/${month}`,
  'YYYY-MM': (month, year) => `20${year}-${month}`,
};

/** Formats an expiry; the default is `MM/YY`, as in requests. */
export const formatExpiryAs = ({ month, year }: Expiry, format: DateFormat = 'MM/YY'): string =>
  FORMATTERS[format](month, year);
