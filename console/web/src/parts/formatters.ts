/** Formatters by their locale and options. To create one takes longer than to format a page of a list with it. */

const dateTimeFormats = new Map<string, Intl.DateTimeFormat>();
const numberFormats = new Map<string, Intl.NumberFormat>();

export const dateTimeFormat = (locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  getOrCreate(dateTimeFormats, JSON.stringify([locale, options]), () => new Intl.DateTimeFormat(locale, options));

export const numberFormat = (locale: string, options: Intl.NumberFormatOptions): Intl.NumberFormat =>
  getOrCreate(numberFormats, JSON.stringify([locale, options]), () => new Intl.NumberFormat(locale, options));

function getOrCreate<Format>(formats: Map<string, Format>, key: string, create: () => Format): Format {
  const found = formats.get(key);
  if (found !== undefined) return found;
  const created = create();
  formats.set(key, created);
  return created;
}
