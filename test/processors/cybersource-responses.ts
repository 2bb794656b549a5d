import type { ForcedOutcome, RejectedRequest, Transaction } from './cybersource-ledger.ts';

/** The bodies of the fake's responses, from CyberSource's description of them. */

export interface FakeResponse {
  readonly status: number;
  readonly body: unknown;
}

/** Real messages may contain card data; none may appear in our results. */
export const FREE_TEXT = 'Declined for card 4111111111111111';

const APPLICATIONS = {
  authorization: ['ics_auth'],
  sale: ['ics_auth', 'ics_bill'],
  capture: ['ics_bill'],
  refund: ['ics_credit'],
  reversal: ['ics_auth_reversal'],
  void: ['ics_void'],
} as const;

const NUMBERS: Readonly<Record<string, string>> = {
  '': '100',
  PARTIAL: '110',
  AVS_FAILED: '200',
  CONTACT_PROCESSOR: '201',
  EXPIRED_CARD: '202',
  INSUFFICIENT_FUND: '204',
  STOLEN_LOST_CARD: '205',
  ISSUER_UNAVAILABLE: '207',
  PROCESSOR_ERROR: '236',
  CV_FAILED: '230',
  GENERAL_DECLINE: '233',
  PROCESSOR_TIMEOUT: '250',
  DECISION_PROFILE_REVIEW: '480',
  DECISION_PROFILE_REJECT: '481',
};
/** With these reasons the issuer's approval itself counts as declined. */
const SOFT = ['AVS_FAILED', 'CV_FAILED'];

export function paymentResponse(
  transaction: Transaction,
  verdict: ForcedOutcome | undefined,
  amount: string,
): FakeResponse {
  const { id, code, transactionId, currency, approvalCode } = transaction;
  const status = verdict?.status ?? 'AUTHORIZED';
  const authorized = verdict === undefined || verdict.holds === true ? { authorizedAmount: amount } : {};
  const approved = verdict === undefined || verdict.holds === true ? { approvalCode } : {};
  return {
    status: 201,
    body: {
      id,
      submitTimeUtc: '2026-11-21T12:00:00Z',
      status,
      reconciliationId: id,
      clientReferenceInformation: { code, transactionId },
      processorInformation: {
        ...approved,
        responseCode: '00',
        networkTransactionId: '016153570198200',
        transactionId: '016153570198200',
        avs: { code: 'Y', codeRaw: 'Y' },
      },
      orderInformation: { amountDetails: { ...authorized, currency } },
      ...(verdict?.reason === undefined ? {} : { errorInformation: { reason: verdict.reason, message: FREE_TEXT } }),
      _links: { self: { href: `/pts/v2/payments/${id}`, method: 'GET' } },
    },
  };
}

export function followOnResponse(
  transaction: Transaction,
  verdict: ForcedOutcome | undefined,
  amount: string,
): FakeResponse {
  const { id, kind, code, currency } = transaction;
  const details: Record<string, unknown> = {
    capture: { orderInformation: { amountDetails: { totalAmount: amount, currency } } },
    refund: { refundAmountDetails: { refundAmount: amount, currency } },
    reversal: { reversalAmountDetails: { reversedAmount: amount, originalTransactionAmount: amount, currency } },
    void: { voidAmountDetails: { voidAmount: amount, originalTransactionAmount: amount, currency } },
  };
  const done = { capture: 'PENDING', refund: 'PENDING', reversal: 'REVERSED', void: 'VOIDED' }[kind as 'capture'];
  return {
    status: 201,
    body: {
      id,
      submitTimeUtc: '2026-11-21T12:00:00Z',
      status: verdict?.status ?? done,
      reconciliationId: id,
      clientReferenceInformation: { code },
      ...(details[kind] as object),
      ...(verdict?.reason === undefined ? {} : { errorInformation: { reason: verdict.reason, message: FREE_TEXT } }),
    },
  };
}

export const badRequest = ({ reason, fields }: Pick<RejectedRequest, 'reason' | 'fields'>): FakeResponse => ({
  status: 400,
  body: {
    submitTimeUtc: '2026-11-21T12:00:00Z',
    status: 'INVALID_REQUEST',
    reason,
    message: FREE_TEXT,
    details: fields.map((field) => ({ field, reason: 'INVALID_DATA' })),
  },
});

export const serverError = (reason: string): FakeResponse => ({
  status: 502,
  body: { submitTimeUtc: '2026-11-21T12:00:00Z', status: 'SERVER_ERROR', reason, message: FREE_TEXT },
});

/** One transaction in the form of details and search. */
export function detailsOf(transaction: Transaction, merchantId: string, related: readonly string[]): object {
  const { id, root, kind, code, requested, amount, currency, approvalCode, state } = transaction;
  const reason = amount === requested ? transaction.reason : 'PARTIAL';
  const reasonCode = NUMBERS[reason] ?? '233';
  const isDeclined = state === 'declined' || SOFT.includes(reason);
  const own = reasonCode === '480' || reasonCode === '481' ? '100' : reasonCode;
  const names = isDeclined ? APPLICATIONS[kind].slice(0, 1) : APPLICATIONS[kind];
  return {
    id,
    rootId: root,
    reconciliationId: id,
    submitTimeUTC: '2026-11-21T12:00:00Z',
    merchantId,
    applicationInformation: {
      reasonCode: Number(reasonCode),
      applications: names.map((name) => ({
        name,
        reasonCode: own,
        rCode: isDeclined ? '0' : '1',
        rFlag: isDeclined ? 'DDECLINED' : 'SOK',
        rMessage: FREE_TEXT,
        returnCode: 1010000,
      })),
    },
    buyerInformation: {},
    clientReferenceInformation: { code, applicationName: 'REST API', applicationVersion: '1.0', partner: {} },
    orderInformation: { amountDetails: { totalAmount: requested, currency, authorizedAmount: amount, taxAmount: '0' } },
    processorInformation: {
      ...(approvalCode === undefined ? {} : { approvalCode }),
      networkTransactionId: '016153570198200',
      responseCode: '00',
      avs: { code: 'Y', codeRaw: 'Y' },
    },
    _links: {
      self: { href: `https://apitest.cybersource.com/tss/v2/transactions/${id}`, method: 'GET' },
      ...(related.length === 0
        ? {}
        : {
            relatedTransactions: related.map((each) => ({
              href: `https://apitest.cybersource.com/tss/v2/transactions/${each}`,
              method: 'GET',
            })),
          }),
    },
  };
}
