import { createHmac, timingSafeEqual } from 'node:crypto';
import { WebhookVerificationError } from './errors.ts';
import type { EVENT_TYPES } from './schema.ts';

/** An event of a webhook. Receivers go by the header `webhook-id`: an event may arrive more than once, and in any order. */
export interface WebhookEvent {
  /**
   * One of the types that this version knows, or any text: `events: ["*"]` delivers the types of later versions too. Respond with 2xx
   * to a type that you do not know; other responses are repeated, and may disable the webhook.
   */
  readonly type: (typeof EVENT_TYPES)[number] | 'webhook.test' | (string & {});
  /** ISO 8601: when it happened. */
  readonly timestamp: string;
  readonly environment: 'production' | 'sandbox';
  readonly data: Readonly<Record<string, unknown>>;
}

/** A received request. */
export interface ReceivedWebhook {
  /** As `node:http` has them, or a `Headers` object. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> | Headers;
  /** The body as it came, before any parsing. */
  readonly body: string | Uint8Array;
}

export interface VerificationOptions {
  /** Largest difference to the clock of this machine, in seconds; default 300. */
  readonly toleranceSeconds?: number | undefined;
  /** Unix time in milliseconds; default: now. */
  readonly now?: number | undefined;
}

const SECRET_PREFIX = 'whsec_';
const DEFAULT_TOLERANCE_SECONDS = 300;
/** Standard Webhooks 1.0.0. A text that is no secret, such as `undefined`, is a short key that others can guess. */
const MIN_SECRET_BYTES = 24;

/**
 * Returns the event of a request that was signed with the secret, within the tolerance (Standard Webhooks 1.0.0). Throws
 * `WebhookVerificationError`. Signatures are compared in constant time.
 */
export function verifyWebhook(
  { headers, body }: ReceivedWebhook,
  secret: string,
  options: VerificationOptions = {},
): WebhookEvent {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  );
  if (id === undefined || timestamp === undefined || signatures === undefined)
    throw new WebhookVerificationError('a header of the webhook is missing');
  const { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = Date.now() } = options;
  const seconds = /^[0-9]{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
  if (!(Math.abs(now / 1000 - seconds) <= toleranceSeconds))
    throw new WebhookVerificationError('the webhook is too old, or the clocks differ');
  const key = Buffer.from(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret, 'base64');
  if (key.length < MIN_SECRET_BYTES) throw new WebhookVerificationError('the secret is none of a webhook');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  const isSigned = signatures.split(' ').some((each) => {
    const given = Buffer.from(each.startsWith('v1,') ? each.slice('v1,'.length) : '', 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isSigned) throw new WebhookVerificationError('the webhook is not signed with this secret');
  return parseEvent(typeof body === 'string' ? body : Buffer.from(body).toString('utf8'));
}

/** The error of the parser is left out: it quotes the body. */
function parseEvent(text: string): WebhookEvent {
  try {
    return JSON.parse(text) as WebhookEvent;
  } catch {
    throw new WebhookVerificationError('the body of the webhook is not JSON');
  }
}

function headerOf(headers: ReceivedWebhook['headers'], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}
