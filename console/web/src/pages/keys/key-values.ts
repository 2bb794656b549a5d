import type { Permission } from '../../../../../src/accounts/permission.ts';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { createKey, listKeys, showKey } from '../../../../wire/keys.ts';
import { startOfDay } from '../../../../wire/start-of-day.ts';
import { type AllowListEntry, isSameNetwork } from './allow-list.ts';
import { isNetwork } from './network.ts';

export type ListedKey = ValueOf<typeof listKeys.data>['keys'][number];
export type Key = ValueOf<typeof showKey.data>['key'];
export type KeyAttributes = ValueOf<NonNullable<typeof createKey.body>>;

export const EXPIRIES = ['none', 'd30', 'd90', 'd365', 'date', 'kept'] as const;
export type Expiry = (typeof EXPIRIES)[number];

/** Values of the form. */
export interface KeyValues {
  name: string;
  description: string;
  permissions: Permission[];
  allow_list: AllowListEntry[];
  /** Pasted lines that will be added to the allow-list. */
  pasted: string;
  /** The user confirmed very wide networks. */
  isWideIntended: boolean;
  expiry: Expiry;
  /** Value of a date field, such as `2027-01-31`. */
  date: string;
}

export const NEW_KEY: KeyValues = {
  name: '',
  description: '',
  permissions: [],
  allow_list: [],
  pasted: '',
  isWideIntended: false,
  expiry: 'none',
  date: '',
};

export const toFormValues = (key: Key): KeyValues => ({
  name: key.name,
  description: key.description,
  permissions: [...key.permissions],
  allow_list: [...key.allow_list],
  pasted: '',
  isWideIntended: false,
  expiry: key.expires_at === null ? 'none' : 'kept',
  date: '',
});

const DAY = 86_400_000;
const DAYS: Partial<Record<Expiry, number>> = { d30: 30, d90: 90, d365: 365 };

/** Returns the end of the day in the time zone, in milliseconds; not a number without a date. */
export const endOfDay = (date: string, timeZone: string): number => Date.parse(startOfDay(date, timeZone, 1) ?? '') - 1;

/** The state beside the form that the expiry depends on. */
interface ExpiryContext {
  readonly now: number;
  readonly timeZone: string;
  /** Current expiry of the key. */
  readonly current: string | null;
}

function toExpiry({ expiry, date }: KeyValues, { now, timeZone, current }: ExpiryContext): string | undefined {
  if (expiry === 'kept') return current ?? undefined;
  if (expiry === 'date') return new Date(endOfDay(date, timeZone)).toISOString();
  const days = DAYS[expiry];
  return days === undefined ? undefined : new Date(now + days * DAY).toISOString();
}

/** Converts form values for the service. */
export const toKeyAttributes = (values: KeyValues, context: ExpiryContext): KeyAttributes => ({
  name: values.name.trim(),
  description: values.description.trim(),
  permissions: values.permissions,
  allow_list: values.allow_list
    .filter(({ cidr }) => cidr.trim() !== '')
    .map(({ cidr, note }) => ({ cidr: cidr.trim(), note: note.trim() })),
  expires_at: toExpiry(values, context),
});

type AddressFault = 'address' | 'twice';

/** Returns what is wrong with a row of the allow-list. Empty rows are skipped when the form is sent. */
export function findAddressFault(rows: readonly AllowListEntry[], index: number): AddressFault | undefined {
  const text = rows[index]?.cidr.trim() ?? '';
  if (text === '') return undefined;
  if (!isNetwork(text)) return 'address';
  return rows.findIndex(({ cidr }) => isSameNetwork(cidr, text)) < index ? 'twice' : undefined;
}
