import type { FastifyInstance } from 'fastify';
import type { Environment } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { ProcessorNotifications } from '../payments/processor-notifications.ts';
import { rejectOtherMethods } from './server.ts';

const PATH = '/notifications/koin/:secret';

/**
 * Where processors send news to (decisions: Payments). There is no key: the secret in the path names the payment, and
 * what is sent is not even read, because only the processor's answer to an inquiry is believed.
 */
export function addNotifications(
  app: FastifyInstance,
  environment: Environment,
  notifications: ProcessorNotifications,
): void {
  app.post<{ Params: { secret: string } }>(
    PATH,
    { bodyLimit: LIMITS.notificationBytes, config: { family: 'payments' } },
    async (request, reply) => {
      const isKnown = await notifications.accept(environment, request.params.secret);
      if (!isKnown) throw new Failure('unknown_path');
      return reply.code(204).send();
    },
  );
  rejectOtherMethods(app, [{ path: PATH, method: 'POST', family: 'payments' }]);
}
