import type { FastifyReply, FastifyRequest } from 'fastify';
import type {
  CaptureSessions,
  SessionView,
  Submission,
  SubmissionOutcome,
} from '../capture-sessions/capture-sessions.ts';
import type { Transaction, Transactions } from '../idempotency/transaction.ts';
import { SECOND } from '../kernel/clock.ts';
import { Failure, invalidField } from '../kernel/failure.ts';
import { isUuid } from '../kernel/ids.ts';
import { isJsonObject, type Json, parseJson } from '../kernel/json.ts';
import { LIMITS } from '../kernel/limits.ts';
import { subscriberNetwork } from '../kernel/network.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import { type CardFormFile, type CardFormFiles, chooseForm, createDocuments } from './card-form-files.ts';
import type { TokenBuckets } from './rate-limit.ts';
import { readBody } from './request-body.ts';
import { clientAddress, JSON_TYPE } from './send.ts';
import type { PublicRoute } from './server.ts';
import { strictTransport } from './strict-transport.ts';

/** The routes of the listener of the card form (browser.md 3). It faces the internet, so it serves nothing else. */

interface CardFormParts {
  readonly sessions: CaptureSessions;
  readonly transactions: Transactions;
  readonly time: TrustedTime;
  readonly files: CardFormFiles;
  /** The origin of the listener, as browsers write it. */
  origin(): string;
  /** Submissions, wrong secrets and unknown ids of an address; undefined: no limit. */
  readonly buckets: TokenBuckets | undefined;
}

const SCRIPT_TYPE = 'text/javascript; charset=utf-8';
const HTML_TYPE = 'text/html; charset=utf-8';
const FOREVER = 'public, max-age=31536000, immutable';
const PRESENT_SECONDS = 300;

/**
 * Browser features that the form does not need: all that browsers have, without the hints of clients (`ch-…`), which go to this
 * listener alone. `autofill` is the only one that it needs.
 */
const OFF = `
  accelerometer aria-notify autoplay bluetooth browsing-topics camera
  captured-surface-control clipboard-read clipboard-write compute-pressure cross-origin-isolated deferred-fetch
  deferred-fetch-minimal digital-credentials-create digital-credentials-get display-capture encrypted-media fullscreen
  gamepad geolocation gyroscope hid identity-credentials-get idle-detection interest-cohort keyboard-map
  language-detector language-model local-fonts local-network local-network-access loopback-network magnetometer
  media-playback-while-not-visible microphone midi on-device-speech-recognition otp-credentials payment
  picture-in-picture private-state-token-issuance private-state-token-redemption publickey-credentials-create
  publickey-credentials-get screen-wake-lock serial speaker-selection storage-access summarizer sync-xhr translator
  unload usb web-share window-management xr-spatial-tracking
`;
const PERMISSIONS_POLICY = [
  ...OFF.trim()
    .split(/\s+/)
    .map((name) => `${name}=()`),
  'autofill=(self)',
].join(', ');

const SCRIPT_HEADERS = {
  'content-type': SCRIPT_TYPE,
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  vary: 'accept-encoding',
};

const JSON_HEADERS = { 'content-type': JSON_TYPE, 'cross-origin-resource-policy': 'same-origin' };

const FORM_HEADERS = {
  'content-type': HTML_TYPE,
  'cross-origin-resource-policy': 'cross-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-opener-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'permissions-policy': PERMISSIONS_POLICY,
  vary: 'accept-encoding',
};

/** Headers of every response of the listener. Subdomains never belong to the form, whatever holds for the other listeners. */
export function cardFormHeaders(origin: () => string): () => Readonly<Record<string, string>> {
  const local = { 'referrer-policy': 'no-referrer', 'cross-origin-resource-policy': 'same-origin' };
  const strict = { ...local, 'strict-transport-security': strictTransport('pages') };
  return () => (/^https:\/\/localhost(?::|$)/.test(origin()) ? local : strict);
}

