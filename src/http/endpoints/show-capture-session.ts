import { formatSession } from '../../capture-sessions/capture-sessions.ts';
import { SESSION_STATUSES } from '../../capture-sessions/session.ts';
import { ENVIRONMENTS } from '../../kernel/environment.ts';
import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { object, optional, output } from '../fields.ts';

/** GET /v1/capture-sessions/{id} (browser.md 2). */
export const showCaptureSession = defineEndpoint({
  method: 'GET',
  path: '/v1/capture-sessions/:id',
  params: { id: 'Id of the session' },
  family: 'vault',
  tag: 'Card form',
  operationId: 'showCaptureSession',
  permission: 'captures:inspect',
  summary: 'Show a session of the card form',
  description:
    'The state of the session, and what a completed one has made. Sessions are removed 24 hours after their end.',
  data: object({
    id: output.text('Id of the session'),
    status: output.oneOf(SESSION_STATUSES, 'Its state'),
    environment: output.oneOf(ENVIRONMENTS, 'Where it lives'),
    result: optional(
      object({
        capture: optional(object({ id: output.text('Id of the capture') })),
        token: optional(object({ token: output.text('The token'), scheme: output.integer('Token format') })),
      }),
    ),
    card: optional(
      object({
        brand: output.text('Brand, or unknown'),
        card: output.text('Card number, first 6 and last 4 digits'),
        exp: output.text('Expiry, MM/YYYY'),
      }),
    ),
    attempts: output.integer('Refused submissions'),
    created_at: output.time('Creation time'),
    expires_at: output.time('When it expires'),
    ended_at: optional(output.time('When it ended')),
  }),
  failures: ['unknown_session'],
  example: {
    data: {
      id: 'cs_4m8x2p7k1qd9s3v6c0t5b2n8',
      status: 'open',
      environment: 'sandbox',
      attempts: 0,
      created_at: '2026-01-15T10:30:00.000Z',
      expires_at: '2026-01-15T11:00:00.000Z',
    },
  },
  async run(call) {
    const id = pathParameter(call, 'id');
    return formatSession(await call.services.captureSessions.show(call.transaction, call.tenant, id));
  },
});
