import type { ValueOf } from '../../../src/http/fields.ts';
import type { Tenant } from '../../../src/kernel/environment.ts';
import { invalidField } from '../../../src/kernel/failure.ts';
import type { ManualResolution } from '../../../src/payments/unknown-outcomes.ts';
import { checkPaymentAsOperator, resolvePaymentAsOperator } from '../../wire/operator.ts';
import { checkPayment, type resolution, resolvePayment } from '../../wire/payments.ts';
import { toResultOrApproval } from '../operator-changes.ts';
import { type AnyCall, type ConsoleCall, executed, type Route, route } from '../route.ts';
import { getTenantOfPath } from './operator-accounts.ts';
import { viewPayment } from './payment-detail.ts';

interface RequestedCheck {
  readonly tenant: Tenant;
  readonly paymentId: string;
}

/** Members name the payment as `id`, operators as `payment`. */
const paymentOfPath = (params: AnyCall['params']): string => params['payment'] ?? params['id'] ?? '';

const requestCheck = async ({ services, transaction, params }: AnyCall, tenant: Tenant): Promise<RequestedCheck> => ({
  tenant,
  paymentId: await services.unknownOutcomes.requestCheck(transaction, tenant, paymentOfPath(params)),
});

const runCheck = ({ unknownOutcomes }: AnyCall['services'], { tenant, paymentId }: RequestedCheck): Promise<void> =>
  unknownOutcomes.check(tenant, paymentId);

/** Returns the resolution of the payment of the path. Throws `invalid_field` for a blank reason. */
function toResolution({ params, body }: ConsoleCall<ValueOf<typeof resolution>, unknown>): ManualResolution {
  const { transaction_id, outcome, reason } = body;
  if (reason.trim() === '') throw invalidField('reason', 'required');
  return { paymentId: paymentOfPath(params), transactionId: transaction_id, outcome, reason: reason.trim() };
}

/** Checks and manual resolutions. The inquiry is recorded before it is sent, and the resolution stored before it is shown. */
export const unknownOutcomeRoutes: readonly Route[] = [
  route(checkPayment, {
    intend: (call) => requestCheck(call, call.tenant),
    send: runCheck,
    conclude: (call) => viewPayment(call),
  }),

  route(
    resolvePayment,
    {
      intend: async (call) => {
        const { services, transaction, tenant, consent } = call;
        const right = { consent, isMember: true };
        await services.unknownOutcomes.resolve(transaction, tenant, toResolution(call), right);
      },
      send: async () => undefined,
      conclude: async (call) => executed(await viewPayment(call)),
    },
    (call) => call.services.unknownOutcomes.summarize(call.tenant, toResolution(call)),
  ),

  route(checkPaymentAsOperator, {
    intend: async (call) => requestCheck(call, await getTenantOfPath(call)),
    send: runCheck,
    conclude: async ({ services }, { tenant, paymentId }) => {
      const { payment, reconciliation } = await services.paymentQueries.detail(tenant, paymentId);
      const { inDoubtSince, lastProblem } = reconciliation;
      return { is_in_doubt: inDoubtSince !== undefined, status: payment.status, problem: lastProblem ?? null };
    },
  }),

  route(resolvePaymentAsOperator, async (call) => {
    const tenant = await getTenantOfPath(call);
    return toResultOrApproval(async () => {
      await call.services.unknownOutcomes.resolve(call.transaction, tenant, toResolution(call));
      return { done: true };
    });
  }),
];
