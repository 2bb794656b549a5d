import { DAY, HOUR, MINUTE, SECOND } from '../kernel/clock.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Explanation, explain } from '../kernel/reasons.ts';

/** Settings of `cardvault payments enable --setting` (decisions: Payments): closed lists, one of all processors and one of each. */

/** The description of a setting, in the languages of the console. */
interface SettingDescription {
  readonly en: string;
  readonly es: string;
}

export interface Setting {
  readonly description: SettingDescription;
  /** The value of an unset setting. Absent: the setting has none. */
  readonly defaultValue?: string;
  readonly required?: true;
  /** True for a secret, which is never shown. */
  readonly secret?: true;
  /** True when requests are sent to this URL: in production only to allowed hosts. */
  readonly destination?: true;
  /**
   * True when another value may mean another account at the processor, which knows nothing of the operations of this one: a key too,
   * where the processor finds operations by it alone.
   */
  readonly namesAccount?: true;
  accepts(text: string): boolean;
  readonly expected: Explanation;
}

export type SettingTable = Readonly<Record<string, Setting>>;

/** The settings as the operator set them; unset ones are absent. */
export type ConfiguredSettings = Readonly<Record<string, string>>;

const UNITS: Readonly<Record<string, number>> = { s: SECOND, m: MINUTE, h: HOUR, d: DAY };

/** Parses `30s`, `24h`, `7d` into milliseconds. */
export const parseDuration = (duration: string): number =>
  Number(duration.slice(0, -1)) * (UNITS[duration.slice(-1)] ?? Number.NaN);

type Options = Pick<Setting, 'defaultValue' | 'required' | 'secret' | 'destination' | 'namesAccount'>;

const duration = (description: SettingDescription, max: number, options: Options): Setting => ({
  description,
  ...options,
  expected: explain('valueDuration', { days: max / DAY }),
  accepts: (text) => /^[1-9][0-9]{0,6}[smhd]$/.test(text) && parseDuration(text) <= max,
});

const wholeNumber = (description: SettingDescription, min: number, max: number, options: Options): Setting => ({
  description,
  ...options,
  expected: explain('valueWholeNumber', { min, max }),
  accepts: (text) => /^(0|[1-9][0-9]{0,8})$/.test(text) && Number(text) >= min && Number(text) <= max,
});

export const oneOf = (description: SettingDescription, words: readonly string[], options: Options): Setting => ({
  description,
  ...options,
  expected: explain('valueChoice', { words: words.join(', ') }),
  accepts: (text) => words.includes(text),
});

export const text = (
  description: SettingDescription,
  pattern: RegExp,
  expected: Explanation,
  options: Options,
): Setting => ({
  description,
  ...options,
  expected,
  accepts: (value) => pattern.test(value),
});

/** Without query and fragment; plain HTTP for loopback only. */
export const url = (description: SettingDescription, options: Options): Setting => ({
  description,
  ...options,
  expected: explain('valueUrl'),
  accepts: isAcceptedUrl,
});

/** Paths are appended as text, so blanks and `\` are rejected, which parsing a URL drops or changes. */
function isAcceptedUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, username, password, search, hash } = new URL(value);
  if (username !== '' || password !== '' || search !== '' || hash !== '' || /[?#\\\s]/.test(value)) return false;
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.[0-9]{1,3}){3}$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback);
}

/** The settings of every processor. */
export const COMMON_SETTINGS = {
  'opened-expiry': duration(
    { en: 'Time until an opened payment expires', es: 'Tiempo hasta que vence un pago abierto' },
    30 * DAY,
    { defaultValue: '24h' },
  ),
  'authorization-expiry': duration(
    { en: 'Time until an authorization expires', es: 'Tiempo hasta que vence una autorización' },
    60 * DAY,
    { defaultValue: '7d' },
  ),
  'erase-sad': oneOf(
    {
      en: 'Delete CVV and track 2 data of a capture after an authorization has used it',
      es: 'Eliminar el CVV y la pista 2 de una captura después de que una autorización los use',
    },
    ['true', 'false'],
    { defaultValue: 'true' },
  ),
  'payment-scheme': oneOf(
    { en: 'Format of the tokens for cards in payments', es: 'Formato de los tokens para las tarjetas de los pagos' },
    ['1', '3', '7', '8'],
    { defaultValue: '7' },
  ),
  'timeout-ms': wholeNumber(
    {
      en: 'Time the processor has to respond, in milliseconds',
      es: 'Tiempo que tiene el procesador para responder, en milisegundos',
    },
    50,
    300_000,
    { defaultValue: '30000' },
  ),
  'recovery-delay-ms': wholeNumber(
    {
      en: 'Wait before an unknown outcome is checked, in milliseconds',
      es: 'Espera antes de consultar un resultado desconocido, en milisegundos',
    },
    0,
    600_000,
    { defaultValue: '60000' },
  ),
  'recovery-max': duration(
    {
      en: 'Time an authorization may stay unconfirmed before it is reversed',
      es: 'Tiempo que puede quedar sin confirmar una autorización antes del reverso',
    },
    7 * DAY,
    { defaultValue: '1h' },
  ),
} satisfies SettingTable;

