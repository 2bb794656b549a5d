/** Everything that a call of the client can fail with. No message contains a value of the request. */
export class CardvaultError extends Error {
  override readonly name: string = 'CardvaultError';
}

/** The details of a response that is no success. */
export interface Refusal {
  readonly status: number;
  /** The text of the service; it names a field, never a value. */
  readonly description: string;
  /** Code of the failure; payments only. */
  readonly code: string | undefined;
  /** Where in the request, as `chd[3].exp`; when the failure is about one place. */
  readonly field: string | undefined;
  /** `x-request-id`, for questions to the operator. */
  readonly requestId: string | undefined;
  /** Seconds after which a repeat is useful. */
  readonly retryAfter: number | undefined;
}

/**
 * The service refused the request. An attempt before may have had its effect with its response lost: the same call with the same
 * `idempotencyKey` finds out, and never has a second effect.
 */
export class RefusedError extends CardvaultError implements Refusal {
  override readonly name: string = 'RefusedError';
  readonly status: number;
  readonly description: string;
  readonly code: string | undefined;
  readonly field: string | undefined;
  readonly requestId: string | undefined;
  readonly retryAfter: number | undefined;
  /** The `Idempotency-Key` of the call; undefined for one that only reads. */
  readonly idempotencyKey: string | undefined;

  constructor(refusal: Refusal, idempotencyKey: string | undefined) {
    super(`${refusal.status}: ${refusal.description}`);
    this.status = refusal.status;
    this.description = refusal.description;
    this.code = refusal.code;
    this.field = refusal.field;
    this.requestId = refusal.requestId;
    this.retryAfter = refusal.retryAfter;
    this.idempotencyKey = idempotencyKey;
  }
}

/** 400, 413 and 415: the request is wrong, or names a record that does not exist. */
export class InvalidRequestError extends RefusedError {
  override readonly name = 'InvalidRequestError';
}

/** 403: key, address or permission; the operator finds the cause in the audit log. */
export class AccessDeniedError extends RefusedError {
  override readonly name = 'AccessDeniedError';
}

/** 409: the same request, or an operation on the same payment, is still being processed. */
export class ConflictError extends RefusedError {
  override readonly name = 'ConflictError';
}

/** 429: too many requests. */
export class RateLimitError extends RefusedError {
  override readonly name = 'RateLimitError';
}

/** 500 and above. */
export class ServiceError extends RefusedError {
  override readonly name = 'ServiceError';
}

/**
 * No response came, or one that is longer than any of the interface. The effect of a write is unknown; the same call with the same
 * `idempotencyKey` finds out, and never has a second effect.
 */
export class ConnectionError extends CardvaultError {
  override readonly name: string = 'ConnectionError';
  /** The `Idempotency-Key` of the call; undefined for one that only reads. */
  readonly idempotencyKey: string | undefined;

  constructor(message: string, idempotencyKey: string | undefined, options?: ErrorOptions) {
    super(message, options);
    this.idempotencyKey = idempotencyKey;
  }
}

/** The response is longer than any of the interface. The same request would get it again, so that it is not repeated. */
export class ResponseTooLongError extends ConnectionError {}

/** No complete response came within `timeoutMs` or `attemptTimeoutMs`. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError';
}

/** A webhook that was not signed with the secret, or too long ago. */
export class WebhookVerificationError extends CardvaultError {
  override readonly name = 'WebhookVerificationError';
}

/** Returns the error for a status. */
export function toRefusedError(refusal: Refusal, idempotencyKey: string | undefined): RefusedError {
  const { status } = refusal;
  if (status === 403) return new AccessDeniedError(refusal, idempotencyKey);
  if (status === 409) return new ConflictError(refusal, idempotencyKey);
  if (status === 429) return new RateLimitError(refusal, idempotencyKey);
  return status >= 500 ? new ServiceError(refusal, idempotencyKey) : new InvalidRequestError(refusal, idempotencyKey);
}
