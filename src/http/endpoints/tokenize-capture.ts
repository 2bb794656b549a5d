import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { object } from '../fields.ts';
import { formatMembers, formatTokens, tokenExample, tokensData, toTokenFormat } from './token-record.ts';

/** POST /transactions/requests/{transactionID}/tokenize (interface: Transactions). */
export const tokenizeCapture = defineEndpoint({
  method: 'POST',
  path: '/transactions/requests/:id/tokenize',
  params: { id: 'Id of the capture' },
  family: 'vault',
  tag: 'Captures',
  operationId: 'tokenizeCapture',
  permission: 'captures:tokenize',
  summary: 'Tokenize a capture',
  description:
    'Makes a permanent token of the card in a capture. The capture lives on until its ttl ends; its security code and track data never reach the token.',
  body: object(formatMembers),
  data: tokensData,
  failures: ['unknown_capture', 'capture_without_card', 'nothing_tokenized', 'token_space_full'],
  example: { body: { tags: ['web'], scheme: '1' }, data: { tokens: [tokenExample] } },
  async run(call) {
    const format = toTokenFormat(call.body, call.key);
    const { services, transaction, tenant } = call;
    const results = await services.captures.tokenize(transaction, tenant, pathParameter(call, 'id'), format);
    return formatTokens(format, call)(results);
  },
});
