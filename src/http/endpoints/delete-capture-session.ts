import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { object, output } from '../fields.ts';

/** DELETE /v1/capture-sessions/{id} (browser.md 2). */
export const deleteCaptureSession = defineEndpoint({
  method: 'DELETE',
  path: '/v1/capture-sessions/:id',
  params: { id: 'Id of the session' },
  family: 'vault',
  tag: 'Card form',
  operationId: 'deleteCaptureSession',
  permission: 'captures:delete',
  summary: 'Cancel a session of the card form',
  description: 'An open session takes no card any more. One that has ended is 400.',
  data: object({ id: output.text('Id of the session'), status: output.oneOf(['cancelled'], 'cancelled') }),
  failures: ['unknown_session', 'not_possible'],
  example: { data: { id: 'cs_4m8x2p7k1qd9s3v6c0t5b2n8', status: 'cancelled' } },
  async run(call) {
    const id = pathParameter(call, 'id');
    await call.services.captureSessions.cancel(call.transaction, call.tenant, id);
    return { id, status: 'cancelled' as const };
  },
});
