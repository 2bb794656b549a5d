import { formatIso8601 } from '../../kernel/clock.ts';
import { formatLongExpiry } from '../../kernel/expiry.ts';
import { truncatePan } from '../../kernel/pan.ts';
import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { object, optional, output } from '../fields.ts';
import { truncateForKey } from './token-record.ts';

/** GET /v1/tokens/{token}/inspect (interface: Permanent tokens). */
export const inspectToken = defineEndpoint({
  method: 'GET',
  path: '/v1/tokens/:token/inspect',
  params: { token: 'The token' },
  family: 'vault',
  tag: 'Permanent tokens',
  operationId: 'inspectToken',
  permission: 'tokens:inspect',
  summary: 'Inspect a token',
  description:
    'What a token stands for, without the card number. A card number in the name comes back truncated to keys without tokens:detokenize. A token that does not exist is 400.',
  data: object({
    token: output.text('The token'),
    card_truncated: output.text('Card number, first 6 and last 4 digits'),
    exp: optional(output.text('Expiry, MM/YYYY; absent when none is known')),
    name: optional(output.text('Cardholder name; absent when none is known')),
    status: output.integer('1'),
    created_by: output.text('Name of the API key that made the token'),
    createdAt: output.time('When the token was made'),
  }),
  failures: ['unknown_token'],
  example: {
    data: {
      token: '4111117349251111',
      card_truncated: '411111******1111',
      exp: '12/2029',
      name: 'Ana Lopez',
      status: 1,
      created_by: 'checkout',
      createdAt: '2026-01-15T10:30:00.000Z',
    },
  },
  async run(call) {
    const { token, card, createdBy, createdAt } = await call.services.vault.inspect(
      call.tenant,
      pathParameter(call, 'token'),
    );
    return {
      token,
      card_truncated: truncatePan(card.pan),
      exp: card.expiry && formatLongExpiry(card.expiry),
      name: card.name && truncateForKey(card.name, call.key),
      status: 1,
      created_by: createdBy.name,
      createdAt: formatIso8601(createdAt),
    };
  },
});
