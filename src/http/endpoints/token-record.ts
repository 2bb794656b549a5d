import type { ApiKey } from '../../accounts/api-key.ts';
import { formatIso8601 } from '../../kernel/clock.ts';
import { LIMITS } from '../../kernel/limits.ts';
import { truncatePan, truncatePans } from '../../kernel/pan.ts';
import { explain } from '../../kernel/reasons.ts';
import type { Tokenization, TokenizationResult } from '../../vault/assign-tokens.ts';
import { isScheme, SCHEMES, type Scheme, type TokenFormat } from '../../vault/scheme.ts';
import {
  anyText,
  bool,
  exactly,
  type Field,
  FieldMismatch,
  list,
  type ObjectValue,
  object,
  optional,
  output,
  type ValueOf,
} from '../fields.ts';

const SCHEME_NUMBERS = Object.keys(SCHEMES);
const SCHEME_NAMES = Object.entries(SCHEMES)
  .map(([number, { name }]) => `${number} (${name})`)
  .join(', ');
const EIGHT_DIGIT_SCHEMES = formatList(
  SCHEME_NUMBERS.filter((number) => SCHEMES[Number(number) as Scheme].eightDigitBin),
);

export const scheme: Field<Scheme> = {
  schema: {
    oneOf: [
      { type: 'integer', enum: SCHEME_NUMBERS.map(Number) },
      { type: 'string', enum: SCHEME_NUMBERS },
    ],
    description: `Token format: ${SCHEME_NAMES}`,
  },
  parse(value) {
    const number = typeof value === 'string' && /^[0-9]$/.test(value) ? Number(value) : value;
    if (typeof number !== 'number' || !isScheme(number))
      throw new FieldMismatch(explain('choice', { words: SCHEME_NAMES }));
    return number;
  },
};

/** Formats numbers as `1, 3 and 8`. A formatter of `Intl` takes 13 ms of each start, for the data of all languages. */
function formatList(numbers: readonly string[]): string {
  return `${numbers.slice(0, -1).join(', ')} and ${numbers.at(-1)}`;
}

const tags = list(
  anyText(LIMITS.tagCharacters, 'A tag'),
  { min: 0, max: LIMITS.tags },
  'Tags attached to every card; [] for none',
);

/** Members that tokenization and tokenizing a capture share. */
export const formatMembers = {
  tags,
  scheme,
  isEightDigitsBin: optional(
    bool(
      `Keep the first 8 digits instead of 6 of card numbers with 16 digits or more; schemes ${EIGHT_DIGIT_SCHEMES} only`,
    ),
  ),
  type: optional(exactly('persistent', 'Give the same token for the same card number')),
};

type FormatRequest = ObjectValue<typeof formatMembers>;

/** Throws `FieldMismatch` when the scheme has no 8-digit BIN. */
export function toTokenFormat(request: FormatRequest, key: ApiKey): Omit<Tokenization, 'cards'> {
  const isEightDigits = request.isEightDigitsBin === true;
  if (isEightDigits && !SCHEMES[request.scheme].eightDigitBin) {
    throw new FieldMismatch(explain('eightDigitSchemes', { schemes: EIGHT_DIGIT_SCHEMES }), 'isEightDigitsBin');
  }
  const format: TokenFormat = { scheme: request.scheme, bin: isEightDigits ? 8 : 6 };
  const creator = { id: key.id, name: key.name };
  return { tags: request.tags, format, persistent: request.type === 'persistent', creator };
}

export const tokensData = object({
  tokens: output.list(
    object({
      card: output.text('Card number, first 6 and last 4 digits, a star for each digit between'),
      token: output.text('The token; empty when the card cannot be tokenized'),
      tags: output.texts('Tags attached to the card'),
      scheme: output.integer('Token format'),
      status: output.integer('1 when the card was tokenized, 0 when it cannot be'),
      created_by: object({ user_id: output.text('Id of the API key'), name: output.text('Name of the API key') }),
      createdAt: output.time('When the token was made'),
    }),
    'One record for each card, in the order of the request',
  ),
});

type TokensData = ValueOf<typeof tokensData>;

/** Truncates card numbers in a stored text for keys that may not read card numbers. */
export const truncateForKey = (text: string, { permissions }: Pick<ApiKey, 'permissions'>): string =>
  permissions.includes('tokens:detokenize') ? text : truncatePans(text);

/** The tags of the request are returned as they were sent, those that the token had before as the key may read them. */
export function formatTokens(
  request: Omit<Tokenization, 'cards'>,
  { now, key }: { readonly now: number; readonly key: ApiKey },
): (results: TokenizationResult[]) => TokensData {
  return (results) => ({
    tokens: results.map(({ card, token }) => {
      const creator = token?.createdBy ?? request.creator;
      return {
        card: truncatePan(card.pan),
        token: token?.token ?? '',
        tags: (token?.tags ?? request.tags).map((tag) => (request.tags.includes(tag) ? tag : truncateForKey(tag, key))),
        scheme: request.format.scheme,
        status: token === undefined ? 0 : 1,
        created_by: { user_id: creator.id, name: creator.name },
        createdAt: formatIso8601(token?.createdAt ?? now),
      };
    }),
  });
}

export const tokenExample = {
  card: '411111******1111',
  token: '4111117349251111',
  tags: ['web'],
  scheme: 1,
  status: 1,
  created_by: { user_id: 'key_9m2k4x7p1d8q3r', name: 'checkout' },
  createdAt: '2026-01-15T10:30:00.000Z',
};
