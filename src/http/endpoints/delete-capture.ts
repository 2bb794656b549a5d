import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { object, output } from '../fields.ts';

/** DELETE /transactions/requests/{id} (interface: Transactions). */
export const deleteCapture = defineEndpoint({
  method: 'DELETE',
  path: '/transactions/requests/:id',
  params: { id: 'Id of the capture' },
  family: 'vault',
  tag: 'Captures',
  operationId: 'deleteCapture',
  permission: 'captures:delete',
  summary: 'Delete a capture',
  description:
    'Deletes a capture immediately and permanently. One that does not exist, or whose ttl has ended, is 400.',
  data: object({ id: output.text('Id of the capture'), status: output.oneOf(['success'], 'success') }),
  failures: ['unknown_capture'],
  example: { data: { id: '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c', status: 'success' } },
  async run(call) {
    const id = pathParameter(call, 'id');
    await call.services.captures.delete(call.transaction, call.tenant, id);
    return { id, status: 'success' as const };
  },
});
