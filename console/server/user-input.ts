import { parseIso8601 } from '../../src/kernel/clock.ts';
import { invalidField } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';

/** Parsers of texts that users enter. */

/** Returns milliseconds. Throws `invalid_field`. */
export function parseTimeInput(text: string | undefined, field: string): number | undefined {
  if (text === undefined) return undefined;
  const time = parseIso8601(text);
  if (time === undefined) throw invalidField(field, 'isoTime');
  return time;
}

/** Visible ASCII, as in every id. */
export const isId = (text: string): boolean => /^[!-~]+$/.test(text) && text.length <= LIMITS.searchCharacters;

/** Returns settings by name; one without a value is removed. Throws `invalid_field` for a setting that occurs twice. */
export function parseSettingInput(
  settings: readonly { readonly name: string; readonly value?: string | undefined }[],
): Readonly<Record<string, string>> {
  const names = settings.map(({ name }) => name);
  const duplicate = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (duplicate >= 0) throw invalidField(`settings[${duplicate}].name`, 'settingTwice');
  return Object.fromEntries(settings.map(({ name, value = '' }) => [name, value]));
}
