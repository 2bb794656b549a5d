/** A source that is changed, and the tests that must notice. */
export interface Target {
  readonly source: string;
  readonly tests: readonly string[];
}

const SETTLING = ['settle', 'settle-later', 'payment-sequences'].map((name) => `src/payments/${name}.test.ts`);

export const PLAN: readonly Target[] = [
  { source: 'src/kernel/money.ts', tests: ['src/kernel/money.test.ts'] },
  {
    source: 'src/payments/transitions.ts',
    tests: ['src/payments/transitions.test.ts', 'src/payments/payment.test.ts', ...SETTLING],
  },
  { source: 'src/payments/payment.ts', tests: ['src/payments/payment.test.ts', ...SETTLING] },
  { source: 'src/payments/settle.ts', tests: SETTLING },
  { source: 'src/payments/inquest.ts', tests: ['src/payments/inquest.test.ts'] },
  { source: 'src/payments/schedule.ts', tests: ['src/payments/schedule.test.ts'] },
];
