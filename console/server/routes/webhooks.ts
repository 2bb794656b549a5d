import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { Failure, invalidField } from '../../../src/kernel/failure.ts';
import { LIMITS } from '../../../src/kernel/limits.ts';
import { summarizeEndpoint, summarizeRotation } from '../../../src/webhooks/requested-changes.ts';
import { formatSecret } from '../../../src/webhooks/signature.ts';
import { type Delivery, isEventId, type StoredEndpoint, statusOf } from '../../../src/webhooks/webhook.ts';
import {
  createWebhook,
  deleteWebhook,
  editWebhook,
  listDeliveries,
  listWebhooks,
  replayDelivery,
  rotateWebhook,
  showEvent,
  testWebhook,
} from '../../wire/webhooks.ts';
import { type AnyCall, executed, type Route, route } from '../route.ts';

export const webhookRoutes: readonly Route[] = [
  route(listWebhooks, async ({ services, tenant }) => ({
    webhooks: (await services.webhooks.list(tenant)).map(toView),
  })),

  route(
    createWebhook,
    async ({ services, transaction, tenant, body, consent }) => {
      const right = { consent, isMember: true };
      const { endpoint, secret } = await services.webhooks.create(transaction, tenant, body, right);
      return executed({ webhook: toView({ endpoint, last: undefined }), secret: formatSecret(secret) });
    },
    async ({ services, tenant, body }) => summarizeEndpoint(services.webhooks.normalize(tenant, body)),
  ),

  route(
    editWebhook,
    async (call) => {
      const { services, transaction, tenant, body, consent } = call;
      const { endpoint } = await getWebhook(call);
      if (endpoint.revision !== body.revision) throw new Failure('changed_meanwhile');
      const { state: status, url, events, description = '' } = body;
      const changes = { status, url, events, description };
      const right = { consent, isMember: true };
      const changed = await services.webhooks.update(transaction, tenant, endpoint.id, changes, right);
      return executed({ webhook: toView(changed) });
    },
    async (call) => {
      const { endpoint } = await getWebhook(call);
      if (endpoint.revision !== call.body.revision) throw new Failure('changed_meanwhile');
      const { state: status, url, events, description } = call.body;
      return summarizeEndpoint(call.services.webhooks.normalize(call.tenant, { status, url, events, description }));
    },
  ),

  route(
    rotateWebhook,
    async (call) => {
      const { services, transaction, tenant, body, consent } = call;
      const { id } = (await getWebhook(call)).endpoint;
      const rotation = { id, overlapMinutes: body.overlap_minutes };
      const right = { consent, isMember: true };
      const { secret } = await services.webhooks.rotate(transaction, tenant, rotation, right);
      return executed({ secret: formatSecret(secret) });
    },
    async (call) => summarizeRotation((await getWebhook(call)).endpoint.url, call.body.overlap_minutes),
  ),

  route(deleteWebhook, async (call) => {
    const { endpoint } = await getWebhook(call);
    await call.services.webhooks.delete(call.transaction, call.tenant, endpoint.id);
    return { done: true };
  }),

  route(testWebhook, {
    intend: async (call) => {
      const { services, transaction, tenant } = call;
      const { id } = (await getWebhook(call)).endpoint;
      return { tenant, endpoint: await services.webhooks.beginTrial(transaction, tenant, id) };
    },
    send: ({ webhooks }, { tenant, endpoint }) => webhooks.sendTrial(tenant, endpoint),
    conclude: async (_call, _intent, { statusCode, error, durationMs }) => ({
      delivered: error === undefined,
      status_code: statusCode ?? null,
      error: error ?? null,
      duration_ms: durationMs,
    }),
  }),

  route(listDeliveries, async (call) => {
    const { services, tenant, query } = call;
    const stored = await getWebhook(call);
    const { status, cursor: before } = query;
    if (before !== undefined && !isEventId(before)) throw invalidField('cursor', 'cursor');
    const deliveries = await services.webhooks.listDeliveries(tenant, stored.endpoint.id, { status, before });
    const isFull = deliveries.length === LIMITS.webhookDeliveriesPerPage;
    return {
      webhook: toView(stored),
      deliveries: deliveries.map(toDeliveryView),
      next: isFull ? (deliveries.at(-1)?.eventId ?? null) : null,
    };
  }),

  route(showEvent, async (call) => {
    const { endpoint } = await getWebhook(call);
    const body = await call.services.webhooks.readEvent(call.tenant, endpoint.id, call.params['event'] ?? '');
    if (body === undefined) throw new Failure('unknown_record');
    // Byte for byte, because the signature is that of these bytes.
    return { body };
  }),

  route(replayDelivery, async (call) => {
    const { services, transaction, tenant, params } = call;
    const { endpoint } = await getWebhook(call);
    const eventId = params['event'] ?? '';
    if (!(await services.webhooks.hasDelivery(tenant, endpoint.id, eventId))) throw new Failure('unknown_record');
    await services.webhooks.replay(transaction, tenant, endpoint.id, { eventId });
    return { done: true };
  }),
];

/** The webhook of the path. One of another account or environment does not exist for the caller. Throws `unknown_record`. */
async function getWebhook({ services, tenant, params }: AnyCall): Promise<StoredEndpoint> {
  try {
    return await services.webhooks.get(tenant, params['id'] ?? '');
  } catch (error) {
    throw error instanceof Failure && error.code === 'unknown_webhook' ? new Failure('unknown_record') : error;
  }
}

function toView({ endpoint, last }: StoredEndpoint) {
  const { id, url, events, description, disabledReason, createdAt, revision } = endpoint;
  return {
    ...{ id, url, events, revision },
    description: description ?? null,
    state: statusOf(endpoint),
    disabled_reason: disabledReason ?? null,
    created_at: formatIso8601(createdAt),
    last_attempt_at: formatIso8601OrNull(last?.at),
    last_error: last?.error ?? null,
  };
}

const toDeliveryView = ({ eventId, type, createdAt, status, attempts, last, nextAttemptAt }: Delivery) => ({
  event_id: eventId,
  type,
  created_at: formatIso8601(createdAt),
  state: status,
  attempts,
  last_status_code: last?.statusCode ?? null,
  last_error: last?.error ?? null,
  next_attempt_at: formatIso8601OrNull(nextAttemptAt),
});
