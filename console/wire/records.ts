import { choice, object, optional, plainText, reference, reply } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { approvalOr } from './approvals.ts';
import { define, done, orNull } from './definition.ts';

/** Tokens and captures. Card numbers as first six and last four only. */

const cursor = optional(reference('Where the page before ended'));
const next = reply.nullableText('Where the next page begins; null at the end');

const token = object({
  token: reply.text('Token'),
  card: reply.text('Truncated card number'),
  scheme: reply.integer('Scheme'),
  is_persistent: reply.truth('One token for each card'),
  name: reply.nullableText('Cardholder'),
  expiration: reply.nullableText('MM/YYYY'),
  tags: reply.texts('Tags'),
  created_by: reply.text('The key that made it, as it was called then'),
  created_at: reply.time('When'),
  is_damaged: reply.truth('The record cannot be opened: it was changed in the database'),
});

export const TOKEN_SEARCHES = ['token', 'tag', 'last_four', 'bin'] as const;

/** What is looked for may be a card number by mistake, so it stands in no address. */
export const listTokens = define({
  method: 'POST',
  path: '/api/accounts/:account/:environment/tokens/search',
  access: 'tokens:read',
  evenSuspended: true,
  body: object({
    by: optional(choice(TOKEN_SEARCHES, 'What to look for; all when absent')),
    value: optional(plainText(LIMITS.tagCharacters, 'The token, the tag, four digits, or six to eight')),
    cursor,
  }),
  data: object({ tokens: reply.list(token, 'Newest first'), next }),
});

export const showToken = define({
  method: 'GET',
  path: '/api/accounts/:account/:environment/tokens/:token',
  access: 'tokens:read',
  data: token,
});

export const deleteToken = define({
  method: 'DELETE',
  path: '/api/accounts/:account/:environment/tokens/:token',
  access: 'tokens:delete',
  stepUp: true,
  byTwo: 'token.delete',
  data: approvalOr(object({ done })),
});

const capture = {
  id: reply.text('Id'),
  card: reply.nullableText('Truncated card number; null without one'),
  has_sad: reply.truth('A cvv or track 2 is stored'),
  amount: reply.integer('Amount as it was sent'),
  currency: reply.text('Currency'),
  created_at: reply.time('When it was made'),
  expires_at: reply.time('When it ends'),
  is_damaged: reply.truth('The record cannot be opened: it was changed in the database'),
};

export const listCaptures = define({
  method: 'GET',
  path: '/api/accounts/:account/:environment/captures',
  access: 'captures:read',
  query: object({ cursor }),
  data: object({ captures: reply.list(object(capture), 'Newest first'), next }),
});

export const showCapture = define({
  method: 'GET',
  path: '/api/accounts/:account/:environment/captures/:id',
  access: 'captures:read',
  data: object({ ...capture, additional_info: orNull(reply.text('As JSON text; card numbers in it truncated')) }),
});

export const deleteCapture = define({
  method: 'DELETE',
  path: '/api/accounts/:account/:environment/captures/:id',
  access: 'captures:delete',
  stepUp: true,
  data: object({ done }),
});
