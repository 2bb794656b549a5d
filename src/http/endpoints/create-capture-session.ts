import { type Appearance, findAppearanceFault } from '../../capture-sessions/appearance.ts';
import type { SessionGoal, SessionSettings } from '../../capture-sessions/session.ts';
import { LOCALES } from '../../capture-sessions/session.ts';
import { isAllowedOrigin, isReturnUrl, toHostedUrl } from '../../capture-sessions/session-urls.ts';
import { BRANDS } from '../../kernel/card-brand.ts';
import type { Presence } from '../../kernel/card-entry.ts';
import { formatIso8601 } from '../../kernel/clock.ts';
import { assertDisplayable } from '../../kernel/displayable.ts';
import { Failure, notPossible } from '../../kernel/failure.ts';
import { LIMITS } from '../../kernel/limits.ts';
import { explain } from '../../kernel/reasons.ts';
import { currency } from '../card-fields.ts';
import { type ApiCall, defineEndpoint } from '../endpoint.ts';
import {
  anyJson,
  anyObject,
  anyString,
  anyText,
  bool,
  exactly,
  FieldMismatch,
  integer,
  list,
  object,
  oneOf,
  optional,
  output,
  plainText,
  type ValueOf,
} from '../fields.ts';
import { toAdditionalInfo } from './create-capture.ts';
import { scheme, toTokenFormat } from './token-record.ts';

const PRESENCES = ['required', 'optional', 'hidden'] as const;
const DEFAULT_MINUTES = 30;

const body = object({
  allowed_origins: optional(
    list(
      anyString('An origin'),
      { min: 1, max: LIMITS.sessionOriginEntries },
      `Pages that may frame the card form: 1 to ${LIMITS.sessionOrigins} different ones`,
    ),
  ),
  return_url: optional(anyString('Where the hosted page sends the buyer back')),
  description: optional(plainText(LIMITS.sessionDescriptionCharacters, 'What the buyer pays for')),
  expires_in: optional(
    integer({ min: 1, max: LIMITS.sessionMinutes }, 'Minutes until the session expires; default 30'),
  ),
  result: optional(oneOf(['capture', 'token'], 'What the card becomes; default capture')),
  amount: optional(integer({ min: 0, max: LIMITS.amount }, 'With capture: the amount')),
  currency: optional(currency),
  additional_info: optional(anyObject('With capture: any further fields')),
  ttl: optional(
    integer({ min: 1, max: LIMITS.captureTtlMinutes }, 'With capture: minutes from completion until it ends'),
  ),
  scheme: optional(scheme),
  type: optional(exactly('persistent', 'With token: give the same token for the same card number')),
  isEightDigitsBin: optional(bool('With token: keep the first 8 digits')),
  tags: optional(list(anyText(LIMITS.tagCharacters, 'A tag'), { min: 0, max: LIMITS.tags }, 'With token: its tags')),
  fields: optional(
    object({
      name: optional(oneOf(PRESENCES, 'Cardholder name; default required')),
      cvv: optional(oneOf(PRESENCES, 'Security code; default required, with token hidden')),
    }),
  ),
  accepted_brands: optional(
    list(oneOf(BRANDS, 'A brand'), { min: 1, max: BRANDS.length }, 'Accepted brands; absent: all, also unknown ones'),
  ),
  locale: optional(oneOf(LOCALES, "Language of the form; absent: the browser's, else en")),
  appearance: optional(anyJson('Theme, layout, labels and variables of the form')),
});

type Body = ValueOf<typeof body>;

const CAPTURE_MEMBERS = ['amount', 'currency', 'additional_info', 'ttl'] as const;
const TOKEN_MEMBERS = ['scheme', 'type', 'isEightDigitsBin', 'tags'] as const;

const required = (path: string): FieldMismatch => new FieldMismatch(explain('required'), path);

/** Members of the other result are refused. */
function toGoal(call: ApiCall<Body>): SessionGoal {
  const { body, key } = call;
  const isToken = body.result === 'token';
  const foreign = (isToken ? CAPTURE_MEMBERS : TOKEN_MEMBERS).find((name) => body[name] !== undefined);
  if (foreign !== undefined) throw new FieldMismatch(explain('sessionMember'), foreign);
  if (isToken) {
    if (body.scheme === undefined) throw required('scheme');
    const request = { ...body, scheme: body.scheme, tags: body.tags ?? [] };
    const { format, persistent, tags } = toTokenFormat(request, key);
    return { result: 'token', format, persistent, tags };
  }
  const { amount, currency, ttl } = body;
  if (amount === undefined) throw required('amount');
  if (currency === undefined) throw required('currency');
  if (ttl === undefined) throw required('ttl');
  const info = body.additional_info === undefined ? {} : toAdditionalInfo(call.text, body.additional_info);
  return { result: 'capture', amount, currency, additionalInfo: JSON.stringify(info), ttlMinutes: ttl };
}

