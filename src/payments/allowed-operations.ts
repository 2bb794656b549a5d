import { Failure } from '../kernel/failure.ts';
import { type Command, type Payment, validateCommand } from './payment.ts';

/** What could be done with a payment now; undefined is nothing. Amounts in minor units. */
export interface AllowedOperations {
  readonly capture: bigint | undefined;
  readonly refund: bigint | undefined;
  readonly void: bigint | undefined;
}

/** For people who look at a payment: what `admit` would say of each command. */
export function allowedOperations(payment: Payment, can: { readonly partialCapture: boolean }): AllowedOperations {
  const admitted = (command: Command): bigint | undefined => {
    try {
      return validateCommand(payment, command, can);
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
