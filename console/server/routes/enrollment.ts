import { formatIso8601 } from '../../../src/kernel/clock.ts';
import type { Json } from '../../../src/kernel/json.ts';
import type { CompletedEnrollment } from '../../people/complete-enrollment.ts';
import {
  acceptInvitation,
  beginPasskeyEnrollment,
  enroll,
  enrollByPasskey,
  enrollByTotp,
  showInvitation,
} from '../../wire/session.ts';
import { type ConsoleServices, type PublicCall, publicRoute, type Route, route } from '../route.ts';
import { assertSession, loadSessionView, startSession } from './session.ts';

const DEFAULT_LANGUAGE = 'en';
const DEFAULT_LABEL = 'Passkey';

export const enrollmentRoutes: readonly Route[] = [
  publicRoute(showInvitation, async ({ services, body }) => {
    const { kind, account, role, email, isKnown, expiresAt } = await services.people.enrollment.showInvitation(
      body.invitation,
    );
    return {
      kind: kind === 'reset' ? 'reset' : 'invite',
      account_name: account === '' ? null : await findAuthenticName(services, account),
      role: role ?? null,
      email: email ?? null,
      is_known: isKnown,
      expires_at: formatIso8601(expiresAt),
    };
  }),

  publicRoute(enroll, async ({ services, body, client, setSessionCookie }) => {
    const { invitation, name, email, password, language = DEFAULT_LANGUAGE } = body;
    const identity = { ...(name !== undefined && { name }), ...(email !== undefined && { email }) };
    const { enrollment } = services.people;
    const issued = await enrollment.begin({ secret: invitation, ...identity, language, password }, client);
    setSessionCookie(issued);
    return { totp: enrollment.totp(issued.session), csrf_token: issued.session.csrf };
  }),

  publicRoute(enrollByTotp, async (visit) => {
    const { services, client, body } = visit;
    return toCompletedView(
      visit,
      await services.people.enrollment.confirmTotp(assertSession(visit), body.code, client),
    );
  }),

  publicRoute(beginPasskeyEnrollment, async (visit) => {
    const { services, relyingParty } = visit;
    const options = await services.people.enrollment.passkeyOptions(assertSession(visit), relyingParty);
    return { options: options as unknown as Json };
  }),

  publicRoute(enrollByPasskey, async (visit) => {
    const { services, client, body, relyingParty } = visit;
    const registration = { response: body.credential, label: body.label ?? DEFAULT_LABEL };
    const { enrollment } = services.people;
    return toCompletedView(
      visit,
      await enrollment.confirmPasskey(assertSession(visit), registration, relyingParty, client),
    );
  }),

  route(acceptInvitation, async (call) => {
    const { services, session, client, body } = call;
    await services.people.enrollment.accept(session, body.invitation, client);
    return loadSessionView(call, session);
  }),
];

async function toCompletedView(visit: PublicCall<unknown, unknown>, completed: CompletedEnrollment) {
  return { recovery_codes: completed.recoveryCodes, session: await startSession(visit, completed) };
}

/** Not for an account that was altered in the database: the page would show a name that an attacker chose. */
async function findAuthenticName({ accounts }: ConsoleServices, id: string): Promise<string | null> {
  const account = await accounts.find(id);
  return account === undefined || account.isTampered ? null : account.name;
}
