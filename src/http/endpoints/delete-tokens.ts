import { LIMITS } from '../../kernel/limits.ts';
import type { Deletion } from '../../vault/vault.ts';
import { defineEndpoint } from '../endpoint.ts';
import { anyString, list, object, output } from '../fields.ts';

const render = (deletions: Deletion[]) => ({
  tokens: deletions.map(({ token, deleted }) => ({
    id: token,
    status: deleted ? ('success' as const) : ('fail' as const),
  })),
});

/** DELETE /v1/tokens/ (interface: Permanent tokens). */
export const deleteTokens = defineEndpoint({
  method: 'DELETE',
  path: '/v1/tokens',
  family: 'vault',
  tag: 'Permanent tokens',
  operationId: 'deleteTokens',
  permission: 'tokens:delete',
  summary: 'Delete tokens',
  description: 'Deletes tokens and their card numbers permanently. The response has one entry for each distinct token.',
  body: object({ tokens: list(anyString('A token'), { min: 1, max: LIMITS.tokensPerDelete }, 'The tokens') }),
  data: object({
    tokens: output.list(
      object({
        id: output.text('The token'),
        status: output.oneOf(['success', 'fail'], 'fail when there is no such token'),
      }),
      'One entry for each distinct token',
    ),
  }),
  failures: [],
  example: {
    body: { tokens: ['4111117349251111'] },
    data: { tokens: [{ id: '4111117349251111', status: 'success' }] },
  },
  async run(call) {
    const { services, transaction, tenant, body } = call;
    return render(await services.vault.delete(transaction, tenant, body.tokens));
  },
});
