import type { SummaryLine } from '../../../src/accounts/approval.ts';
import { toSummaryLines } from '../../../src/accounts/approval-summary.ts';
import type { ValueOf } from '../../../src/http/fields.ts';
import { Failure } from '../../../src/kernel/failure.ts';
import { formatDecimal } from '../../../src/kernel/money.ts';
import { truncatePans } from '../../../src/kernel/pan.ts';
import { type Command, type RequestedAmount, validateCommand } from '../../../src/payments/payment.ts';
import type { Definition } from '../../wire/definition.ts';
import { captureByHand, refundByHand, voidByHand } from '../../wire/payments.ts';
import { saidAs } from '../refusals.ts';
import { type Call, carriedOut, type Route, route } from '../route.ts';
import { paymentOf } from './payment-found.ts';
import { shownPayment } from './payment-view.ts';

type Asked = ValueOf<NonNullable<typeof voidByHand.body>>;
type RequestedCall = Call<Asked, undefined>;

/** What people have done with a payment. An outcome that nobody knows is no failure: the payment in the answer tells it. */
const byHand = <Body extends Asked>(
  definition: Definition<Body, undefined, ValueOf<typeof voidByHand.data>>,
  commandOf: (body: Body) => Command,
): Route =>
  route(
    definition,
    async (call) => {
      await operate(call, withSeen(call, commandOf(call.body)));
      return carriedOut(shownPayment(...(await paymentOf(call))));
    },
    (call) => summaryOf(call, withSeen(call, commandOf(call.body))),
  );

const asked = (text: string | undefined): RequestedAmount | undefined =>
  text === undefined ? undefined : { text, currency: undefined };

export const paymentByHandRoutes: readonly Route[] = [
  byHand(captureByHand, ({ amount }) => ({ type: 'capture', amount: asked(amount) })),
  byHand(refundByHand, ({ amount }) => ({ type: 'payment_refund', amount: asked(amount) })),
  byHand(voidByHand, () => ({ type: 'authorization_void' })),
];

/** So that it is done once, to the payment that the person looked at. */
const withSeen = ({ body: { seen } }: RequestedCall, command: Command): Command => ({
  ...command,
  expectedOperations: seen,
});

/** As the use case calls what the caller gave. */
const NAMES = {
  'capture_info.amount_details.total_amount': 'amount',
  'refund_info.amount_details.total_amount': 'amount',
};

const notEnabled = (cause?: unknown): Failure =>
  new Failure('not_possible', { message: 'Payments are not enabled for this account in this environment.', cause });

/** Begins the operation and carries it out. Throws what `Payments.operate` throws. */
async function operate({ services, tenant, params, origin, body }: RequestedCall, command: Command): Promise<void> {
  const id = params['id'] ?? '';
  try {
    await saidAs(NAMES, () =>
      services.payments.operate({ tenant, origin }, id, command, body.reference_code, undefined),
    );
  } catch (error) {
    throw error instanceof Failure && error.code === 'access_denied' ? notEnabled(error) : error;
  }
}

/** For the second person. Throws what would be thrown now if it were carried out. */
async function summaryOf(call: RequestedCall, command: Command): Promise<SummaryLine[]> {
  const [{ payment }, can] = await paymentOf(call);
  if (payment.id !== call.params['id']) throw new Failure('unknown_record');
  if (can === undefined) throw notEnabled();
  const minor = await saidAs(NAMES, async () => validateCommand(payment, command, can));
  const { currency, card } = payment;
  const { reference_code: reference } = call.body;
  return toSummaryLines([
    ['payment', payment.id],
    ['card', card.truncated],
    ['amount', `${formatDecimal({ minor, currency })} ${currency}`],
    ['reference_code', reference && truncatePans(reference)],
  ]);
}