function toOrigins({ body, tenant, services }: ApiCall<Body>): string[] {
  const { allowed_origins: origins = [] } = body;
  if (origins.length === 0 && body.return_url === undefined)
    throw new FieldMismatch(explain('sessionOriginsNeeded'), 'allowed_origins');
  origins.forEach((origin, index) => {
    const path = `allowed_origins[${index}]`;
    if (!isAllowedOrigin(origin, tenant.environment)) throw new FieldMismatch(explain('sessionOrigin'), path);
    if (origin === services.cardForm.origin()) throw new FieldMismatch(explain('sessionOwnOrigin'), path);
  });
  const different = [...new Set(origins)];
  if (different.length > LIMITS.sessionOrigins)
    throw new FieldMismatch(explain('entries', { min: 1, max: LIMITS.sessionOrigins }), 'allowed_origins');
  return different;
}

function toFields({ fields = {}, result }: Body): { name: Presence; cvv: Presence } {
  if (result !== 'token') return { name: fields.name ?? 'required', cvv: fields.cvv ?? 'required' };
  if (fields.cvv !== undefined && fields.cvv !== 'hidden')
    throw new FieldMismatch(explain('sessionCvvHidden'), 'fields.cvv');
  return { name: fields.name ?? 'required', cvv: 'hidden' };
}

function toAppearance({ appearance }: Body): Appearance | undefined {
  if (appearance === undefined) return undefined;
  const fault = findAppearanceFault(appearance);
  if (fault !== undefined) throw new FieldMismatch(explain('sessionAppearance'), fault);
  return appearance as Appearance;
}

function toDescription({ description }: Body): string | undefined {
  if (description === undefined) return undefined;
  assertDisplayable(description, 'description');
  return description;
}

function toSettings(call: ApiCall<Body>): SessionSettings {
  const { body, tenant, key } = call;
  const { return_url: returnUrl } = body;
  if (returnUrl !== undefined && !isReturnUrl(returnUrl, tenant.environment))
    throw new FieldMismatch(explain('sessionReturnUrl', { max: LIMITS.sessionReturnUrlCharacters }), 'return_url');
  return {
    allowedOrigins: toOrigins(call),
    returnUrl,
    description: toDescription(body),
    goal: toGoal(call),
    fields: toFields(body),
    acceptedBrands: body.accepted_brands && [...new Set(body.accepted_brands)],
    locale: body.locale,
    appearance: toAppearance(body),
    creator: { id: key.id, name: key.name },
  };
}

/** POST /v1/capture-sessions (browser.md 2). */
export const createCaptureSession = defineEndpoint({
  method: 'POST',
  path: '/v1/capture-sessions',
  family: 'vault',
  tag: 'Card form',
  operationId: 'createCaptureSession',
  permission: 'captures:create',
  summary: 'Create a session of the card form',
  description:
    'A session takes one card that the buyer enters into the form of the vault, and makes a capture or a token of it. The result token needs the permission tokens:create too. client_secret is shown once.',
  body,
  data: object({
    id: output.text('Id of the session'),
    client_secret: output.text('For the form in the browser; shown only here'),
    url: optional(output.text('Address of the hosted page; with return_url')),
    status: output.oneOf(['open'], 'open'),
    expires_at: output.time('When it expires'),
    environment: output.oneOf(['production', 'sandbox'], 'Where the calling key works'),
  }),
  failures: ['not_possible'],
  example: {
    body: {
      allowed_origins: ['https://shop.example.com'],
      amount: 12500,
      currency: 'USD',
      additional_info: { order: 'A-1001' },
      ttl: 15,
    },
    data: {
      id: 'cs_4m8x2p7k1qd9s3v6c0t5b2n8',
      client_secret: 'q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k',
      status: 'open',
      expires_at: '2026-01-15T11:00:00.000Z',
      environment: 'sandbox',
    },
  },
  async run(call) {
    const { services, transaction, tenant, body, key } = call;
    const settings = toSettings(call);
    if (settings.goal.result === 'token' && !key.permissions.includes('tokens:create')) {
      transaction.recordAlways({ action: 'access.denied', outcome: 'permission_missing', ...tenant });
      throw new Failure('access_denied');
    }
    if (!services.cardForm.isServed()) throw new Failure('unavailable');
    if (tenant.environment === 'production' && !services.cardForm.isOriginConfigured)
      throw notPossible('sessionOriginSetting');
    const minutes = body.expires_in ?? DEFAULT_MINUTES;
    const { session, secret } = await services.captureSessions.create(transaction, tenant, settings, minutes);
    return {
      id: session.id,
      client_secret: secret,
      ...(settings.returnUrl !== undefined && { url: toHostedUrl(services.cardForm.origin(), session.id, secret) }),
      status: 'open' as const,
      expires_at: formatIso8601(session.expiresAt),
      environment: tenant.environment,
    };
  },
});
