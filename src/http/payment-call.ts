import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Caller, Claimed } from '../payments/payments.ts';
import type { Call, Services } from './endpoint.ts';
import { optional, plainText, type ReadBy } from './fields.ts';
import { type paymentAnswer, renderOperation } from './payment-answer.ts';

/** What the endpoints of payments share. */
type Answer = ReadBy<typeof paymentAnswer>;

export const referenceCode = optional(plainText(LIMITS.referenceCodeCharacters, 'The caller’s reference'));

export const callerOf = ({
  tenant,
  key,
  origin,
}: Pick<Call<unknown, unknown>, 'tenant' | 'key' | 'origin'>): Caller => ({
  tenant,
  permissions: key.permissions,
  origin,
  key: { id: key.id, name: key.name },
});

export const claimedOf = ({ claimed }: Pick<Call<unknown, Answer>, 'claimed'>): Claimed | undefined =>
  claimed && { bind: (operation) => claimed.bind(operation), keep: (pair) => claimed.keep(renderOperation(pair)) };

/** The answer of an operation that an Idempotency-Key was bound to, once there is one. */
export async function recallPayment(
  services: Services,
  tenant: Tenant,
  operation: string,
): Promise<Answer | undefined> {
  const pair = await services.payments.result(tenant, operation);
  return pair && renderOperation(pair);
}
