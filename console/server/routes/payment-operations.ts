import { type SummaryLine, toSummaryLines } from '../../../src/accounts/change-summary.ts';
import type { ValueOf } from '../../../src/http/fields.ts';
import { Failure } from '../../../src/kernel/failure.ts';
import { formatDecimal } from '../../../src/kernel/money.ts';
import { truncatePans } from '../../../src/kernel/pan.ts';
import { explain } from '../../../src/kernel/reasons.ts';
import { type Command, type RequestedAmount, validateCommand } from '../../../src/payments/commands.ts';
import type { Definition } from '../../wire/definition.ts';
import { capturePaymentManually, refundPaymentManually, voidPaymentManually } from '../../wire/payments.ts';
import { translateErrors } from '../error-translation.ts';
import { type ConsoleCall, executed, type Route, route } from '../route.ts';
import { loadPayment } from './load-payment.ts';
import { toPaymentView } from './payment-view.ts';

type OperationBody = ValueOf<NonNullable<typeof voidPaymentManually.body>>;
type RequestedCall = ConsoleCall<OperationBody, undefined>;

/** Defines an operation that a user starts. An unknown outcome is no failure: the payment in the response shows it. */
const operationRoute = <Body extends OperationBody>(
  definition: Definition<Body, undefined, ValueOf<typeof voidPaymentManually.data>>,
  toCommand: (body: Body) => Command,
): Route => ({
  ...route(
    definition,
    async (call) => {
      await operate(call, withExpectedOperations(call, toCommand(call.body)));
      return executed(toPaymentView(...(await loadPayment(call))));
    },
    (call) => summarize(call, withExpectedOperations(call, toCommand(call.body))),
  ),
  commitsItself: true,
});

const toRequestedAmount = (text: string | undefined): RequestedAmount | undefined =>
  text === undefined ? undefined : { text, currency: undefined };

export const paymentOperationRoutes: readonly Route[] = [
  operationRoute(capturePaymentManually, ({ amount }) => ({ type: 'capture', amount: toRequestedAmount(amount) })),
  operationRoute(refundPaymentManually, ({ amount }) => ({
    type: 'payment_refund',
    amount: toRequestedAmount(amount),
  })),
  operationRoute(voidPaymentManually, () => ({ type: 'authorization_void' })),
];

/** Adds the number of operations that the user saw, so that a stale page starts nothing twice. */
const withExpectedOperations = (
  { body: { expected_operations: expected } }: RequestedCall,
  command: Command,
): Command => ({ ...command, expectedOperations: expected });

/** Maps field names of the use case to those of the call. */
const FIELD_NAMES = {
  'capture_info.amount_details.total_amount': 'amount',
  'refund_info.amount_details.total_amount': 'amount',
};

const notEnabled = (cause?: unknown): Failure => new Failure('not_possible', explain('paymentsOffHere'), { cause });

/** Starts and executes the operation. Throws what the stages of `Payments` throw. */
async function operate({ services, tenant, params, origin, body }: RequestedCall, command: Command): Promise<void> {
  const id = params['id'] ?? '';
  try {
    await translateErrors(FIELD_NAMES, () =>
      services.payments.operate({ tenant, origin }, id, command, body.reference_code),
    );
  } catch (error) {
    throw error instanceof Failure && error.code === 'access_denied' ? notEnabled(error) : error;
  }
}

/** Describes the operation for the approver. Throws what the execution would throw now. */
async function summarize(call: RequestedCall, command: Command): Promise<SummaryLine[]> {
  const [{ payment }, can] = await loadPayment(call);
  if (payment.id !== call.params['id']) throw new Failure('unknown_record');
  if (can === undefined) throw notEnabled();
  const minor = await translateErrors(FIELD_NAMES, async () => validateCommand(payment, command, can));
  const { currency, card } = payment;
  const { reference_code: reference } = call.body;
  return toSummaryLines([
    ['payment', payment.id],
    ['card', card.truncated],
    ['amount', `${formatDecimal({ minor, currency })} ${currency}`],
    ['reference_code', reference && truncatePans(reference)],
  ]);
}
