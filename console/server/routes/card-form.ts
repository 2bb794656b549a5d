import { type Appearance, findAppearanceFault } from '../../../src/capture-sessions/appearance.ts';
import type { ListedView } from '../../../src/capture-sessions/capture-sessions.ts';
import type { SessionSettings } from '../../../src/capture-sessions/session.ts';
import { isAllowedOrigin, isReturnUrl, toHostedUrl } from '../../../src/capture-sessions/session-urls.ts';
import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { Failure, invalidField } from '../../../src/kernel/failure.ts';
import { LIMITS } from '../../../src/kernel/limits.ts';
import type { Profile } from '../../people/people.ts';
import { cancelSession, listSessions, previewCardForm, tryCardForm } from '../../wire/card-form.ts';
import { type Route, route } from '../route.ts';

const TRIAL = { minutes: 10, previewMinutes: 60 } as const;
const TRIAL_CAPTURE = { amount: 12_500, currency: 'USD', ttlMinutes: 5, additionalInfo: '{}' } as const;

export const cardFormRoutes: readonly Route[] = [
  route(listSessions, async ({ services, tenant, query }) => {
    const { captureSessions, cardForm } = services;
    const page = await captureSessions.list(tenant, query.cursor);
    return {
      origin: cardForm.isServed() ? cardForm.origin() : null,
      sessions: page.items.map(toView),
      next: page.cursor ?? null,
    };
  }),

  route(cancelSession, async ({ services, transaction, tenant, params }) => {
    await services.captureSessions.cancel(transaction, tenant, params['id'] ?? '');
    return { done: true };
  }),

  route(tryCardForm, async ({ services, transaction, account, person, body }) => {
    const { captureSessions, cardForm } = services;
    const { return_url: returnUrl, locale } = body;
    const appearance = body.appearance as Appearance;
    if (!isReturnUrl(returnUrl, 'sandbox'))
      throw invalidField('return_url', 'sessionReturnUrl', { max: LIMITS.sessionReturnUrlCharacters });
    const fault = findAppearanceFault(appearance);
    if (fault !== undefined) throw invalidField(fault, 'sessionAppearance');
    if (!cardForm.isServed()) throw new Failure('unavailable');
    const { minutes } = TRIAL;
    const settings = trialOf(person, { allowedOrigins: [], returnUrl, locale, appearance });
    const { session, secret } = await captureSessions.create(transaction, sandboxOf(account), settings, minutes);
    return { url: toHostedUrl(cardForm.origin(), session.id, secret) };
  }),

  route(previewCardForm, async ({ services, transaction, account, person, relyingParty }) => {
    const { captureSessions, cardForm } = services;
    if (!cardForm.isServed()) throw new Failure('unavailable');
    // The origin by which the browser reached the console: no call can name another one.
    const { origin } = relyingParty;
    if (!isAllowedOrigin(origin, 'sandbox') || origin === cardForm.origin()) return { preview: null };
    const { previewMinutes } = TRIAL;
    const shown = { allowedOrigins: [origin], returnUrl: undefined, locale: undefined, appearance: {} };
    const settings = trialOf(person, shown);
    const { session, secret } = await captureSessions.create(transaction, sandboxOf(account), settings, previewMinutes);
    return { preview: { id: session.id, client_secret: secret } };
  }),
];

/** Never production: card data of cardholders must not be typed by users of the console. */
const sandboxOf = (account: string) => ({ account, environment: 'sandbox' }) as const;

/** The settings of a session whose card becomes a capture that nothing is paid with. */
const trialOf = (
  { id, name }: Pick<Profile, 'id' | 'name'>,
  shown: Pick<SessionSettings, 'allowedOrigins' | 'returnUrl' | 'locale' | 'appearance'>,
): SessionSettings => ({
  ...shown,
  ...{ description: undefined, acceptedBrands: undefined },
  goal: { result: 'capture', ...TRIAL_CAPTURE },
  fields: { name: 'required', cvv: 'required' },
  creator: { id, name },
});

function toView({ id, createdAt, session, view }: ListedView) {
  const result = view?.status === 'completed' ? session?.result : undefined;
  return {
    id,
    state: view?.status ?? ('altered' as const),
    goal: session?.settings.goal.result ?? null,
    description: session?.settings.description ?? null,
    capture: result !== undefined && 'capture' in result.result ? result.result.capture.id : null,
    token: result !== undefined && 'token' in result.result ? result.result.token.token : null,
    card: result?.card.card ?? null,
    attempts: session?.attempts ?? 0,
    created_at: formatIso8601(createdAt),
    expires_at: formatIso8601OrNull(session?.expiresAt),
    ended_at: formatIso8601OrNull(view?.endedAt),
  };
}
