import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { showPayment } from '../../../../wire/payments.ts';

/** Payment, as the service shows it. */
export type Payment = ValueOf<typeof showPayment.data>;

export type Operation = Payment['operations'][number];
export type HistoryEntry = Operation['history'][number];
export type Requester = NonNullable<Operation['requested_by']>;
export type UnknownOutcome = NonNullable<Payment['unknown_outcome']>;
