import { LIMITS } from '../kernel/limits.ts';
import type { Command } from '../payments/commands.ts';
import type { Intent, Sent } from '../payments/payments.ts';
import { type ApiCall, pathParameter, type Services } from './endpoint.ts';
import { optional, plainText, type ValueOf } from './fields.ts';
import { formatOperation, type paymentResponse } from './payment-response.ts';
import type { StagedHandler } from './route.ts';

/** The parts that endpoints of payments share. */

export const referenceCode = optional(plainText(LIMITS.referenceCodeCharacters, 'The caller’s reference'));

type PaymentHandler<Body> = Required<
  StagedHandler<ApiCall<Body>, ValueOf<typeof paymentResponse>, Services, Intent, Sent>
>;

/** The stages of a payment endpoint. `intend` stores the intent of its operation. */
export const paymentHandler = <Body>(intend: (call: ApiCall<Body>) => Promise<Intent>): PaymentHandler<Body> => ({
  intend,
  send: ({ payments }, intent) => payments.send(intent),
  conclude: async ({ services, transaction }, intent, sent) =>
    formatOperation(await services.payments.conclude(transaction, intent, sent)),
  replay: async ({ payments }, tenant, operationId) => {
    const snapshot = await payments.replay(tenant, operationId);
    return snapshot && formatOperation(snapshot);
  },
});

/** The stages of a capture, refund or void of the payment that the path names. */
export const operationHandler = <Body>(
  parse: (body: Body) => { readonly command: Command; readonly reference: string | undefined },
): PaymentHandler<Body> =>
  paymentHandler((call) => {
    const { command, reference } = parse(call.body);
    const { services, transaction, tenant } = call;
    return services.payments.intendOperation(transaction, tenant, pathParameter(call, 'id'), command, reference);
  });
