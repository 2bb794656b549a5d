import { isExactNumber, isJsonObject, type Json, parseJson } from '../../../kernel/json.ts';
import { type Money, parseAmount } from '../../../kernel/money.ts';
import type { OperationNames, ProcessorDetails } from '../../processor.ts';
import { isStorable, valueAt } from '../response-fields.ts';

/**
 * Parses the members of a response that are used. The content is untrusted: each text is accepted only in its expected
 * format, and messages, which can contain card data, are never read.
 */
export interface CyberSourceResponse {
  readonly status: string | undefined;
  readonly reason: string | undefined;
  /** Names of the fields that a refusal is about. */
  readonly fields: readonly string[];
  readonly details: ProcessorDetails;
  readonly body: Json;
}

/** The request, with which a response is compared. */
export interface ExpectedTransaction extends OperationNames {
  readonly amount: Money;
  /** Our id of the reversed operation, which a response may name instead of that of the reversal. */
  readonly reversedId?: string | undefined;
}

const STATUS_CODE = /^[A-Z][A-Z0-9_]{0,63}$/;
const ID = /^[A-Za-z0-9-]{1,60}$/;
const CODE = /^[A-Za-z0-9]{1,12}$/;
const NETWORK_ID = /^[A-Za-z0-9]{1,30}$/;
/** A decimal; a longer text is rejected, because parsing it would take long. */
const AMOUNT_CHARACTERS = 64;
const AMOUNT_PATHS = [
  'orderInformation.amountDetails.totalAmount',
  'refundAmountDetails.refundAmount',
  'reversalAmountDetails.reversedAmount',
  'voidAmountDetails.voidAmount',
];
const CURRENCY_PATHS = [
  'orderInformation.amountDetails.currency',
  'refundAmountDetails.currency',
  'reversalAmountDetails.currency',
  'voidAmountDetails.currency',
];

/** Undefined when the body is no JSON object. */
export function parseBody(text: string): Json | undefined {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function parseResponse(text: string): CyberSourceResponse | undefined {
  const body = parseBody(text);
  if (body === undefined) return undefined;
  const details = [...listAt(body, 'details'), ...listAt(body, 'errorInformation.details')];
  return {
    status: textAt(body, 'status', STATUS_CODE),
    reason: textAt(body, 'errorInformation.reason', STATUS_CODE) ?? textAt(body, 'reason', STATUS_CODE),
    fields: details.flatMap((each) => textAt(each, 'field') ?? []),
    details: parseDetails(body),
    body,
  };
}

export function parseDetails(body: Json): ProcessorDetails {
  const code = storableTextAt(body, 'processorInformation.avs.code', CODE);
  const codeRaw = storableTextAt(body, 'processorInformation.avs.codeRaw', CODE) ?? code;
  return {
    processorId: storableTextAt(body, 'id', ID),
    responseCode: storableTextAt(body, 'processorInformation.responseCode', CODE),
    reconciliationId: storableTextAt(body, 'reconciliationId', ID),
    approvalCode: storableTextAt(body, 'processorInformation.approvalCode', CODE),
    networkId:
      storableTextAt(body, 'processorInformation.transactionId', NETWORK_ID) ??
      storableTextAt(body, 'processorInformation.networkTransactionId', NETWORK_ID),
    avs: code === undefined || codeRaw === undefined ? undefined : { code, codeRaw },
  };
}

function storableTextAt(body: Json, path: string, pattern: RegExp): string | undefined {
  const text = textAt(body, path, pattern);
  return text !== undefined && isStorable(text) ? text : undefined;
}

/** True when the response is about another request than ours. A missing member is no contradiction. */
export function contradicts(
  body: Json,
  { operationId, operationRef, amount, reversedId = operationId }: ExpectedTransaction,
): boolean {
  const transactionId = textAt(body, 'clientReferenceInformation.transactionId');
  return (
    differs(textAt(body, 'clientReferenceInformation.code'), operationRef) ||
    (differs(transactionId, operationId) && transactionId !== reversedId) ||
    CURRENCY_PATHS.some((path) => differs(textAt(body, path), amount.currency)) ||
    AMOUNT_PATHS.some((path) => isDifferentAmount(textAt(body, path), amount))
  );
}

/** True when less, or another amount, was authorized than requested. */
export const isDifferentAmountAuthorized = (body: Json, amount: Money): boolean =>
  isDifferentAmount(textAt(body, 'orderInformation.amountDetails.authorizedAmount'), amount);

export function parseAuthorizedAmount(body: Json, { currency }: Money): Money | undefined {
  const minor = parseMinorUnits(textAt(body, 'orderInformation.amountDetails.authorizedAmount'), currency);
  return minor === undefined ? undefined : { minor, currency };
}

export function parseTotalAmount(body: Json, { currency }: Money): Money | undefined {
  const minor = parseMinorUnits(textAt(body, 'orderInformation.amountDetails.totalAmount'), currency);
  return minor === undefined ? undefined : { minor, currency };
}

const differs = (found: string | undefined, expected: string): boolean => found !== undefined && found !== expected;

const isDifferentAmount = (found: string | undefined, { minor, currency }: Money): boolean =>
  found !== undefined && parseMinorUnits(found, currency) !== minor;

/** Zeros beyond the decimals of the currency have no meaning: 100.00 yen equal 100. */
const parseMinorUnits = (text: string | undefined, currency: Money['currency']): bigint | undefined =>
  text === undefined || text.length > AMOUNT_CHARACTERS
    ? undefined
    : parseAmount(text.includes('.') ? text.replace(/\.?0+$/, '') : text, currency);

/**
 * Returns the text at a path like `a.b`, or the number as it is written; undefined when it is neither, or does not have
 * the expected format.
 */
export function textAt(value: Json, path: string, pattern?: RegExp): string | undefined {
  const found = valueAt(value, path);
  const text = isExactNumber(found) ? found.rawJSON : typeof found === 'number' ? String(found) : found;
  return typeof text === 'string' && (pattern === undefined || pattern.test(text)) ? text : undefined;
}

export function listAt(value: Json, path: string): readonly Json[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found : [];
}
