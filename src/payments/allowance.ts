import { Failure } from '../kernel/failure.ts';
import { admit, type Command, type Payment } from './payment.ts';

/** What could be done with a payment now; undefined is nothing. Amounts in minor units. */
export interface Allowance {
  readonly capture: bigint | undefined;
  readonly refund: bigint | undefined;
  readonly void: bigint | undefined;
}

/** For people who look at a payment: what `admit` would say of each command. */
export function allowanceOf(payment: Payment, can: { readonly partialCapture: boolean }): Allowance {
  const admitted = (command: Command): bigint | undefined => {
    try {
      return admit(payment, command, can);
    } catch (error) {
      if (error instanceof Failure) return undefined;
      throw error;
    }
  };
  return {
    capture: admitted({ type: 'capture', amount: undefined }),
    refund: admitted({ type: 'payment_refund', amount: undefined }),
    void: admitted({ type: 'authorization_void' }),
  };
}