/** Merges changes into the configured settings; an empty value removes a setting. Throws `usage`. */
export function mergeSettings(
  table: SettingTable,
  old: ConfiguredSettings,
  changes: ConfiguredSettings,
): ConfiguredSettings {
  const merged: Record<string, string> = { ...old };
  for (const [index, [name, value]] of Object.entries(changes).entries()) {
    const setting = Object.hasOwn(table, name) ? table[name] : undefined;
    if (setting === undefined)
      throw new Failure(
        'usage',
        explain('settingUnknown', { number: index + 1, names: Object.keys(table).sort().join(', ') }),
        { field: 'settings' },
      );
    if (value === '') delete merged[name];
    else if (isAccepted(setting, value)) merged[name] = value;
    else throw new Failure('usage', explain('setting', { name, expected: setting.expected }), { field: 'settings' });
  }
  const missing = Object.entries(table).filter(
    ([name, { required }]) => required === true && merged[name] === undefined,
  );
  if (missing.length > 0)
    throw new Failure('usage', explain('settingsMissing', { names: missing.map(([name]) => name).join(', ') }), {
      field: 'settings',
    });
  return merged;
}

/** True when both settings send to the same account at the processor. */
export const isSameAccount = (table: SettingTable, one: ConfiguredSettings, other: ConfiguredSettings): boolean =>
  Object.entries(table).every(([name, { namesAccount }]) => namesAccount !== true || one[name] === other[name]);

/** Production does not allow this choice (PCI DSS 3.3.1). Throws `usage`. */
export function assertErasesSad(given: ConfiguredSettings): void {
  if (given['erase-sad'] === 'false') throw new Failure('usage', explain('sadErased'), { field: 'settings' });
}

const isAccepted = (setting: Setting, value: string): boolean =>
  value.length <= LIMITS.processorSettingCharacters &&
  value.isWellFormed() &&
  !/\p{Cc}/u.test(value) &&
  setting.accepts(value);

export function effectiveSettings(table: SettingTable, given: ConfiguredSettings): ConfiguredSettings {
  const defaults = Object.entries(table).flatMap(([name, { defaultValue }]) =>
    defaultValue === undefined ? [] : [[name, defaultValue] as const],
  );
  return { ...Object.fromEntries(defaults), ...given };
}

/** The effective settings without secrets, for display. */
export const redactedSettings = (table: SettingTable, given: ConfiguredSettings): ConfiguredSettings =>
  Object.fromEntries(
    Object.entries(effectiveSettings(table, given)).map(([name, value]) => [
      name,
      table[name]?.secret === true ? '(set)' : value,
    ]),
  );

/** A setting as operators see it. */
export interface SettingView extends Pick<Setting, 'description' | 'expected'> {
  readonly name: string;
  readonly isSet: boolean;
  /** The configured value; absent for a secret. */
  readonly value: string | undefined;
  /** The effective value while the setting is unset. */
  readonly defaultValue: string | undefined;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
}

/** All settings. */
export const listSettings = (table: SettingTable, given: ConfiguredSettings): SettingView[] =>
  Object.entries(table).map(([name, { description, expected, defaultValue, required = false, secret = false }]) => ({
    name,
    description,
    expected,
    defaultValue,
    isSet: given[name] !== undefined,
    value: secret ? undefined : given[name],
    isRequired: required,
    isSecret: secret,
  }));
