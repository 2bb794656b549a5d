import type { AdditionalInfo } from '../../captures/capture.ts';
import { isUuid } from '../../kernel/ids.ts';
import { truncatePans } from '../../kernel/pan.ts';
import { truncatePansInJson } from '../../kernel/pan-json.ts';
import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { anyObject, object, optional, output } from '../fields.ts';
import { ADDITIONAL_INFO, withPanIndex } from './pan-index.ts';

/** GET /transactions/requests/{id}/inspect (interface: Transactions). */
export const inspectCapture = defineEndpoint({
  method: 'GET',
  path: '/transactions/requests/:id/inspect',
  params: { id: 'Id of the capture' },
  family: 'vault',
  tag: 'Captures',
  operationId: 'inspectCapture',
  permission: 'captures:inspect',
  summary: 'Inspect a capture',
  description:
    'Returns a capture without sensitive data; what looks like a card number in additional_info comes back truncated. A capture that does not exist, or whose ttl has ended, has data.status fail.',
  data: object({
    id: output.text('Id of the capture'),
    amount: optional(output.integer('Amount')),
    currency: optional(output.text('ISO 4217 code')),
    additional_info: optional(anyObject(ADDITIONAL_INFO)),
    status: output.oneOf(['success', 'fail'], 'success while the capture exists and its ttl has not ended'),
  }),
  failures: [],
  example: {
    data: {
      id: '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c',
      amount: 12500,
      currency: 'USD',
      additional_info: { order: 'A-1001', pan_index: '9f86d081884c7d659a2feaa0c55ad015' },
      status: 'success',
    },
  },
  async run(call) {
    const id = pathParameter(call, 'id');
    const found = await call.services.captures.inspect(call.tenant, id);
    if (found === undefined) return { id: truncatedId(id), status: 'fail' as const };
    const { capture, panIndex } = found;
    const info = truncatePansInJson({ ...capture.additionalInfo }) as AdditionalInfo;
    return {
      id: capture.id,
      amount: capture.amount,
      currency: capture.currency,
      additional_info: withPanIndex(info, panIndex),
      status: 'success' as const,
    };
  },
});

/** An id of another format comes from the path; a card number in it is not repeated. */
const truncatedId = (id: string): string => (isUuid(id) ? id : truncatePans(id));
