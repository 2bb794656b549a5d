import type { Tenant } from '../kernel/environment.ts';
import type { Expiry } from '../kernel/expiry.ts';
import type { Json } from '../kernel/json.ts';
import type { Money } from '../kernel/money.ts';
import type { Pan } from '../kernel/pan.ts';
import type { Explanation } from '../kernel/reasons.ts';
import type { SettingTable } from './settings.ts';
import { type FailureStatus, RESPONSE_CODES, type Reason, toFailureStatus } from './transitions.ts';

/**
 * The one seam between payments and whoever processes them. A processor is a protocol file (what is sent, in which form)
 * and a mapping file (what its words mean here); `docs/processors/write-a-processor.md` tells how to add one.
 */
export interface Processor {
  readonly capabilities: Capabilities;
  /** The settings that it has beside those of all processors. */
  readonly settings: SettingTable;
  /** The `https:` origins that its documentation names for production; absent: it sends nothing over the network. */
  readonly productionHosts?: readonly string[];
  /** Why these settings cannot go together, for the operator; undefined when they can. */
  conflict?(settings: ProcessorSettings): Explanation | undefined;
  /** Refuses what this processor cannot process, before anything is kept or sent. Throws `invalid_field`. */
  check(order: Order, card: CardData, settings: ProcessorSettings): void;
  /** Sends an authorization, with `order.capture` a sale where `capabilities.sale`. */
  authorize(call: ProcessorCall, order: Order, card: CardData): Promise<Outcome>;
  capture(call: ProcessorCall, history: PaymentHistory, amount: Money): Promise<Outcome>;
  refund(call: ProcessorCall, history: PaymentHistory, amount: Money): Promise<Outcome>;
  /** Gives an authorization back, whole. Doing it twice does no harm. */
  void(call: ProcessorCall, history: PaymentHistory): Promise<Outcome>;
  /**
   * What became of an operation. Of an authorization or payment it tells how the payment stands there now, captures and
   * voids since then included.
   */
  inquire(call: ProcessorCall, history: PaymentHistory, subject: OperationRef): Promise<InquiryResult>;
  /**
   * Undoes whatever the operation may have done, by our key. `approved`: nothing of it is left. `reversed`: nothing of it
   * is left, nor of the authorization before it. `absent`: it was never there. `refused`: it was done, and cannot be undone
   * any more, now or later.
   */
  reverse(call: ProcessorCall, history: PaymentHistory, subject: OperationRef): Promise<InquiryResult>;
  /** Payments about which it has something new to tell, each time it has; for a processor that runs in this process. */
  pollNotifications?(): Promise<readonly ProcessorNotification[]>;
}

export interface ProcessorNotification {
  readonly tenant: Tenant;
  /** Of the authorization or payment. */
  readonly operationRef: string;
}

/** What goes wrong is an outcome; what a method throws counts as unknown. Nothing is ever sent twice. */
export interface ProcessorCall {
  readonly tenant: Tenant;
  /** Checked and with defaults, by name. */
  readonly settings: ProcessorSettings;
  /** Our key of this operation at the processor: its `transaction_id`, 25 letters. */
  readonly operationRef: string;
  /** Fires when the time for an answer (`timeout-ms`) is over. */
  readonly signal: AbortSignal;
}

export type ProcessorSettings = Readonly<Record<string, string>>;

export interface Capabilities {
  /** An authorization can be captured in the same call. */
  readonly sale: boolean;
  readonly partialCapture: boolean;
  /**
   * How many inquiries one after the other must find nothing until an operation counts as never received. Infinity where
   * an inquiry cannot tell: then `recovery-max` decides.
   */
  readonly notFoundThreshold: number;
}

/** What is asked of the processor, without card data. */
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
  /** Where news about the payment can be sent to; only with the setting `notification-url`. */
  readonly notificationUrl: string | undefined;
}

/** In memory for the time of the call, and nowhere else. */
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

/** A person of a payment; what is not known is absent. */
export type Party = { readonly [F in (typeof PARTY_FIELDS)[number]]?: string | undefined };

/** Who pays: the cardholder, what is missing there taken from the billing party. */
export function resolvePayer({ cardholder, billTo }: Order): Party {
  const values = PARTY_FIELDS.map((field) => [field, cardholder?.[field] ?? billTo?.[field]] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

export type OperationType =
  | 'authorization'
  | 'payment'
  | 'capture'
  | 'payment_refund'
  | 'authorization_void'
  | 'expiry';

/** An operation as its processor knows it. */
export interface OperationRef {
  readonly type: OperationType;
  readonly operationRef: string;
  /** The processor's id of it, once known. */
  readonly processorId: string | undefined;
  readonly amount: Money;
}

/** What was done on the payment before: the operations with an effect, the authorization or payment first. */
export interface PaymentHistory {
  readonly referenceCode: string | undefined;
  readonly operations: readonly OperationRef[];
}

/** What processors tell beside yes and no. */
export interface ProcessorDetails {
  /** The processor's id of this operation. */
  readonly processorId?: string | undefined;
  readonly responseCode?: string | undefined;
  readonly reconciliationId?: string | undefined;
  readonly approvalCode?: string | undefined;
  /** The id given further down the line: by the acquirer or the network. */
  readonly networkId?: string | undefined;
  readonly avs?: { readonly code: string; readonly codeRaw: string } | undefined;
  /** When the authorization ends by itself, milliseconds. */
  readonly expiresAt?: number | undefined;
}

/** Definite yes, for the whole amount. */
export interface Approved {
  readonly kind: 'approved';
  /** Of an authorization or payment: the amount is captured, too; undefined when only authorized. */
  readonly captured?: Money | undefined;
  readonly details: ProcessorDetails;
}

/** Definite no: nothing was moved or held. */
export interface Refused {
  readonly kind: 'refused';
  readonly failure: FailureStatus;
  readonly details: ProcessorDetails;
}

export const refused = (
  reason: Reason,
  details: ProcessorDetails = { responseCode: RESPONSE_CODES[reason] },
): Refused => ({ kind: 'refused', failure: toFailureStatus(reason), details });

/** Received, and decided later. */
export interface Pending {
  readonly kind: 'pending';
  readonly details: ProcessorDetails;
}

/** What was authorized or opened has been given back at the processor. */
export interface Reversed {
  readonly kind: 'reversed';
  readonly details: ProcessorDetails;
}

/** Certain that no byte of the request reached the processor. */
export interface NotSent {
  readonly kind: 'not-sent';
  /** The failure to show; absent: the connection failed. */
  readonly failure?: FailureStatus;
}

/** Anything else: nobody can say yet. `why` is a word for operators. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly problem: string;
}

export const unknown = (problem: string): Unknown => ({ kind: 'unknown', problem });

/** The processor's books do not have it at present. */
export interface NotFound {
  readonly kind: 'not-found';
}

export type Outcome = Approved | Refused | Pending | NotSent | Unknown;
export type InquiryResult = Approved | Refused | Pending | Reversed | NotFound | Unknown;
