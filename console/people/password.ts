import { type Failure, invalidField } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';

/** Score from 0 to 4; 3 is "safely unguessable: moderate protection from offline slow-hash scenario". */
const MIN_SCORE = 3;

/**
 * Number of characters that are rated. The time grows with the square of the length and more, seconds for some texts,
 * and blocks the event loop. Further characters make a good password no worse.
 */
const JUDGED_CHARACTERS = 32;

/** Returns the same password, however the keyboard composes its characters. */
export const normalizePassword = (password: string): string => password.normalize('NFKC');

type StrengthEstimator = (password: string, words: string[]) => number;

let estimator: Promise<StrengthEstimator> | undefined;

/** Megabytes of common passwords, loaded on first use. */
async function loadEstimator(): Promise<StrengthEstimator> {
  const { ZxcvbnFactory } = await import('@zxcvbn-ts/core');
  const { dictionary, adjacencyGraphs } = await import('@zxcvbn-ts/language-common');
  const factory = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  return (password, words) => factory.check(password, words).score;
}

/** Throws `invalid_field` for a password that is too short, too long, or easy to guess with knowledge of the user. */
export async function assertStrongPassword(password: string, user: { email: string; name: string }): Promise<void> {
  const { passwordCharactersAtLeast: min, passwordCharacters: max } = LIMITS;
  const normalized = normalizePassword(password);
  for (const text of [password, normalized])
    if ([...text].length < min || [...text].length > max) throw invalidField('password', 'characters', { min, max });
  estimator ??= loadEstimator();
  const score = (await estimator)([...normalized].slice(0, JUDGED_CHARACTERS).join(''), [
    'cardvault',
    ...listWords(user.email),
    ...listWords(user.name),
  ]);
  if (score < MIN_SCORE) throw invalidField('password', 'weakPassword');
}

/** Thrown for a new password that equals one of the last ones (PCI DSS 8.3.7). */
export const recentPassword = (): Failure =>
  invalidField('password', 'samePassword', { count: LIMITS.rememberedPasswords });

/** Returns a text, its words, and all of them joined; with and without diacritics. */
function listWords(text: string): string[] {
  const forms = [text, text.normalize('NFKD').replace(/\p{M}/gu, '')];
  const words = forms.flatMap((form) => {
    const parts = form.split(/[^\p{L}\p{N}]+/u);
    return [form, ...parts, parts.join(''), parts.slice(0, 2).join('')];
  });
  return [...new Set(words)].filter((word) => word !== '');
}
