import { formatExpiry } from '../../kernel/expiry.ts';
import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { anyObject, object, optional, output } from '../fields.ts';
import { ADDITIONAL_INFO, withPanIndex } from './pan-index.ts';

/** GET /transactions/requests/{id} (interface: Transactions). */
export const retrieveCapture = defineEndpoint({
  method: 'GET',
  path: '/transactions/requests/:id',
  params: { id: 'Id of the capture' },
  family: 'vault',
  tag: 'Captures',
  operationId: 'retrieveCapture',
  permission: 'captures:retrieve',
  summary: 'Retrieve a capture',
  description:
    'Returns everything in the capture, card number and security code included. The read is in the audit log before the response is sent. A capture that does not exist, or whose ttl has ended, is 400.',
  data: object({
    id: output.text('Id of the capture'),
    pan: optional(output.text('Card number')),
    exp: optional(output.text('Expiry, MM/YY')),
    name: optional(output.text('Cardholder name')),
    cvv: optional(output.text('Security code of the card')),
    track_2: optional(output.text('Track 2 without sentinels')),
    amount: output.integer('Amount'),
    currency: output.text('ISO 4217 code'),
    additional_info: anyObject(ADDITIONAL_INFO),
  }),
  failures: ['unknown_capture'],
  example: {
    data: {
      id: '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c',
      pan: '4111111111111111',
      exp: '12/29',
      name: 'Ana Lopez',
      cvv: '123',
      amount: 12500,
      currency: 'USD',
      additional_info: { order: 'A-1001', pan_index: '9f86d081884c7d659a2feaa0c55ad015' },
    },
  },
  async run(call) {
    const { capture, panIndex } = await call.services.captures.retrieve(
      call.transaction,
      call.tenant,
      pathParameter(call, 'id'),
    );
    return {
      id: capture.id,
      pan: capture.pan,
      exp: capture.expiry && formatExpiry(capture.expiry),
      name: capture.name,
      cvv: capture.sad.cvv,
      track_2: capture.sad.track2,
      amount: capture.amount,
      currency: capture.currency,
      additional_info: withPanIndex(capture.additionalInfo, panIndex),
    };
  },
});
