import type { Capture } from '../captures/capture.ts';
import { formatIso8601, formatIso8601OrNull } from '../kernel/clock.ts';
import type { Currency } from '../kernel/currency.ts';
import { formatLongExpiry } from '../kernel/expiry.ts';
import { formatDecimal } from '../kernel/money.ts';
import type { Operation, PaymentState } from '../payments/payment.ts';
import type { PaymentDetail } from '../payments/payment-queries.ts';
import type { Token } from '../vault/token.ts';

/**
 * The export of an account: JSON Lines, a header first and a trailer last. docs/guides/leaving.md describes every member.
 */
export const EXPORT_FORMAT = 'cardvault-account';
export const EXPORT_VERSION = 1;

/** The kinds of lines between header and trailer. */
export const EXPORTED_KINDS = ['token', 'capture', 'payment', 'audit', 'unreadable'] as const;

export type ExportedKind = (typeof EXPORTED_KINDS)[number];

/**
 * Formats a line. Its kind comes first: a payment with all its operations is as long as it is, and an import must know what the line
 * is without reading all of it.
 */
const formatLine = (kind: ExportedKind, members: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ kind, ...members });

const KIND = /^\{"kind":"([a-z]+)"/;
const MAX_KIND_BYTES = 32;

/** Returns the kind of a line, of which the beginning suffices; undefined when it is no line of an export. */
export const kindOfLine = (beginning: Buffer): string | undefined =>
  KIND.exec(beginning.toString('latin1', 0, MAX_KIND_BYTES))?.[1];

/** Number of lines of each kind. */
export type ExportCounts = Record<ExportedKind, number>;

export const newExportCounts = (): ExportCounts => ({ token: 0, capture: 0, payment: 0, audit: 0, unreadable: 0 });

export interface ExportHeader {
  readonly kind: 'header';
  readonly format: string;
  readonly version: number;
  /** The release of cardvault that wrote it. */
  readonly software: string;
  /** Identifies the vault: SHA-256 over the ids of its wrapping keys. */
  readonly vault: string;
  readonly account: { readonly id: string; readonly name: string };
  readonly environment: string;
  /** Tokens, captures and payments that were created until then are exported. */
  readonly created_at: string;
  readonly recipients: readonly string[];
  /** Numbers when the export began. */
  readonly expected: { readonly token: number; readonly capture: number; readonly payment: number };
  /** The key that decides which values of scheme 8 the account issues, in base64. */
  readonly issuable_half_key: string;
}

export interface ExportTrailer {
  readonly kind: 'trailer';
  readonly counts: ExportCounts;
  /** Hexadecimal SHA-256 of all lines before, each with its line feed. */
  readonly sha256: string;
}

const bins = (persistentFormat: string | undefined): 6 | 8 => (persistentFormat?.endsWith('/8') === true ? 8 : 6);

/** `persistentFormat`: the format under which the token is persistent, if it is. */
export function formatTokenLine(content: Token, persistentFormat: string | undefined): string {
  const { token, scheme, card, tags, createdBy, createdAt } = content;
  return formatLine('token', {
    token,
    scheme,
    pan: card.pan,
    exp: card.expiry && formatLongExpiry(card.expiry),
    name: card.name,
    tags,
    type: persistentFormat === undefined ? 'single' : 'persistent',
    bin: persistentFormat === undefined ? undefined : bins(persistentFormat),
    created_by: { user_id: createdBy.id, name: createdBy.name },
    created_at: formatIso8601(createdAt),
  });
}

/** A capture without security code and track data, which an export never contains (PCI DSS 3.3). */
export const formatCaptureLine = (capture: Omit<Capture, 'sad'>): string =>
  formatLine('capture', {
    id: capture.id,
    pan: capture.pan,
    exp: capture.expiry && formatLongExpiry(capture.expiry),
    name: capture.name,
    amount: capture.amount,
    currency: capture.currency,
    additional_info: capture.additionalInfo,
    created_at: formatIso8601(capture.createdAt),
    expires_at: formatIso8601(capture.expiresAt),
  });

/** Amounts are decimals in text, with all places of the currency. */
export function formatPaymentLine({ payment, operations }: PaymentDetail): string {
  const { id, type, processor, currency, amount, card } = payment;
  return formatLine('payment', {
    transaction_id: id,
    type,
    processor,
    currency,
    amount: formatDecimal({ minor: amount, currency }),
    ...formatState(payment, currency),
    reference_code: payment.referenceCode,
    card: card.truncated,
    token: card.token?.token,
    created_at: formatIso8601(payment.createdAt),
    expires_at: formatIso8601OrNull(payment.expiresAt),
    operations: operations.map((operation) => formatOperation(operation, currency)),
  });
}

const formatState = (state: PaymentState, currency: Currency) => ({
  status: state.status,
  reason: state.reason,
  authorized_amount: formatDecimal({ minor: state.authorized, currency }),
  collected_amount: formatDecimal({ minor: state.collected, currency }),
  refunded_amount: formatDecimal({ minor: state.refunded, currency }),
});

const formatOperation = (operation: Operation, currency: Currency) => ({
  transaction_id: operation.id,
  type: operation.type,
  state: operation.state,
  amount: formatDecimal({ minor: operation.amount, currency }),
  reference_code: operation.referenceCode,
  operation_ref: operation.operationRef,
  requested_by: operation.requestedBy,
  processor_info: operation.details,
  failure: operation.failure,
  payment_after: operation.stateAfter && formatState(operation.stateAfter, currency),
  history: operation.history,
  created_at: formatIso8601(operation.createdAt),
});

/** `exported`: a record of the audit log, as `audit export` prints it. */
export const formatAuditLine = (exported: string): string => `{"kind":"audit","entry":${exported}}`;

/** A record that was altered in the database, so that it cannot be unsealed. */
export const formatUnreadableLine = (record: 'token' | 'capture' | 'payment', id: string): string =>
  formatLine('unreadable', { record, id });
