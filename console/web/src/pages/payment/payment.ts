import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { showPayment } from '../../../../wire/payments.ts';

/** Payment, as the service shows it. */
export type Payment = ValueOf<typeof showPayment.data>;
