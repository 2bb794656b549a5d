/** The statuses of a payment, the reasons of its failures, and the one table of its transitions. */

export const STATUSES = [
  'Opened',
  'Authorized',
  'Collected',
  'Cancelled',
  'Voided',
  'Declined',
  'ProcessorError',
] as const;
export type Status = (typeof STATUSES)[number];

/** Reasons of the statuses that have one (interface: States and transitions). */
export const REASONS = {
  Declined: [
    'Rejected',
    'InsufficientFunds',
    'InvalidCard',
    'Referred',
    'ExpiredCard',
    'StolenCard',
    'InvalidData',
    'Antifraud',
  ],
  ProcessorError: ['InvalidConfiguration', 'Undefined', 'ConnectionRejected'],
} as const;

export type Reason = (typeof REASONS)[keyof typeof REASONS][number];

/** The response code where a processor sends none (ISO 8583 field 39). */
export const RESPONSE_CODES: Readonly<Record<Reason | 'approved', string>> = {
  approved: '00',
  Rejected: '05',
  InsufficientFunds: '51',
  InvalidCard: '14',
  InvalidData: '12',
  Referred: '01',
  ExpiredCard: '54',
  StolenCard: '43',
  Antifraud: '59',
  ConnectionRejected: '91',
  InvalidConfiguration: '03',
  Undefined: '96',
};

/**
 * Where a failure with the reason ConnectionRejected happened. `not-sent`: nothing of the operation left this service.
 * `not-received`: the processor's records have nothing of it. The others are what the processor reported.
 */
export const FAILURE_CAUSES = ['not-sent', 'not-received', 'processor-failed', 'issuer-unavailable'] as const;
export type FailureCause = (typeof FAILURE_CAUSES)[number];

/** A failure as the interface names it. */
export type FailureStatus = {
  readonly [S in keyof typeof REASONS]: { status: S; reason: (typeof REASONS)[S][number] };
}[keyof typeof REASONS];

const DECLINED: readonly string[] = REASONS.Declined;

export const toFailureStatus = (reason: Reason): FailureStatus =>
  ({ status: DECLINED.includes(reason) ? 'Declined' : 'ProcessorError', reason }) as FailureStatus;

/** The cause of a transition; `processor` is a response or a result of an inquiry, whenever it arrives. */
export type Trigger = 'request' | 'processor' | 'capture' | 'refund' | 'void' | 'expiry';

interface Transition {
  readonly from: Status | 'new';
  readonly to: Status;
  readonly by: readonly Trigger[];
}

/**
 * The transition table: guards, the diagram of the guide and the property tests derive from it (decisions: Payments).
 * Any other transition is rejected; statuses without a row that leaves them are final.
 */
export const TRANSITIONS: readonly Transition[] = [
  { from: 'new', to: 'Opened', by: ['request'] },
  { from: 'new', to: 'Authorized', by: ['request'] },
  { from: 'new', to: 'Collected', by: ['request'] },
  { from: 'new', to: 'Declined', by: ['request'] },
  { from: 'new', to: 'ProcessorError', by: ['request'] },
  { from: 'Opened', to: 'Authorized', by: ['processor'] },
  { from: 'Opened', to: 'Collected', by: ['processor'] },
  { from: 'Opened', to: 'Declined', by: ['processor'] },
  { from: 'Opened', to: 'ProcessorError', by: ['processor'] },
  { from: 'Opened', to: 'Cancelled', by: ['void', 'expiry', 'processor'] },
  { from: 'Authorized', to: 'Collected', by: ['capture', 'processor'] },
  { from: 'Authorized', to: 'Voided', by: ['void', 'expiry', 'processor'] },
  { from: 'Authorized', to: 'Declined', by: ['processor'] },
  { from: 'Authorized', to: 'ProcessorError', by: ['processor'] },
  { from: 'Collected', to: 'Collected', by: ['refund'] },
];

export const isAllowedTransition = (from: Status | 'new', to: Status, by: Trigger): boolean =>
  TRANSITIONS.some((each) => each.from === from && each.to === to && each.by.includes(by));
