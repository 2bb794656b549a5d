/**
 * The closed list of everything that can go wrong for a caller. A failure carries a text that is safe to show: it
 * names fields, never values. The private cause, if any, is for the log of an operator and is never derived from it.
 *
 * What a failure means on the wire stands in `http/problems.ts`, its explanation for users in `docs/errors.md`.
 */
export const FAILURES = {
  invalid_field: 'A field is missing or has the wrong form.',
  malformed_json: 'The body is not well-formed JSON.',
  malformed_xml: 'The body is not XML that this endpoint takes.',
  malformed_request: 'The request itself cannot be read.',
  nothing_tokenized: 'No card of the request can be tokenized.',
  token_space_full: 'No free token is left for the cards of the request.',
  unknown_token: 'no such token',
  unknown_capture: 'no such capture, or its ttl has ended',
  capture_without_card: 'the capture holds no card number',
  invalid_placeholder: 'A placeholder is malformed, or asks for what its record does not have.',
  proxy_not_configured: 'A key that the endpoint needs is not configured for the account.',
  unknown_payment: 'no such payment',
  payment_state: 'The payment is in a state that does not allow this.',
  idempotency_key_reused: 'used with another request before',
  operation_in_progress: 'The same request is still being processed.',
  access_denied: 'Access denied.',
  not_signed_in: 'You are not signed in.',
  sign_in_refused: 'Wrong e-mail, password or code.',
  step_up_required: 'Confirm that it is you.',
  not_allowed: 'Your role does not allow this.',
  cross_site: 'The request does not come from the console itself.',
  unknown_record: 'There is no such record.',
  changed_meanwhile: 'Somebody else changed this meanwhile.',
  not_possible: 'This cannot be done.',
  unknown_path: 'There is nothing at this path.',
  method_not_allowed: 'The path does not take this method.',
  body_too_large: 'The body is too large.',
  unsupported_media_type: 'The media type or encoding of the body is not supported.',
  rate_limited: 'Too many requests.',
  unavailable: 'The service cannot do this just now.',
  internal: 'Internal error.',
} as const;

export type FailureCode = keyof typeof FAILURES;

export class Failure extends Error {
  readonly code: FailureCode;
  /** Where in the request, as `chd[3].exp`, when the failure is about one place. */
  readonly field: string | undefined;

  constructor(code: FailureCode, options: { field?: string; message?: string; cause?: unknown } = {}) {
    const text = options.message ?? FAILURES[code];
    super(options.field === undefined ? text : `${options.field}: ${text}`, { cause: options.cause });
    this.name = 'Failure';
    this.code = code;
    this.field = options.field;
  }
}

/** A field that is missing or malformed: `invalid('chd[3].exp', 'expected MM/YY')`. */
export const invalid = (field: string, expectation: string): Failure =>
  new Failure('invalid_field', { field, message: expectation });
