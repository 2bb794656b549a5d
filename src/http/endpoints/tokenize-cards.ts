import { LIMITS } from '../../kernel/limits.ts';
import { cardNumber, expiry } from '../card-fields.ts';
import { defineEndpoint } from '../endpoint.ts';
import { list, object, plainText } from '../fields.ts';
import { formatMembers, formatTokens, tokenExample, tokensData, toTokenFormat } from './token-record.ts';

/** POST /v1/tokenization/simple (interface: Permanent tokens). */
export const tokenizeCards = defineEndpoint({
  method: 'POST',
  path: '/v1/tokenization/simple',
  family: 'vault',
  tag: 'Permanent tokens',
  operationId: 'tokenizeCards',
  permission: 'tokens:create',
  summary: 'Tokenize cards',
  description:
    'Replaces card numbers by permanent tokens. The request is atomic: a malformed card refuses all of it. A well-formed card that cannot be tokenized (it fails the Luhn check, or no token of its BIN and last four is free) comes back with status 0 while the others succeed.',
  body: object({
    chd: list(
      object({ card: cardNumber, name: plainText(LIMITS.nameCharacters, 'Cardholder name'), exp: expiry }),
      { min: 1, max: LIMITS.cardsPerTokenization },
      'The cards',
    ),
    ...formatMembers,
  }),
  data: tokensData,
  failures: ['nothing_tokenized', 'token_space_full'],
  example: {
    body: { chd: [{ card: '4111111111111111', name: 'Ana Lopez', exp: '12/29' }], tags: ['web'], scheme: 1 },
    data: { tokens: [tokenExample] },
  },
  async run(call) {
    const { services, transaction, tenant, body, key } = call;
    const format = toTokenFormat(body, key);
    const cards = body.chd.map(({ card, name, exp }) => ({ pan: card, name, expiry: exp }));
    return formatTokens(format, call)(await services.vault.tokenize(transaction, tenant, { ...format, cards }));
  },
});
