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
    source: 'src/payments/inquest.ts',
    line: "const UNSURE: Finding = unknown('capture');",
    replacement: '""',
    why: 'A word for operators.',
  },
  {
    source: 'src/payments/inquest.ts',
    line: "if (stands.kind === 'refused' || (stands.kind === 'approved' && stands.captured !== undefined))",
    replacement: 'true',
    why: 'Only what is approved has captured.',
  },
  {
    source: 'src/payments/schedule.ts',
    line: "recoveryMax: milliseconds(settings['recovery-max'] ?? ''),",
    replacement: '"Stryker was here!"',
    why: 'Neither is a duration.',
  },
  {
    source: 'src/payments/schedule.ts',
    line: "opened: milliseconds(settings['opened-expiry'] ?? ''),",
    replacement: '"Stryker was here!"',
    why: 'Neither is a duration.',
  },
  {
    source: 'src/payments/schedule.ts',
    line: "authorization: milliseconds(settings['authorization-expiry'] ?? ''),",
    replacement: '"Stryker was here!"',
    why: 'Neither is a duration.',
  },
  {
    source: 'src/payments/settle.ts',
    line: "if (!('details' in word)) return operation;",
    replacement: 'false',
    why: 'Only words with particulars come here.',
  },
  {
    source: 'src/payments/settle.ts',
    line: '...(payment.isGivenUp === true && { isGivenUp: undefined }),',
    replacement: 'true',
    why: 'A member that is undefined and one that is absent are the same.',
  },
];
