import { anyString, object, oneOf, optional, output, plainText } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { resultOrApproval } from './approvals.ts';
import { define, done, orNull, recordCount, sortOrder } from './definition.ts';

/** Tokens and captures, with truncated card numbers. */

const cursor = optional(anyString('Cursor of the previous page'));
const next = output.nullableText('Where the next page begins; null at the end');

const token = object({
  token: output.text('Token'),
  card: output.text('Truncated card number'),
  scheme: output.integer('Scheme'),
  is_persistent: output.bool('One token for each card'),
  name: output.nullableText('Cardholder'),
  expiration: output.nullableText('MM/YYYY'),
  tags: output.texts('Tags'),
  created_by: output.text('Name of the creating key at that time'),
  created_at: output.time('Time of creation'),
  is_altered: output.bool('The record cannot be opened: it was changed in the database'),
});

export const TOKEN_SEARCHES = ['token', 'tag', 'last_four', 'bin'] as const;

/** A search text may be a card number by mistake, so it is sent in the body and not in the URL. */
export const listTokens = define({
  method: 'POST',
  path: '/api/accounts/:account/:environment/tokens/search',
  access: 'tokens:read',
  allowedWhileSuspended: true,
  body: object({
    by: optional(oneOf(TOKEN_SEARCHES, 'Kind of the search; absent: all tokens')),
    value: optional(plainText(LIMITS.tagCharacters, 'The token, the tag, four digits, or six to eight')),
    /** Searches have an order of their own. */
    order: sortOrder,
    cursor,
  }),
  data: object({ tokens: output.list(token, 'In the requested order'), next, count: recordCount }),
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
  dualControl: 'token.delete',
  data: resultOrApproval(object({ done })),
});

const capture = {
  id: output.text('Id'),
  card: output.nullableText('Truncated card number; null without one'),
  has_sad: output.bool('A cvv or track 2 is stored'),
  amount: output.integer('Amount as it was sent'),
  currency: output.text('Currency'),
  created_at: output.time('Time of creation'),
  expires_at: output.time('Expiry'),
  is_altered: output.bool('The record cannot be opened: it was changed in the database'),
};

export const CAPTURE_STATUSES = ['with-sad', 'without-sad', 'altered'] as const;

const filterText = (what: string) => optional(plainText(LIMITS.searchCharacters, what));

/** A search text may be a card number by mistake, so it is sent in the body and not in the URL. */
export const listCaptures = define({
  method: 'POST',
  path: '/api/accounts/:account/:environment/captures/search',
  access: 'captures:read',
  allowedWhileSuspended: true,
  body: object({
    id: filterText('Id of the capture; with it the other filters are ignored'),
    status: optional(oneOf(CAPTURE_STATUSES, 'Whether a cvv or track 2 is stored, or the record was altered')),
    currency: filterText('Currency'),
    last_four: filterText('Last four digits of the card'),
    from: filterText('ISO 8601, from then on'),
    to: filterText('ISO 8601, before'),
    order: sortOrder,
    cursor,
  }),
  data: object({
    captures: output.list(object(capture), 'In the requested order'),
    next,
    count: recordCount,
    searched_back_to: output.nullableTime('Time up to which the search has read in its order; null at the end'),
  }),
});

export const showCapture = define({
  method: 'GET',
  path: '/api/accounts/:account/:environment/captures/:id',
  access: 'captures:read',
  data: object({ ...capture, additional_info: orNull(output.text('As JSON text; card numbers in it truncated')) }),
});

export const deleteCapture = define({
  method: 'DELETE',
  path: '/api/accounts/:account/:environment/captures/:id',
  access: 'captures:delete',
  stepUp: true,
  data: object({ done }),
});
