import type { FastifyInstance } from 'fastify';
import type { Environment } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { ProcessorNotifications } from '../payments/processor-notifications.ts';
import { rejectOtherMethods } from './server.ts';

/**
 * Serves the addresses that processors send notifications to. There is no key: the secret in the path names the payment.
 * The body is not read, because only the processor's response to an inquiry is trusted.
 */
export function addNotifications(
  app: FastifyInstance,
  environment: Environment,
  notifications: ProcessorNotifications,
): void {
  const paths = notifications.senders.map((processor) => `/notifications/${processor}/:secret`);
  for (const path of paths)
    app.post<{ Params: { secret: string } }>(
      path,
      { bodyLimit: LIMITS.notificationBytes, config: { family: 'payments' } },
      async (request, reply) => {
        const isKnown = await notifications.accept(environment, request.params.secret);
        if (!isKnown) throw new Failure('unknown_path');
        return reply.code(204).send();
      },
    );
  rejectOtherMethods(
    app,
    paths.map((path) => ({ path, method: 'POST', family: 'payments' }) as const),
  );
}
