import type { Claimed } from '../idempotency/effect.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Command } from '../payments/commands.ts';
import type { PaymentSnapshot } from '../payments/payment.ts';
import type { ApiCaller } from '../payments/payments.ts';
import { pathParameter, type RouteCall, type Services } from './endpoint.ts';
import { optional, plainText, type ValueOf } from './fields.ts';
import { formatOperation, type paymentResponse } from './payment-response.ts';

/** What the endpoints of payments share. */
type PaymentResponse = ValueOf<typeof paymentResponse>;

type PaymentCall = Omit<RouteCall<unknown, PaymentResponse>, 'body'>;

export const referenceCode = optional(plainText(LIMITS.referenceCodeCharacters, 'The caller’s reference'));

export const toCaller = ({ tenant, key, origin }: PaymentCall): ApiCaller => ({
  tenant,
  permissions: key.permissions,
  origin,
  key: { id: key.id, name: key.name },
});

export const claimedOf = ({ claimed }: PaymentCall): Claimed<PaymentSnapshot> | undefined =>
  claimed && { bind: (operation) => claimed.bind(operation), keep: (pair) => claimed.keep(formatOperation(pair)) };

/** Captures, refunds or voids the payment that the path names. */
export async function executeOperation(
  call: PaymentCall,
  command: Command,
  reference: string | undefined,
): Promise<PaymentResponse> {
  const { payments } = call.services;
  return formatOperation(
    await payments.operate(toCaller(call), pathParameter(call, 'id'), command, reference, claimedOf(call)),
  );
}

/** The answer of an operation that an Idempotency-Key was bound to, once there is one. */
export async function replayPayment(
  services: Services,
  tenant: Tenant,
  operation: string,
): Promise<PaymentResponse | undefined> {
  const pair = await services.payments.result(tenant, operation);
  return pair && formatOperation(pair);
}
