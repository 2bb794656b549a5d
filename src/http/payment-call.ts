import type { Claimed } from '../idempotency/effect.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Command } from '../payments/payment.ts';
import type { Caller } from '../payments/payments.ts';
import type { Pair } from '../payments/settle.ts';
import { type Call, param, type Services } from './endpoint.ts';
import { optional, plainText, type ReadBy } from './fields.ts';
import { type paymentAnswer, renderOperation } from './payment-answer.ts';

/** What the endpoints of payments share. */
type Answer = ReadBy<typeof paymentAnswer>;

type PaymentCall = Omit<Call<unknown, Answer>, 'body'>;

export const referenceCode = optional(plainText(LIMITS.referenceCodeCharacters, 'The caller’s reference'));

export const callerOf = ({ tenant, key, origin }: PaymentCall): Caller => ({
  tenant,
  permissions: key.permissions,
  origin,
  key: { id: key.id, name: key.name },
});

export const claimedOf = ({ claimed }: PaymentCall): Claimed<Pair> | undefined =>
  claimed && { bind: (operation) => claimed.bind(operation), keep: (pair) => claimed.keep(renderOperation(pair)) };

/** Captures, refunds or voids the payment that the path names. */
export async function operateOn(call: PaymentCall, command: Command, reference: string | undefined): Promise<Answer> {
  const { payments } = call.services;
  return renderOperation(
    await payments.operate(callerOf(call), param(call, 'id'), command, reference, claimedOf(call)),
  );
}

/** The answer of an operation that an Idempotency-Key was bound to, once there is one. */
export async function recallPayment(
  services: Services,
  tenant: Tenant,
  operation: string,
): Promise<Answer | undefined> {
  const pair = await services.payments.result(tenant, operation);
  return pair && renderOperation(pair);
}