export function cardFormRoutes(parts: CardFormParts): PublicRoute[] {
  const { files } = parts;
  const documents = createDocuments(files);
  const scripts = [...files.scripts].map(([name]) =>
    get(`/v1/${name}`, async (request, reply) => sendScript(files, name, FOREVER, request, reply)),
  );
  return [
    get('/v1/cardvault.js', async (request, reply) =>
      sendScript(files, files.present, `public, max-age=${PRESENT_SECONDS}`, request, reply),
    ),
    get('/v1/integrity.json', async (_request, reply) =>
      sendJson(reply, { url: `/v1/${files.present}`, integrity: files.integrity }),
    ),
    ...scripts,
    get('/v1/card/:id', (request, reply) => sendForm(parts, documents, request, reply)),
    get('/v1/card/:id/session', (request, reply) => sendSession(parts, request, reply)),
    post('/v1/card/:id', (request, reply) => submit(parts, request, reply)),
    post('/v1/card/:id/cancel', (request, reply) => cancel(parts, request, reply)),
  ];
}

type Handle = PublicRoute['handle'];

const get = (path: string, handle: Handle): PublicRoute => ({ method: 'GET', path, family: 'vault', handle });

const post = (path: string, handle: Handle): PublicRoute => ({
  ...{ method: 'POST', path, family: 'vault', handle },
  readsBody: true,
});

function sendScript(
  { scripts }: CardFormFiles,
  name: string,
  caching: string,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const file = scripts.get(name);
  if (file === undefined) throw new Failure('unknown_path');
  return sendBest(file, request, reply.headers(SCRIPT_HEADERS).header('cache-control', caching));
}

function sendBest(file: CardFormFile, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { body, encoding } = chooseForm(file, headers['accept-encoding']);
  if (encoding !== undefined) reply.header('content-encoding', encoding);
  return reply.send(body);
}

const sendJson = (reply: FastifyReply, value: unknown, status = 200): FastifyReply =>
  reply.code(status).headers(JSON_HEADERS).send(JSON.stringify(value));

const idOf = ({ params }: FastifyRequest): string => (params as { readonly id: string }).id;

/** The document holds nothing of the session but its origins, and opening it changes nothing. */
async function sendForm(
  parts: CardFormParts,
  documents: ReturnType<typeof createDocuments>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { sessions, files } = parts;
  const origins = await sessions.findOrigins(idOf(request));
  if (origins === undefined) {
    take(parts, request);
    reply.code(404);
  }
  reply.headers(FORM_HEADERS).header('content-security-policy', policyOf(files, origins ?? []));
  return sendBest(documents(origins), request, reply);
}

