import type { Environment } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { ProcessorNotifications } from '../payments/processor-notifications.ts';
import type { PublicRoute } from './server.ts';

/**
 * Returns the routes that processors send notifications to. There is no key: the secret in the path names the payment.
 * The body is not read, because only the processor's response to an inquiry is trusted.
 */
export const notificationRoutes = (environment: Environment, notifications: ProcessorNotifications): PublicRoute[] =>
  notifications.senders.map((processor) => ({
    method: 'POST',
    path: `/notifications/${processor}/:secret`,
    family: 'payments',
    bodyLimit: LIMITS.notificationBytes,
    handle: async (request, reply) => {
      const { secret } = request.params as { readonly secret: string };
      if (!(await notifications.accept(environment, secret))) throw new Failure('unknown_path');
      return reply.code(204).send();
    },
  }));
