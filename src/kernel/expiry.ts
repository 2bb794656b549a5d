/** Month and year of a card's expiry, always in the years 2000 to 2099. */
export interface Expiry {
  readonly month: string;
  /** Two digits. */
  readonly year: string;
}

const MONTH = '(0[1-9]|1[0-2])';
const MM_YY = new RegExp(`^${MONTH}/([0-9]{2})$`);
const YYMM = new RegExp(`^([0-9]{2})${MONTH}$`);

/** `MM/YY`, the format of requests. */
export function parseExpiry(text: string): Expiry | undefined {
  const [, month, year] = MM_YY.exec(text) ?? [];
  return month !== undefined && year !== undefined ? { month, year } : undefined;
}

/** `YYMM`, the format of track 2 (ISO/IEC 7813). */
export function parseTrackExpiry(text: string): Expiry | undefined {
  const [, year, month] = YYMM.exec(text) ?? [];
  return month !== undefined && year !== undefined ? { month, year } : undefined;
}

export const formatExpiry = (expiry: Expiry): string => `${expiry.month}/${expiry.year}`;

/** `MM/YYYY`, the format in which inspecting a token returns the expiry. */
export const formatLongExpiry = (expiry: Expiry): string => `${expiry.month}/20${expiry.year}`;

/** `MM/YY` or `MM/YYYY`, the formats of payments. */
export const parseAnyExpiry = (text: string): Expiry | undefined =>
  parseExpiry(text.replace(/^([0-9]{2})\/20([0-9]{2})$/, '$1/$2'));
