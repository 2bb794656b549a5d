/** A source that is changed, and the tests that must notice. */
export interface Target {
  readonly source: string;
  readonly tests: readonly string[];
}

const EVENTS = ['apply-event', 'payment-sequences'].map((name) => `src/payments/${name}.test.ts`);

export const PLAN: readonly Target[] = [
  { source: 'src/kernel/money.ts', tests: ['src/kernel/money.test.ts'] },
  {
    source: 'src/payments/transitions.ts',
    tests: ['src/payments/transitions.test.ts', 'src/payments/commands.test.ts', ...EVENTS],
  },
  { source: 'src/payments/commands.ts', tests: ['src/payments/commands.test.ts'] },
  { source: 'src/payments/payment.ts', tests: ['src/payments/commands.test.ts', ...EVENTS] },
  { source: 'src/payments/apply-event.ts', tests: EVENTS },
  { source: 'src/payments/resolve-outcome.ts', tests: ['src/payments/resolve-outcome.test.ts'] },
  {
    source: 'src/payments/payments.ts',
    tests: ['src/payments/payments.test.ts', 'test/contracts/payment-stages.test.ts'],
  },
  { source: 'src/payments/reconciliation.ts', tests: ['src/payments/reconciliation.test.ts', ...EVENTS] },
];
