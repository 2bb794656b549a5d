import { iso8601 } from '../../../src/kernel/clock.ts';
import type { Json } from '../../../src/kernel/json.ts';
import type { Joined } from '../../people/admission.ts';
import {
  acceptInvitation,
  beginPasskeyJoining,
  join,
  joinByPasskey,
  joinByTotp,
  lookAtInvitation,
} from '../../wire/session.ts';
import { type ConsoleServices, type Route, route, type Visit, visitRoute } from '../route.ts';
import { enter, mustBeThere, sessionView } from './session.ts';

const DEFAULT_LANGUAGE = 'en';
const DEFAULT_LABEL = 'Passkey';

export const joiningRoutes: readonly Route[] = [
  visitRoute(lookAtInvitation, async ({ services, body }) => {
    const { kind, account, role, email, known, expiresAt } = await services.people.joining.look(body.invitation);
    return {
      kind: kind === 'reset' ? 'reset' : 'invite',
      account_name: account === '' ? null : await certainName(services, account),
      role: role ?? null,
      email: email ?? null,
      is_known: known,
      expires_at: iso8601(expiresAt),
    };
  }),

  visitRoute(join, async ({ services, body, visitor, follow }) => {
    const { invitation, name, email, password, language = DEFAULT_LANGUAGE } = body;
    const own = { ...(name !== undefined && { name }), ...(email !== undefined && { email }) };
    const { joining } = services.people;
    const grant = await joining.begin({ secret: invitation, ...own, language, password }, visitor);
    follow(grant);
    return { totp: joining.totp(grant.session), csrf_token: grant.session.csrf };
  }),

  visitRoute(joinByTotp, async (visit) => {
    const { services, visitor, body } = visit;
    return joinedView(visit, await services.people.joining.confirmTotp(mustBeThere(visit), body.code, visitor));
  }),

  visitRoute(beginPasskeyJoining, async (visit) => {
    const { services, relyingParty } = visit;
    const options = await services.people.joining.passkeyOptions(mustBeThere(visit), relyingParty);
    return { options: options as unknown as Json };
  }),

  visitRoute(joinByPasskey, async (visit) => {
    const { services, visitor, body, relyingParty } = visit;
    const made = { response: body.credential, label: body.label ?? DEFAULT_LABEL };
    const { joining } = services.people;
    return joinedView(visit, await joining.confirmPasskey(mustBeThere(visit), made, relyingParty, visitor));
  }),

  route(acceptInvitation, async (call) => {
    const { services, session, visitor, body } = call;
    await services.people.joining.accept(session, body.invitation, visitor);
    return sessionView(call, session);
  }),
];

async function joinedView(visit: Visit<unknown, unknown>, joined: Joined) {
  return { recovery_codes: joined.recoveryCodes, session: await enter(visit, joined) };
}

/** Not of an account that was altered in the database: the page would show a name that an attacker chose. */
async function certainName({ accounts }: ConsoleServices, id: string): Promise<string | null> {
  const account = await accounts.find(id);
  return account === undefined || account.isTampered ? null : account.name;
}
