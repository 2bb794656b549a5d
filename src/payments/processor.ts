import type { Tenant } from '../kernel/environment.ts';
import type { Expiry } from '../kernel/expiry.ts';
import type { Json } from '../kernel/json.ts';
import type { Money } from '../kernel/money.ts';
import type { Pan } from '../kernel/pan.ts';
import type { Explanation } from '../kernel/reasons.ts';
import type { OperationRefFormat } from './operation-ref.ts';
import type { SettingTable } from './settings.ts';
import { type FailureCause, type FailureStatus, RESPONSE_CODES, type Reason, toFailureStatus } from './transitions.ts';

/**
 * The interface every processor adapter implements. An adapter is a protocol file (what is sent, in which format) and a
 * mapping file (the meaning of the responses); `docs/processors/write-a-processor.md` describes how to add one.
 */
export interface Processor {
  readonly capabilities: Capabilities;
  /** Its own settings, in addition to those of all processors. */
  readonly settings: SettingTable;
  /** The `https:` origins that its documentation names for production; absent: it sends nothing over the network. */
  readonly productionHosts?: readonly string[];
  /** The format of its field for our operation reference; absent: the reference is the id alone. */
  readonly operationRefFormat?: OperationRefFormat;
  /** Returns why these settings cannot be combined, for the operator; undefined when they can. */
  conflict?(settings: ProcessorSettings): Explanation | undefined;
  /** Rejects what this processor cannot process, before anything is stored or sent. Throws `invalid_field`. */
  check(order: Order, card: CardData, settings: ProcessorSettings): void;
  /** Sends an authorization; with `order.capture` a sale where `capabilities.sale`. */
  authorize(call: ProcessorCall, order: Order, card: CardData): Promise<Outcome>;
  capture(call: ProcessorCall, history: PaymentHistory, amount: Money): Promise<Outcome>;
  refund(call: ProcessorCall, history: PaymentHistory, amount: Money): Promise<Outcome>;
  /** Reverses a complete authorization. A repeated void must be idempotent. */
  void(call: ProcessorCall, history: PaymentHistory): Promise<Outcome>;
  /**
   * Inquires about an operation. For an authorization or payment it reports the present state of the payment, including
   * later captures and voids.
   */
  inquire(call: ProcessorCall, history: PaymentHistory, subject: OperationRef): Promise<InquiryResult>;
  /**
   * Time-out reversal by our own reference (ISO 8583 MTI 04xx): cancels the operation whether or not it was processed.
   */
  reverse(call: ProcessorCall, history: PaymentHistory, subject: OperationRef): Promise<ReversalResult>;
  /** Returns payments about which it has a new notification; for a processor that runs in this process. */
  pollNotifications?(): Promise<readonly ProcessorNotification[]>;
}

export interface ProcessorNotification {
  readonly tenant: Tenant;
  /** The id of the authorization or payment. */
  readonly operationId: string;
}

/** Our two names of an operation at its processor. Each is unique. */
export interface OperationNames {
  /** Its `transaction_id`: 25 letters. */
  readonly operationId: string;
  /** Fixed with the intent: the id, or `REFERENCE.ID` where the processor has an `operationRefFormat`. */
  readonly operationRef: string;
}

export const pickNames = ({ operationId, operationRef }: OperationNames): OperationNames => ({
  operationId,
  operationRef,
});

/** The parameters of each call. A failure is an outcome; an exception counts as unknown. Nothing is ever sent twice. */
export interface ProcessorCall extends OperationNames {
  readonly tenant: Tenant;
  /** Checked and with defaults, by name. */
  readonly settings: ProcessorSettings;
  /** Fires at the deadline of the response (`timeout-ms`). */
  readonly signal: AbortSignal;
}

export type ProcessorSettings = Readonly<Record<string, string>>;

export interface Capabilities {
  /** True when an authorization can be captured in the same call. */
  readonly sale: boolean;
  readonly partialCapture: boolean;
  /**
   * Number of consecutive inquiries without a result after which an operation counts as never received. Infinity where
   * an inquiry proves nothing: `recovery-max` then decides.
   */
  readonly notFoundThreshold: number;
}

/** The requested payment, without card data. */
export interface Order {
  readonly capture: boolean;
  readonly amount: Money;
  readonly itemsAmount: Money | undefined;
  readonly referenceCode: string | undefined;
  readonly installments: number | undefined;
  readonly descriptor: string | undefined;
  readonly cardholder: Party | undefined;
  readonly billTo: Party | undefined;
  readonly ipAddress: string | undefined;
  readonly fingerprintSessionId: string | undefined;
  readonly lineItems: readonly Json[];
  /** The address for notifications about the payment; only with the setting `notification-url`. */
  readonly notificationUrl: string | undefined;
}

/** Card data: in memory for the time of the call, and nowhere else. */
export interface CardData {
  readonly pan: Pan;
  readonly expiry: Expiry;
  readonly securityCode: string | undefined;
  readonly holder: string | undefined;
}

