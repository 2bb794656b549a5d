import { type Explanation, explain, formatReason, type Reason, type Values, type ValuesArgument } from './reasons.ts';

/**
 * The closed list of everything that can go wrong for a caller. The text of a failure is safe to show: it is the reason's, or
 * that of the code, and it names fields, never values. The private cause, if any, is for the log of an operator and is never derived from it.
 *
 * What a failure means on the wire stands in `http/problems.ts`, its explanation for users in `docs/errors.md`.
 */
export const FAILURES = {
  invalid_field: 'A field is missing or has the wrong form.',
  malformed_json: 'The body is not well-formed JSON.',
  malformed_xml: 'The body is not XML that this endpoint accepts.',
  malformed_request: 'The request itself cannot be read.',
  nothing_tokenized: 'No card of the request can be tokenized.',
  token_space_full: 'No free token is left for the cards of the request.',
  unknown_token: 'no such token',
  unknown_capture: 'no such capture, or its ttl has ended',
  capture_without_card: 'the capture contains no card number',
  invalid_placeholder: 'A placeholder is malformed, or asks for what its record does not have.',
  proxy_not_configured: 'A key that the endpoint needs is not configured for the account.',
  unknown_payment: 'no such payment',
  unknown_session: 'no such session',
  session_secret: 'the secret of the session is missing or wrong',
  unknown_webhook: 'no such webhook',
  unknown_event: 'no such delivery',
  payment_state: 'The payment is in a state that does not allow this.',
  idempotency_key_reused: 'used with another request before',
  operation_in_progress: 'The same request is still being processed.',
  access_denied: 'Access denied.',
  not_signed_in: 'You are not signed in.',
  sign_in_refused: 'Incorrect email, password or code.',
  step_up_required: 'Confirm that it is you.',
  not_allowed: 'Your role does not allow this.',
  cross_site: 'The request does not come from the console itself.',
  unknown_record: 'There is no such record.',
  changed_meanwhile: 'Another user changed this in the meantime.',
  not_possible: 'This cannot be done.',
  unknown_path: 'There is nothing at this path.',
  method_not_allowed: 'The path does not accept this method.',
  body_too_large: 'The body is too large.',
  unsupported_media_type: 'The media type or encoding of the body is not supported.',
  rate_limited: 'Too many requests.',
  unavailable: 'The service cannot do this at the moment.',
  internal: 'Internal error.',
} as const;

/** `usage` is for the command line alone: the command is wrong, and its exit code says so. */
export type FailureCode = keyof typeof FAILURES | 'usage';

interface FailureOptions {
  /** Where in the request, as `chd[3].exp`. */
  readonly field?: string | undefined;
  /** For an operator's log. */
  readonly cause?: unknown;
}

export class Failure extends Error {
  override readonly name: string = 'Failure';
  readonly code: FailureCode;
  /** Absent where the code says all. */
  readonly reason: Reason | undefined;
  readonly values: Values;
  /** Where in the request, as `chd[3].exp`, when the failure is about one place. */
  readonly field: string | undefined;

  constructor(code: FailureCode, explanation?: Explanation | FailureOptions, options: FailureOptions = {}) {
    const explained = explanation !== undefined && 'reason' in explanation ? explanation : undefined;
    const { field, cause } = explained === undefined ? ((explanation ?? options) as FailureOptions) : options;
    super(formatFailure(code, field, explained), { cause });
    this.code = code;
    this.reason = explained?.reason;
    this.values = explained?.values ?? {};
    this.field = field;
  }
}

/** Codes whose texts name no field: forms know it, people on a command line do not. */
const WITHOUT_FIELD: readonly FailureCode[] = ['usage', 'not_possible'];

function formatFailure(code: FailureCode, field: string | undefined, explanation: Explanation | undefined): string {
  const text = explanation === undefined ? FAILURES[code as keyof typeof FAILURES] : formatReason(explanation);
  return field === undefined || WITHOUT_FIELD.includes(code) ? text : `${field}: ${text}`;
}

/** A field that is missing or malformed: `invalidField('tags', 'entries', { min: 1, max: 50 })`. */
export const invalidField = <R extends Reason>(field: string, reason: R, ...values: ValuesArgument<R>): Failure =>
  new Failure('invalid_field', explain(reason, ...values), { field });

/** Failures that do not depend on the content of the request. */
export const notPossible = <R extends Reason>(reason: R, ...values: ValuesArgument<R>): Failure =>
  new Failure('not_possible', explain(reason, ...values));
