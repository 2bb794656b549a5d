import type { StoredResponse } from '../idempotency/idempotency-keys.ts';
import { Failure, type FailureCode } from '../kernel/failure.ts';
import { isAlteration, StorageError } from '../storage/database.ts';
import { ENVELOPES, type Family } from './envelopes.ts';
import { FieldMismatch } from './fields.ts';

interface Problem {
  readonly status: number;
  /** Seconds after which a repeat is useful. */
  readonly retryAfterSeconds?: number;
  /** A repeat may get another response without any change of the request, so no Idempotency-Key stores it. */
  readonly isTransient?: boolean;
}

/** The only map from failure to HTTP. */
export const PROBLEMS: Readonly<Record<FailureCode, Problem>> = {
  invalid_field: { status: 400 },
  malformed_json: { status: 400 },
  malformed_xml: { status: 400 },
  malformed_request: { status: 400 },
  nothing_tokenized: { status: 400 },
  token_space_full: { status: 400, isTransient: true },
  unknown_token: { status: 400 },
  unknown_capture: { status: 400 },
  capture_without_card: { status: 400 },
  invalid_placeholder: { status: 400 },
  proxy_not_configured: { status: 400, isTransient: true },
  unknown_payment: { status: 400 },
  unknown_session: { status: 400 },
  session_secret: { status: 401 },
  unknown_webhook: { status: 400 },
  unknown_event: { status: 400 },
  payment_state: { status: 400, isTransient: true },
  idempotency_key_reused: { status: 400, isTransient: true },
  operation_in_progress: { status: 409, retryAfterSeconds: 1 },
  access_denied: { status: 403 },
  not_signed_in: { status: 401 },
  sign_in_refused: { status: 403 },
  step_up_required: { status: 403 },
  not_allowed: { status: 403 },
  cross_site: { status: 403 },
  unknown_record: { status: 404 },
  changed_meanwhile: { status: 409 },
  not_possible: { status: 400, isTransient: true },
  unknown_path: { status: 404 },
  method_not_allowed: { status: 405 },
  body_too_large: { status: 413 },
  unsupported_media_type: { status: 415 },
  rate_limited: { status: 429, retryAfterSeconds: 1 },
  unavailable: { status: 503, retryAfterSeconds: 2 },
  internal: { status: 500 },
  // Never reached here.
  usage: { status: 400 },
};

/** True when a repeat of the request would fail the same way, so that its Idempotency-Key may store the response. */
export function isLasting({ code }: Failure): boolean {
  const { status, isTransient } = PROBLEMS[code];
  return status === 400 && isTransient !== true;
}

/** Renders a failure in the shape of its family. */
export function renderFailure(failure: Failure, family: Family): StoredResponse {
  const { status } = PROBLEMS[failure.code];
  return { status, body: JSON.stringify(ENVELOPES[family].failure(failure, status)) };
}

/** Returns the failure for the caller: any unexpected error becomes `internal`, without its message. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof FieldMismatch)
    return new Failure('invalid_field', error.explanation, { field: error.path === '' ? 'body' : error.path });
  // A repetition finds the altered row again, so it is not unavailable.
  if (error instanceof StorageError && !isAlteration(error)) return new Failure('unavailable', { cause: error });
  return toFastifyFailure(error) ?? new Failure('internal', { cause: error });
}

const FASTIFY_ERRORS: Readonly<Record<string, FailureCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_BAD_URL: 'malformed_request',
  FST_ERR_MAX_PARAM_LENGTH: 'unknown_path',
  ECONNRESET: 'malformed_request',
};

function toFastifyFailure(error: unknown): Failure | undefined {
  const code = FASTIFY_ERRORS[(error as { code?: string } | undefined)?.code ?? ''];
  return code === undefined ? undefined : new Failure(code);
}