const PARTY_FIELDS = [
  'firstName',
  'lastName',
  'country',
  'address1',
  'address2',
  'city',
  'state',
  'postalCode',
  'email',
  'phoneNumber',
  'phoneType',
  'phoneAreaCode',
  'documentType',
  'documentNumber',
  'documentNationality',
] as const;

/** A party of a payment; unknown members are absent. */
export type Party = { readonly [F in (typeof PARTY_FIELDS)[number]]?: string | undefined };

/** The payer: the cardholder, with missing members taken from the billing party. */
export function resolvePayer({ cardholder, billTo }: Order): Party {
  const payer: { -readonly [F in keyof Party]: Party[F] } = {};
  for (const field of PARTY_FIELDS) {
    const value = cardholder?.[field] ?? billTo?.[field];
    if (value !== undefined) payer[field] = value;
  }
  return payer;
}

export type OperationType =
  | 'authorization'
  | 'payment'
  | 'capture'
  | 'payment_refund'
  | 'authorization_void'
  | 'expiry';

type Typed = { readonly type: OperationType };

/** True for a void that a caller requested. An inquiry about it reports the state of the payment. */
export const isRequestedVoid = ({ type }: Typed): boolean => type === 'authorization_void';

/** True for both operations that are voids at the processor. */
export const isVoidOrExpiry = (operation: Typed): boolean => isRequestedVoid(operation) || operation.type === 'expiry';

/** An operation in the terms of its processor. */
export interface OperationRef extends OperationNames {
  readonly type: OperationType;
  /** The processor's id of it, once known. */
  readonly processorId: string | undefined;
  readonly amount: Money;
  /** True for a first operation that our record shows as authorized, so that a merchant relies on it. */
  readonly isAuthorized?: boolean;
}

/** The other operations of the payment with an effect, the authorization or payment first. */
export interface PaymentHistory {
  readonly referenceCode: string | undefined;
  readonly operations: readonly OperationRef[];
}

/** The details of a processor's response. */
export interface ProcessorDetails {
  /** The processor's id of this operation. */
  readonly processorId?: string | undefined;
  readonly responseCode?: string | undefined;
  readonly reconciliationId?: string | undefined;
  readonly approvalCode?: string | undefined;
  /** The id that the acquirer or the network assigned. */
  readonly networkId?: string | undefined;
  readonly avs?: { readonly code: string; readonly codeRaw: string } | undefined;
  /** Expiry of the authorization, in milliseconds. */
  readonly expiresAt?: number | undefined;
  /** Stated by the adapter with the reason ConnectionRejected. */
  readonly failureCause?: FailureCause | undefined;
}

/** Approved, for the full amount. */
export interface Approved {
  readonly kind: 'approved';
  /** For an authorization or payment: the captured amount; undefined when only authorized. */
  readonly captured?: Money | undefined;
  readonly details: ProcessorDetails;
}

/** Refused: no amount was moved or held. */
export interface Refused {
  readonly kind: 'refused';
  readonly failure: FailureStatus;
  readonly details: ProcessorDetails;
}

export const refused = (
  reason: Reason,
  details: ProcessorDetails = { responseCode: RESPONSE_CODES[reason] },
  failureCause?: FailureCause,
): Refused => ({
  kind: 'refused',
  failure: toFailureStatus(reason),
  details: failureCause === undefined ? details : { ...details, failureCause },
});

/** Received, and decided later. */
export interface Pending {
  readonly kind: 'pending';
  readonly details: ProcessorDetails;
}

/** The authorized or opened amount has been reversed at the processor. */
interface Reversed {
  readonly kind: 'reversed';
  readonly details: ProcessorDetails;
}

/** Certain that no byte of the request reached the processor. */
export interface NotSent {
  readonly kind: 'not-sent';
  /** The failure to report; absent: ConnectionRejected. */
  readonly failure?: FailureStatus;
  /** Absent: `not-sent`. Another one when a request before it, which moves no money, had left this service. */
  readonly failureCause?: FailureCause;
}

/** Anything else: the outcome is unknown. `problem` is a code for operators. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly problem: string;
}

export const unknown = (problem: string): Unknown => ({ kind: 'unknown', problem });

/** The processor's records do not contain it at present. */
export interface NotFound {
  readonly kind: 'not-found';
}

export type Outcome = Approved | Refused | Pending | NotSent | Unknown;
export type InquiryResult = Approved | Refused | Pending | Reversed | NotFound | Unknown;

/**
 * The result of a reversal. `reversed`: nothing of the operation is left. `reversed-with-authorization`: nor is anything of
 * the authorization before it. `not-found`: the operation was never received. `not-reversible`: it was processed, and can no
 * longer be reversed, now or later.
 */
export type ReversalResult =
  | { readonly kind: 'reversed' | 'reversed-with-authorization' | 'not-reversible' }
  | NotFound
  | Unknown;
