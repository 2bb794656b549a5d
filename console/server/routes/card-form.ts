import { type Appearance, findAppearanceFault } from '../../../src/capture-sessions/appearance.ts';
import type { ListedView } from '../../../src/capture-sessions/capture-sessions.ts';
import { isReturnUrl, toHostedUrl } from '../../../src/capture-sessions/session-urls.ts';
import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { Failure, invalidField } from '../../../src/kernel/failure.ts';
import { LIMITS } from '../../../src/kernel/limits.ts';
import { cancelSession, listSessions, tryCardForm } from '../../wire/card-form.ts';
import { type Route, route } from '../route.ts';

const TRIAL = { minutes: 10, amount: 12_500, currency: 'USD', ttlMinutes: 5, additionalInfo: '{}' } as const;

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
    const { minutes, ...capture } = TRIAL;
    // Never production: card data of cardholders must not be typed by users of the console.
    const tenant = { account, environment: 'sandbox' } as const;
    const settings = {
      ...{ allowedOrigins: [], returnUrl, locale, appearance, description: undefined, acceptedBrands: undefined },
      goal: { result: 'capture', ...capture } as const,
      fields: { name: 'required', cvv: 'required' } as const,
      creator: { id: person.id, name: person.name },
    };
    const { session, secret } = await captureSessions.create(transaction, tenant, settings, minutes);
    return { url: toHostedUrl(cardForm.origin(), session.id, secret) };
  }),
];

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
