import { LIMITS } from '../kernel/limits.ts';
import { OperatorError } from '../kernel/operator-error.ts';

/** The closed list of what can be set for an account's proxy (decisions: Proxy). */

/** A setting that does not exist or cannot have this value; its text is for the operator. */
class SettingError extends OperatorError {
  override readonly name = 'SettingError';
  override readonly wrongUse = true;
}

/** Words that a setting may have; the first is the default. */
const CHOICES = {
  'jose.signature': ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  'jose.key-management': ['RSA-OAEP-256', 'RSA-OAEP'],
  'jose.content': ['A256GCM', 'A128GCM', 'A256CBC-HS512', 'A128CBC-HS256'],
  'jose.payload': ['nested', 'plain'],
  'wssec.order': ['encrypt-sign', 'sign-encrypt'],
  'wssec.content': ['AES-256-GCM', 'AES-256-CBC'],
  'wssec.signature': ['RSA-SHA256', 'RSA-SHA512'],
  'wssec.key-transport': ['RSA-OAEP', 'RSA-OAEP-SHA256', 'RSA-1_5'],
  'wssec.reference': ['binary-security-token', 'subject-key-identifier'],
  'wssec.password-type': ['PasswordDigest', 'PasswordText'],
} as const;

/** Texts of the operator's choice. */
const TEXTS = ['wssec.username', 'wssec.password'] as const;
const SECRETS: readonly string[] = ['wssec.password'];

/** What a preset sets, unless it is set otherwise beside it. */
const PRESETS = {
  redeban: {
    'wssec.order': 'encrypt-sign',
    'wssec.key-transport': 'RSA-1_5',
    'wssec.content': 'AES-256-CBC',
    'wssec.signature': 'RSA-SHA512',
    'wssec.password-type': 'PasswordText',
  },
} as const satisfies Record<string, { readonly [K in ChoiceName]?: (typeof CHOICES)[K][number] }>;

type ChoiceName = keyof typeof CHOICES;
type TextName = (typeof TEXTS)[number];

const PRESET = 'wssec.preset';

export const SETTING_NAMES: readonly string[] = [...Object.keys(CHOICES), ...TEXTS, PRESET].sort();

/** As the operator set them; what is not set is not there. */
export type GivenSettings = Readonly<Record<string, string>>;

/** As they are in force. */
export type Settings = { readonly [K in ChoiceName]: (typeof CHOICES)[K][number] } & {
  readonly [K in TextName]?: string;
};

/** Changes merge into what was set; an empty value removes. Throws `SettingError`. */
export function mergeSettings(old: GivenSettings, changes: GivenSettings): GivenSettings {
  const merged: Record<string, string> = { ...old };
  for (const [index, [name, value]] of Object.entries(changes).entries()) {
    if (!SETTING_NAMES.includes(name))
      throw new SettingError(`setting ${index + 1} does not exist; there are ${SETTING_NAMES.join(', ')}`);
    if (value === '') delete merged[name];
    else merged[name] = checked(name, value);
  }
  if (merged['wssec.username'] !== undefined && merged['wssec.password'] === undefined)
    throw new SettingError('wssec.username needs wssec.password');
  return merged;
}

function checked(name: string, value: string): string {
  const words = name === PRESET ? Object.keys(PRESETS) : wordsOf(name);
  if (words !== undefined && !words.includes(value))
    throw new SettingError(`${name}: expected one of ${words.join(', ')}`);
  if (value.length > LIMITS.proxySettingCharacters || !value.isWellFormed() || /[\p{Cc}\ufffe\uffff]/u.test(value))
    throw new SettingError(
      `${name}: expected 1 to ${LIMITS.proxySettingCharacters} characters without control characters`,
    );
  return value;
}

const wordsOf = (name: string): readonly string[] | undefined =>
  Object.hasOwn(CHOICES, name) ? CHOICES[name as ChoiceName] : undefined;

const DEFAULTS = Object.fromEntries(Object.entries(CHOICES).map(([name, [first]]) => [name, first]));

export function settingsInForce(given: GivenSettings): Settings {
  const preset = PRESETS[given[PRESET] as keyof typeof PRESETS];
  return { ...DEFAULTS, ...preset, ...given } as Settings;
}

/** In force, for people: without what is secret. */
export const shownSettings = (given: GivenSettings): GivenSettings =>
  Object.fromEntries(
    Object.entries(settingsInForce(given)).map(([name, value]) => [name, SECRETS.includes(name) ? '(set)' : value]),
  );
