import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { notPossible } from '../../../src/kernel/failure.ts';
import type { Json } from '../../../src/kernel/json.ts';
import { type PersonMail, queuePersonMail } from '../../alerts/person-mail-store.ts';
import type { FactorView } from '../../people/factor-management.ts';
import type { Profile } from '../../people/people.ts';
import type { Session } from '../../people/session.ts';
import {
  addPasskey,
  addTotp,
  beginPasskey,
  beginTotp,
  changeEmail,
  changePassword,
  confirmEmail,
  createRecoveryCodes,
  editProfile,
  removeFactor,
  renamePasskey,
  revokeOtherSessions,
  revokeSession,
  sendEmailCode,
  showProfile,
} from '../../wire/profile.ts';
import { type AnyCall, type Route, route } from '../route.ts';
import { toSessionView } from './session.ts';

export const profileRoutes: readonly Route[] = [
  route(showProfile, async ({ services: { people }, session, person }) => {
    const { factors, recoveryCodes } = await people.factorManagement.list(person.id);
    const sessions = await people.sessions.list(person.id);
    const others = sessions.filter(({ id }) => id !== session.id);
    return {
      factors: factors.map(toFactorView),
      recovery_codes_left: recoveryCodes,
      sessions: [toListedSession(session, true), ...others.map((each) => toListedSession(each, false))],
    };
  }),

  route(editProfile, async (call) => {
    const { name, language, time_zone: timeZone } = call.body;
    const changes = {
      ...(name !== undefined && { name }),
      ...(language !== undefined && { language }),
      ...(timeZone !== undefined && { timeZone }),
    };
    return toView(call, await call.services.people.people.edit(call.transaction, call.session, changes));
  }),

  route(changeEmail, async (call) => {
    const { services, transaction, session, person: before } = call;
    const profile = await services.people.people.changeEmail(transaction, session, call.body.email);
    // An address that was never confirmed may be another user's.
    if (profile.email !== before.email && before.isEmailUnconfirmed !== true) await queueMail(call, 'email-changed');
    return toView(call, profile);
  }),

  route(sendEmailCode, async (call) => {
    if (!call.services.serviceInfo.sendsMails) throw notPossible('mailsUnavailable');
    const code = await call.services.people.emailConfirmation.begin(call.transaction, call.session);
    await queueMail(call, 'email-code', code);
    return { done: true };
  }),

  route(confirmEmail, async ({ services: { people }, transaction, session, body }) => {
    await people.emailConfirmation.confirm(transaction, session, body.code);
    return { done: true };
  }),

  route(changePassword, async ({ services: { people }, session, origin, body }) => {
    await people.people.changePassword(session, { current: body.current, next: body.password }, origin);
    return { done: true };
  }),

  route(beginTotp, async ({ services: { people }, transaction, session }) => ({
    totp: await people.factorManagement.beginTotp(transaction, session),
  })),

  route(addTotp, async ({ services: { people }, transaction, session, body }) => {
    await people.factorManagement.confirmTotp(transaction, session, body.code);
    return { done: true };
  }),

  route(beginPasskey, async ({ services: { people }, transaction, session, relyingParty }) => {
    const options = await people.factorManagement.passkeyOptions(transaction, session, relyingParty);
    return { options: options as unknown as Json };
  }),

  route(addPasskey, async ({ services: { people }, transaction, session, relyingParty, body }) => {
    const registration = { response: body.credential, label: body.label };
    await people.factorManagement.confirmPasskey(transaction, session, registration, relyingParty);
    return { done: true };
  }),

  route(renamePasskey, async ({ services: { people }, transaction, session, params, body }) => {
    await people.factorManagement.rename(transaction, session, params['id'] ?? '', body.label);
    return { done: true };
  }),

  route(removeFactor, async ({ services: { people }, transaction, session, params }) => {
    await people.factorManagement.remove(transaction, session, params['id'] ?? '');
    return { done: true };
  }),

  route(createRecoveryCodes, async ({ services: { people }, transaction, session }) => ({
    recovery_codes: await people.factorManagement.newRecoveryCodes(transaction, session),
  })),

  route(revokeSession, async ({ services: { people }, transaction, session, params, clearSessionCookie }) => {
    await people.sessions.revoke(transaction, session, params['id'] ?? '');
    if (params['id'] === session.id) clearSessionCookie();
    return { done: true };
  }),

  route(revokeOtherSessions, async ({ services: { people }, transaction, session }) => {
    await people.sessions.revokeOthers(transaction, session);
    return { done: true };
  }),
];

/** Queues a mail to the address that the user had before this call, where a server is configured. */
async function queueMail(call: AnyCall, kind: PersonMail['kind'], code?: string): Promise<void> {
  const { services, transaction, person } = call;
  if (!services.serviceInfo.sendsMails) return;
  const mail = { kind, to: person.email, language: person.language, ...(code !== undefined && { code }) };
  transaction.write(await queuePersonMail(services, person.id, mail, transaction.now));
}

/** Returns the session of the call with the changed profile. */
const toView = async (call: AnyCall, profile: Profile) =>
  toSessionView(call, call.session, profile, await call.services.people.team.listMembershipsOf(profile.id));

const toFactorView = ({ id, kind, label, createdAt, lastUsedAt }: FactorView) => ({
  id,
  kind,
  label,
  created_at: formatIso8601(createdAt),
  last_used_at: formatIso8601OrNull(lastUsedAt),
});

const toListedSession = ({ id, address, userAgent, createdAt, lastActiveAt }: Session, isCurrent: boolean) => ({
  id,
  is_current: isCurrent,
  address,
  agent: userAgent,
  created_at: formatIso8601(createdAt),
  last_active_at: formatIso8601(lastActiveAt),
});