const policyOf = ({ scriptHash, styleHash }: CardFormFiles, origins: readonly string[]): string =>
  [
    "default-src 'none'",
    `script-src ${scriptHash}`,
    `style-src ${styleHash}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${origins.length === 0 ? "'none'" : origins.join(' ')}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');

/**
 * The calls with a secret come from the form itself. A POST without the listener's own `Origin`, and any call from elsewhere, is
 * refused; programs other than browsers send neither header, and read with the secret only.
 */
function assertOwnOrigin({ headers, method }: FastifyRequest, origin: string): void {
  const { origin: given } = headers;
  const site = headers['sec-fetch-site'];
  const isForeign = given === undefined ? method === 'POST' : given !== origin;
  if (isForeign || (site !== undefined && site !== 'same-origin')) throw new Failure('access_denied');
}

const secretOf = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer ([A-Za-z0-9_-]{1,128})$/.exec(headers.authorization ?? '')?.[1];

function take({ buckets }: CardFormParts, request: FastifyRequest): void {
  if (buckets?.take(subscriberNetwork(clientAddress(request))).allowed === false) throw new Failure('rate_limited');
}

/** Counts wrong secrets and unknown ids, and responds 404 to the latter. */
function refuse(parts: CardFormParts, request: FastifyRequest, error: unknown, isCounted: boolean): never {
  if (!(error instanceof Failure) || (error.code !== 'unknown_session' && error.code !== 'session_secret')) throw error;
  if (!isCounted) take(parts, request);
  throw error.code === 'unknown_session' ? new Failure('unknown_path') : error;
}

async function sendSession(parts: CardFormParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  assertOwnOrigin(request, parts.origin());
  const view = await parts.sessions
    .authorize(idOf(request), secretOf(request))
    .catch((error: unknown) => refuse(parts, request, error, false));
  return sendJson(reply, await formatForForm(parts, view));
}

async function formatForForm({ sessions, time }: CardFormParts, { session, status }: SessionView) {
  const { settings, tenant, expiresAt } = session;
  const returnUrl = settings.returnUrl;
  if (status !== 'open') return { status, ...(returnUrl !== undefined && { return_url: returnUrl }) };
  const account = await sessions.getAccount(tenant);
  return {
    status,
    environment: tenant.environment,
    seconds_left: Math.max(0, Math.floor((expiresAt - time.latestNow()) / SECOND)),
    fields: settings.fields,
    accepted_brands: settings.acceptedBrands,
    locale: settings.locale,
    appearance: settings.appearance,
    account_name: account.name,
    description: settings.description,
    return_url: returnUrl,
  };
}

/** Runs a use case of the buyer, whose address is in its audit records. */
const asBuyer = <T>(
  { transactions }: CardFormParts,
  request: FastifyRequest,
  fill: (transaction: Transaction) => Promise<T>,
): Promise<T> => {
  const origin = { actor: { type: 'buyer' as const }, address: clientAddress(request), requestId: request.id };
  return transactions.run({ origin }, fill);
};

async function submit(parts: CardFormParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  assertOwnOrigin(request, parts.origin());
  take(parts, request);
  const body = await readSubmission(request);
  try {
    const parse = (): Submission => parseSubmission(request, body);
    const outcome = await asBuyer(parts, request, (transaction) =>
      parts.sessions.submit(transaction, idOf(request), secretOf(request), parse),
    ).catch((error: unknown) => refuse(parts, request, error, true));
    return sendOutcome(reply, outcome);
  } finally {
    // It holds a card number.
    body?.fill(0);
  }
}

/** Returns undefined when the body is too large, which is refused after a wrong secret. */
const readSubmission = ({ raw }: FastifyRequest): Promise<Buffer | undefined> =>
  new Promise((resolve, reject) => {
    readBody(raw, LIMITS.submissionBytes, (error, body) => {
      if (error === undefined) resolve(body);
      else if (error instanceof Failure && error.code === 'body_too_large') resolve(undefined);
      else reject(error);
    });
  });

function sendOutcome(reply: FastifyReply, outcome: SubmissionOutcome): FastifyReply {
  if (outcome.kind === 'completed') return sendJson(reply, { status: 'completed', ...outcome.result });
  if (outcome.kind === 'ended') return sendJson(reply, { status: outcome.status }, 410);
  return sendJson(reply, { status: outcome.status, errors: outcome.errors }, 400);
}

const MEMBERS = ['number', 'exp', 'name', 'cvv', 'attempt'] as const;

/** Members that are absent are empty; texts are judged by the session, everything else is 400 and not counted. */
function parseSubmission({ headers }: FastifyRequest, body: Buffer | undefined): Submission {
  if (!/^application\/json(?:\s*;|$)/i.test(headers['content-type'] ?? '') || headers['content-encoding'] !== undefined)
    throw new Failure('unsupported_media_type');
  if (body === undefined) throw new Failure('body_too_large');
  const value = parseObject(body);
  const texts = Object.fromEntries(
    MEMBERS.map((name) => {
      const member = Object.hasOwn(value, name) ? value[name] : '';
      if (typeof member !== 'string') throw invalidField(name, 'expectedString');
      return [name, member];
    }),
  ) as unknown as Submission;
  if (!isUuid(texts.attempt)) throw invalidField('attempt', 'expectedUuid');
  return texts;
}

function parseObject(body: Buffer): { [key: string]: Json } {
  let value: Json;
  try {
    value = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new Failure('malformed_json');
  }
  if (!isJsonObject(value)) throw new Failure('malformed_json');
  return value;
}

/** The way back of the hosted page. */
async function cancel(parts: CardFormParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  assertOwnOrigin(request, parts.origin());
  const status = await asBuyer(parts, request, (transaction) =>
    parts.sessions.cancelByBuyer(transaction, idOf(request), secretOf(request)),
  ).catch((error: unknown) => refuse(parts, request, error, false));
  return sendJson(reply, { status }, status === 'cancelled' ? 200 : 410);
}
