import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Explanation, explain } from '../kernel/reasons.ts';

/** The closed list of an account's proxy settings (decisions: Proxy). */

/** Values that a setting may have; the first is the default. */
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

/** Settings with a text of the operator's choice. */
const TEXTS = ['wssec.username', 'wssec.password'] as const;
const SECRETS: readonly string[] = ['wssec.password'];

/** The values that a preset sets, unless a setting overrides them. */
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

/** Description of each setting. */
const DESCRIPTIONS: Readonly<Record<ChoiceName | TextName | typeof PRESET, string>> = {
  'jose.signature': 'How the payload is signed',
  'jose.key-management': 'How the content key is encrypted for the processor',
  'jose.content': 'How the payload is encrypted',
  'jose.payload': 'What is encrypted: the signed payload (nested), or the payload as it is (plain)',
  'wssec.order': 'What is done first: encrypting or signing',
  'wssec.content': 'How the Body is encrypted',
  'wssec.signature': 'How the envelope is signed',
  'wssec.key-transport': 'How the content key is encrypted for the processor',
  'wssec.reference': 'How the signature names the merchant certificate',
  'wssec.password-type': 'How the password is sent',
  'wssec.username': 'User name of the UsernameToken; without it there is none',
  'wssec.password': 'Password of the UsernameToken',
  'wssec.preset': 'A set of values for one processor; what is set beside it comes first',
};

export const SETTING_NAMES: readonly string[] = Object.keys(DESCRIPTIONS).sort();

/** Both halves of a credential; the user name is shown to members, but stored sealed only. */
const CREDENTIALS: readonly string[] = ['wssec.username', ...SECRETS];

/** True when the audit log may contain the value. */
export const isAuditedSetting = (name: string): boolean => SETTING_NAMES.includes(name) && !CREDENTIALS.includes(name);

/** The settings as the operator set them; unset ones are absent. */
export type ConfiguredSettings = Readonly<Record<string, string>>;

/** The settings with their defaults. */
export type EffectiveSettings = { readonly [K in ChoiceName]: (typeof CHOICES)[K][number] } & {
  readonly [K in TextName]?: string;
};

/** Merges changes into the configured settings; an empty value removes a setting. Throws `usage`. */
export function mergeSettings(current: ConfiguredSettings, changes: ConfiguredSettings): ConfiguredSettings {
  const merged: Record<string, string> = { ...current };
  for (const [index, [name, value]] of Object.entries(changes).entries()) {
    if (!SETTING_NAMES.includes(name))
      throw new Failure('usage', explain('settingUnknown', { number: index + 1, names: SETTING_NAMES.join(', ') }), {
        field: 'settings',
      });
    if (value === '') delete merged[name];
    else merged[name] = parseValue(name, value);
  }
  if (merged['wssec.username'] !== undefined && merged['wssec.password'] === undefined)
    throw new Failure('usage', explain('usernameNeedsPassword'), { field: 'settings' });
  return merged;
}

function parseValue(name: string, value: string): string {
  const choices = choicesFor(name);
  const isValid =
    choices.length > 0
      ? choices.includes(value)
      : value.length <= LIMITS.proxySettingCharacters && value.isWellFormed() && !/[\p{Cc}\ufffe\uffff]/u.test(value);
  if (!isValid)
    throw new Failure('usage', explain('setting', { name, expected: describeExpected(name) }), { field: 'settings' });
  return value;
}

/** Absent for a setting that accepts any text. */
function choicesFor(name: string): readonly string[] {
  if (name === PRESET) return Object.keys(PRESETS);
  return Object.hasOwn(CHOICES, name) ? CHOICES[name as ChoiceName] : [];
}

function describeExpected(name: string): Explanation {
  const choices = choicesFor(name);
  if (choices.length > 0) return explain('valueChoice', { words: choices.join(', ') });
  return explain('valueCharacters', { min: 1, max: LIMITS.proxySettingCharacters });
}

const DEFAULTS = Object.fromEntries(Object.entries(CHOICES).map(([name, [first]]) => [name, first]));

export function effectiveSettings(configured: ConfiguredSettings): EffectiveSettings {
  const preset = PRESETS[configured[PRESET] as keyof typeof PRESETS];
  return { ...DEFAULTS, ...preset, ...configured } as EffectiveSettings;
}

/** The effective settings without secrets, for display. */
export const redactedSettings = (configured: ConfiguredSettings): ConfiguredSettings =>
  Object.fromEntries(
    Object.entries(effectiveSettings(configured)).map(([name, value]) => [
      name,
      SECRETS.includes(name) ? '(set)' : value,
    ]),
  );

/** A setting as operators see it. */
interface SettingView {
  readonly name: string;
  readonly description: string;
  readonly isSet: boolean;
  /** The configured value; absent for a secret. */
  readonly value: string | undefined;
  /** The effective value while the setting is unset. */
  readonly defaultValue: string | undefined;
  readonly expected: Explanation;
  /** Absent for a setting that accepts any text. */
  readonly choices: readonly string[];
  readonly isSecret: boolean;
}

/** All settings. */
export const listSettings = (configured: ConfiguredSettings): SettingView[] =>
  Object.entries(DESCRIPTIONS).map(([name, description]) => {
    const isSecret = SECRETS.includes(name);
    const { [name]: value, ...others } = configured;
    const effective: ConfiguredSettings = { ...effectiveSettings(others) };
    return {
      name,
      description,
      isSet: value !== undefined,
      value: isSecret ? undefined : value,
      defaultValue: effective[name],
      expected: describeExpected(name),
      choices: choicesFor(name),
      isSecret,
    };
  });
