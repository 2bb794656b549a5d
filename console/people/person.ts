import { assertDisplayable, assertUnambiguous } from '../../src/kernel/displayable.ts';
import { invalidField } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { BROWSER_TIME_ZONE, isTimeZone } from './time-zone.ts';

const LANGUAGES = ['en', 'es'] as const;

export type Language = (typeof LANGUAGES)[number];

/** A hashed password with the parameters of argon2id; bytes in base64. */
export interface PasswordHash {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: string;
  readonly tag: string;
}

export const MAIL_LEVELS = ['none', 'high', 'all'] as const;

/** Which alerts a user gets by mail: by severity, without the muted kinds. */
export interface AlertMails {
  readonly level: (typeof MAIL_LEVELS)[number];
  readonly muted: readonly string[];
}

export interface Person {
  readonly id: string;
  readonly email: string;
  /** True for an address that only the user has stated, until a code that was sent there is entered. */
  readonly isEmailUnconfirmed?: boolean | undefined;
  readonly name: string;
  readonly language: Language;
  /** Name of the IANA database, such as `America/Bogota`, or `BROWSER_TIME_ZONE`. */
  readonly timeZone: string;
  /** Absent until the user chooses; see `resolveAlertMails`. */
  readonly alertMails?: AlertMails | undefined;
  readonly password: PasswordHash;
  /** Passwords before the present one, the newest first; a new password must differ from them. */
  readonly formerPasswords?: readonly PasswordHash[] | undefined;
  /** Increases with every change, for optimistic locking. */
  readonly revision: number;
  readonly createdAt: number;
}

/** Simple on purpose: only a message could show whether an address exists. */
const EMAIL = /^[^\s@"<>\\\p{Cc}]+@[^\s@"<>\\\p{Cc}]+\.[^\s@"<>\\\p{Cc}]+$/u;

export function parseEmail(text: string): string {
  const email = text.trim().normalize('NFC');
  if ([...email].length > LIMITS.emailCharacters || !EMAIL.test(email) || !email.isWellFormed())
    throw invalidField('email', 'email');
  assertUnambiguous(email, 'email');
  const [local = '', domain = ''] = email.split('@');
  if ([local, ...domain.split('.')].some(mixesScripts)) throw invalidField('email', 'oneScript');
  return email;
}

/** Scripts with similar letters: an address that mixes them could be mistaken for another one. */
const CONFUSABLE_SCRIPTS = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u];

const mixesScripts = (part: string): boolean => CONFUSABLE_SCRIPTS.filter((script) => script.test(part)).length > 1;

/** Returns the form in which equal addresses are equal texts. */
export const normalizeEmail = (email: string): string => email.trim().toLowerCase().normalize('NFC');

export const parsePersonName = (text: string): string => parseLine(text, 'name', LIMITS.personNameCharacters);

export const parseLabel = (text: string): string => parseLine(text, 'label', LIMITS.factorLabelCharacters);

export function parseLanguage(text: string): Language {
  const language = LANGUAGES.find((each) => each === text);
  if (language === undefined) throw invalidField('language', 'choice', { words: LANGUAGES.join(', ') });
  return language;
}

export function parseTimeZone(text: string): string {
  if (text !== BROWSER_TIME_ZONE && !isTimeZone(text)) throw invalidField('time_zone', 'timeZone');
  return text;
}

function parseLine(text: string, field: string, max: number): string {
  const line = text.trim();
  if (line === '' || [...line].length > max) throw invalidField(field, 'characters', { min: 1, max });
  assertDisplayable(line, field);
  return line;
}

export const resolveAlertMails = ({ alertMails }: Pick<Person, 'alertMails'>): AlertMails =>
  alertMails ?? { level: 'high', muted: [] };
