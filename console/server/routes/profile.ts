import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { notPossible } from '../../../src/kernel/failure.ts';
import type { Json } from '../../../src/kernel/json.ts';
import { queuePersonMail } from '../../alerts/person-mail-store.ts';
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
import { buildNotice } from '../notices.ts';
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
    if (profile.email !== before.email) await notify(call, 'email-changed');
    return toView(call, profile);
  }),

  route(sendEmailCode, async (call) => {
    if (!call.services.serviceInfo.sendsMails) throw notPossible('mailsUnavailable');
    const code = await call.services.people.emailConfirmation.begin(call.transaction, call.session);
    const mail = { kind: 'email-code', ...code } as const;
    call.transaction.write(await queuePersonMail(call.services, call.person.id, mail, call.transaction.now));
    return { done: true };
  }),

  route(confirmEmail, async ({ services: { people }, transaction, session, body }) => {
    await people.emailConfirmation.confirm(transaction, session, body.code);
    return { done: true };
  }),

  route(changePassword, async ({ services, session, origin, body, now }) => {
    const passwords = { current: body.current, next: body.password };
    await services.people.people.changePassword(session, passwords, origin, (person) =>
      buildNotice(services, person, 'password-changed', now),
    );
    return { done: true };
  }),

  route(beginTotp, async ({ services: { people }, transaction, session }) => ({
    totp: await people.factorManagement.beginTotp(transaction, session),
  })),

  route(addTotp, async (call) => {
    const { services, transaction, session, body } = call;
    await services.people.factorManagement.confirmTotp(transaction, session, body.code);
    await notify(call, 'factors-changed');
    return { done: true };
  }),

  route(beginPasskey, async ({ services: { people }, transaction, session, relyingParty }) => {
    const options = await people.factorManagement.passkeyOptions(transaction, session, relyingParty);
    return { options: options as unknown as Json };
  }),

  route(addPasskey, async (call) => {
    const { services, transaction, session, relyingParty, body } = call;
    const registration = { response: body.credential, label: body.label };
    await services.people.factorManagement.confirmPasskey(transaction, session, registration, relyingParty);
    await notify(call, 'factors-changed');
    return { done: true };
  }),

  route(renamePasskey, async ({ services: { people }, transaction, session, params, body }) => {
    await people.factorManagement.rename(transaction, session, params['id'] ?? '', body.label);
    return { done: true };
  }),

  route(removeFactor, async (call) => {
    const { services, transaction, session, params } = call;
    await services.people.factorManagement.remove(transaction, session, params['id'] ?? '');
    await notify(call, 'factors-changed');
    return { done: true };
  }),

  route(createRecoveryCodes, async (call) => {
    const { services, transaction, session } = call;
    const codes = await services.people.factorManagement.newRecoveryCodes(transaction, session);
    await notify(call, 'factors-changed');
    return { recovery_codes: codes };
  }),

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

/** Queues a notice to the address that the user had before this call. */
async function notify(call: AnyCall, kind: Parameters<typeof buildNotice>[2]): Promise<void> {
  const { services, transaction, person } = call;
  for (const write of await buildNotice(services, person, kind, transaction.now)) transaction.write(write);
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
