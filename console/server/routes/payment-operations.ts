import { type SummaryLine, toSummaryLines } from '../../../src/accounts/change-control.ts';
import type { ValueOf } from '../../../src/http/fields.ts';
import { Failure } from '../../../src/kernel/failure.ts';
import { formatDecimal } from '../../../src/kernel/money.ts';
import { truncatePans } from '../../../src/kernel/pan.ts';
import { type Explanation, explain } from '../../../src/kernel/reasons.ts';
import { type Command, type RequestedAmount, validateCommand } from '../../../src/payments/commands.ts';
import type { PaymentSnapshot } from '../../../src/payments/payment.ts';
import type { PaymentDetail } from '../../../src/payments/payment-queries.ts';
import type { Intent, Sent } from '../../../src/payments/payments.ts';
import type { Definition } from '../../wire/definition.ts';
import {
  capturePaymentManually,
  type OPERATION_KINDS,
  previewOperations,
  refundPaymentManually,
  voidPaymentManually,
} from '../../wire/payments.ts';
import { translateErrors } from '../error-translation.ts';
import { type ConsoleCall, executed, type Route, route } from '../route.ts';
import { getPaymentDetail, viewPayment } from './payment-detail.ts';

type OperationBody = ValueOf<NonNullable<typeof voidPaymentManually.body>>;
type RequestedCall = ConsoleCall<OperationBody, undefined>;

/** Defines an operation that a user starts. An unknown outcome is no failure: the payment in the response shows it. */
const operationRoute = <Body extends OperationBody>(
  definition: Definition<Body, undefined, ValueOf<typeof voidPaymentManually.data>>,
  toCommand: (body: Body) => Command,
): Route =>
  route(
    definition,
    {
      intend: (call) => intend(call, withExpectedOperations(call, toCommand(call.body))),
      send: ({ payments }, intent: Intent) => payments.send(intent),
      conclude: async (call, intent, sent: Sent) => {
        const after = await call.services.payments.conclude(call.transaction, intent, sent);
        return executed(await viewPayment(call, (stored) => withResult(stored, after)));
      },
      replay: async (services, tenant, boundTo) => {
        if ((await services.payments.replay(tenant, boundTo)) === undefined) return undefined;
        const lookup = { services, account: tenant.account, tenant, params: { id: boundTo } };
        return executed(await viewPayment(lookup));
      },
    },
    (call) => summarize(call, withExpectedOperations(call, toCommand(call.body))),
  );

const toRequestedAmount = (text: string | undefined): RequestedAmount | undefined =>
  text === undefined ? undefined : { text, currency: undefined };

export const paymentOperationRoutes: readonly Route[] = [
  operationRoute(capturePaymentManually, ({ amount }) => ({ type: 'capture', amount: toRequestedAmount(amount) })),
  operationRoute(refundPaymentManually, ({ amount }) => ({
    type: 'payment_refund',
    amount: toRequestedAmount(amount),
  })),
  operationRoute(voidPaymentManually, () => ({ type: 'authorization_void' })),

  route(previewOperations, async (call) => {
    const payments = [];
    for (const id of call.body.ids) payments.push(await preview(call, id));
    return { payments };
  }),
];

const COMMANDS: Readonly<Record<(typeof OPERATION_KINDS)[number], Command>> = {
  capture: { type: 'capture', amount: undefined },
  refund: { type: 'payment_refund', amount: undefined },
  void: { type: 'authorization_void' },
};

/** Returns what the operation on the payment of this id would do now. */
async function preview(call: ConsoleCall<ValueOf<typeof previewOperations.body & {}>, undefined>, id: string) {
  let shown = { id, amount: '', currency: '', card: '', expected_operations: 0 };
  try {
    const lookup = { ...call, params: { ...call.params, id } };
    const [{ payment }, can] = await translateErrors({}, () => getPaymentDetail(lookup));
    if (payment.id !== id) throw new Failure('unknown_record');
    const { currency, card, operationCount } = payment;
    shown = { ...shown, currency, card: card.truncated, expected_operations: operationCount };
    if (can === undefined) throw notEnabled();
    const minor = validateCommand(payment, COMMANDS[call.body.kind], can);
    return { ...shown, amount: formatDecimal({ minor, currency }), refusal: null };
  } catch (error) {
    return { ...shown, refusal: toRefusal(error) };
  }
}

/** Throws an error that is no failure of this payment. */
function toRefusal(error: unknown): Explanation {
  if (!(error instanceof Failure)) throw error;
  if (error.code === 'unknown_record') return explain('paymentUnknown');
  if (error.reason === undefined) throw error;
  return { reason: error.reason, values: error.values };
}

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

/** Stores the intent of the operation. Throws what `Payments.intendOperation` throws. */
async function intend(call: RequestedCall, command: Command): Promise<Intent> {
  const { services, transaction, tenant, params, body } = call;
  const id = params['id'] ?? '';
  try {
    return await translateErrors(FIELD_NAMES, () =>
      services.payments.intendOperation(transaction, tenant, id, command, body.reference_code),
    );
  } catch (error) {
    throw error instanceof Failure && error.code === 'access_denied' ? notEnabled(error) : error;
  }
}

/**
 * Returns the payment as it will be stored with the result of its operation. When another process has stored a result, the
 * payment may have changed since, and is returned as it is.
 */
function withResult(stored: PaymentDetail, { payment, operation, reconciliation }: PaymentSnapshot): PaymentDetail {
  const { operations } = stored;
  const isOpen = operations.some(({ id, state }) => id === operation.id && state === 'in_progress');
  if (!isOpen) return stored;
  const completed = operations.map((each) => (each.id === operation.id ? operation : each));
  return { payment, reconciliation, operations: completed };
}

/** Describes the operation for the approver. Throws what the execution would throw now. */
async function summarize(call: RequestedCall, command: Command): Promise<SummaryLine[]> {
  const [{ payment }, can] = await getPaymentDetail(call);
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
