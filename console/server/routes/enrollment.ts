import { formatIso8601 } from '../../../src/kernel/clock.ts';
import type { Json } from '../../../src/kernel/json.ts';
import type { CompletedEnrollment } from '../../people/complete-enrollment.ts';
import type { Membership } from '../../people/membership-store.ts';
import {
  acceptInvitation,
  beginPasskeyEnrollment,
  enroll,
  enrollByPasskey,
  enrollByTotp,
  showInvitation,
} from '../../wire/session.ts';
import { buildNotice } from '../notices.ts';
import { type PublicCall, publicRoute, type Route, route } from '../route.ts';
import { assertSession, toSessionView } from './session.ts';

const DEFAULT_LANGUAGE = 'en';
const DEFAULT_LABEL = 'Passkey';

export const enrollmentRoutes: readonly Route[] = [
  publicRoute(showInvitation, async ({ services, body }) => {
    const { kind, account, role, email, isKnown, expiresAt } = await services.people.enrollment.showInvitation(
      body.invitation,
    );
    return {
      kind: kind === 'reset' ? 'reset' : 'invite',
      account_name: account === '' ? null : ((await services.accounts.findAuthenticName(account)) ?? null),
      role: role ?? null,
      email: email ?? null,
      is_known: isKnown,
      expires_at: formatIso8601(expiresAt),
    };
  }),

  publicRoute(enroll, async ({ services, transaction, body, client, setSessionCookie }) => {
    const { invitation, name, email, password, language = DEFAULT_LANGUAGE } = body;
    const identity = { ...(name !== undefined && { name }), ...(email !== undefined && { email }) };
    const { enrollment } = services.people;
    const issued = await enrollment.begin(transaction, { secret: invitation, ...identity, language, password }, client);
    setSessionCookie(issued);
    return { totp: enrollment.totp(issued.session), csrf_token: issued.session.csrf };
  }),

  publicRoute(enrollByTotp, async (call) => {
    const { services, transaction, client, body } = call;
    const { enrollment } = services.people;
    return complete(call, await enrollment.confirmTotp(transaction, assertSession(call), body.code, client));
  }),

  publicRoute(beginPasskeyEnrollment, async (call) => {
    const { services, transaction, relyingParty } = call;
    const options = await services.people.enrollment.passkeyOptions(transaction, assertSession(call), relyingParty);
    return { options: options as unknown as Json };
  }),

  publicRoute(enrollByPasskey, async (call) => {
    const { services, transaction, client, body, relyingParty } = call;
    const registration = { response: body.credential, label: body.label ?? DEFAULT_LABEL };
    const { enrollment } = services.people;
    return complete(
      call,
      await enrollment.confirmPasskey(transaction, assertSession(call), registration, relyingParty, client),
    );
  }),

  route(acceptInvitation, async (call) => {
    const { services, transaction, session, person, body } = call;
    const { enrollment, team } = services.people;
    const before = await team.listMembershipsOf(person.id);
    const added = await enrollment.accept(transaction, session, body.invitation);
    return toSessionView(call, session, person, withMembership(before, added));
  }),
];

/** Returns the memberships with a new one, in the order in which the service lists them. */
export const withMembership = (before: readonly Membership[], added: Membership): readonly Membership[] =>
  [...before, added].sort((one, other) => (one.account < other.account ? -1 : 1));

async function complete(call: PublicCall<unknown, unknown>, completed: CompletedEnrollment) {
  const { session, person, memberships } = completed;
  call.setSessionCookie(completed);
  const { services, transaction } = call;
  if (completed.isReset)
    for (const write of await buildNotice(services, person, 'sign-in-reset', transaction.now)) transaction.write(write);
  return {
    recovery_codes: completed.recoveryCodes,
    session: await toSessionView(call, session, person, memberships),
  };
}
