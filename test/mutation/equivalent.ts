/** A change after which the program still does the same, so that no test can notice. */
export interface Equivalent {
  readonly source: string;
  /** The line of the change, as it is written. */
  readonly line: string;
  readonly replacement: string;
  readonly why: string;
}

export const EQUIVALENT: readonly Equivalent[] = [
  {
    source: 'src/kernel/money.ts',
    line: "const [, whole, fraction = ''] = DECIMAL.exec(text) ?? [];",
    replacement: '["Stryker was here"]',
    why: 'The first entry is not read.',
  },
  {
    source: 'src/payments/reconciliation.ts',
    line: "recoveryMax: parseDuration(settings['recovery-max'] ?? ''),",
    replacement: '"Stryker was here!"',
    why: 'Neither is a duration.',
  },
  {
    source: 'src/payments/reconciliation.ts',
    line: "opened: parseDuration(settings['opened-expiry'] ?? '') + ahead,",
    replacement: '"Stryker was here!"',
    why: 'Neither is a duration.',
  },
  {
    source: 'src/payments/reconciliation.ts',
    line: "authorization: parseDuration(settings['authorization-expiry'] ?? '') + ahead,",
    replacement: '"Stryker was here!"',
    why: 'Neither is a duration.',
  },
  {
    source: 'src/payments/apply-event.ts',
    line: "return markInDoubt(snapshot, outcome.kind === 'unknown' ? outcome.problem : undefined, now);",
    replacement: 'true',
    why: 'Only what is unknown has a problem.',
  },
  {
    source: 'src/payments/apply-event.ts',
    line: "const late = settleBy(snapshot, result, 'processor', now, rules, hasOtherCapture);",
    replacement: '""',
    why: 'The trigger decides about first operations only.',
  },
  {
    source: 'src/payments/apply-event.ts',
    line: "if (!('details' in result)) return operation;",
    replacement: 'false',
    why: 'A result without details changes no payment, and so none of its operations.',
  },
  {
    source: 'src/payments/reconciliation.ts',
    line: '(payment.operationInProgress !== undefined || (reconciliation.dueAt !== undefined && reconciliation.dueAt <= now));',
    replacement: 'true',
    why: 'No comparison with undefined holds.',
  },
  {
    source: 'src/payments/payments.ts',
    line: "const isRefused = outcome.kind === 'refused' && operation.type !== 'payment_refund' && first !== undefined;",
    replacement: 'true',
    why: 'Each payment has a first operation.',
  },
  {
    source: 'src/payments/payments.ts',
    line: "if (started === undefined) throw new Failure('internal');",
    replacement: 'false',
    why: 'An allowed command always starts.',
  },
  {
    source: 'src/payments/payments.ts',
    line: "if (started === undefined) throw new Failure('internal');",
    replacement: '""',
    why: 'An allowed command always starts.',
  },
  {
    source: 'src/payments/payments.ts',
    line: "return { token: result?.token?.token ?? '', scheme };",
    replacement: 'result?.token.token',
    why: 'A card that gets no token ends the tokenization with a failure.',
  },
  {
    source: 'src/payments/payments.ts',
    line: "return { token: result?.token?.token ?? '', scheme };",
    replacement: 'result.token',
    why: 'A card that gets no token ends the tokenization with a failure.',
  },
  {
    source: 'src/payments/payments.ts',
    line: "return { token: result?.token?.token ?? '', scheme };",
    replacement: '"Stryker was here!"',
    why: 'A card that gets no token ends the tokenization with a failure.',
  },
  {
    source: 'src/payments/resolve-outcome.ts',
    line: "const UNKNOWN_CAPTURE: InquiryResult = unknown('capture');",
    replacement: '""',
    why: 'The problem of an attempt is that of the last call of the processor.',
  },
  {
    source: 'src/payments/resolve-outcome.ts',
    line: "if (state.kind === 'refused' || (state.kind === 'approved' && state.captured !== undefined))",
    replacement: 'true',
    why: 'Only an approval has a captured amount.',
  },
];
