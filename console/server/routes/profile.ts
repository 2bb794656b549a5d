import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import type { Json } from '../../../src/kernel/json.ts';
import type { FactorView } from '../../people/factor-management.ts';
import type { Session } from '../../people/session.ts';
import {
  addPasskey,
  addTotp,
  beginPasskey,
  beginTotp,
  changeEmail,
  changePassword,
  createRecoveryCodes,
  editProfile,
  removeFactor,
  renamePasskey,
  revokeOtherSessions,
  revokeSession,
  showProfile,
} from '../../wire/profile.ts';
import { type Route, route } from '../route.ts';
import { loadSessionView } from './session.ts';

export const profileRoutes: readonly Route[] = [
  route(showProfile, async ({ services: { people }, session, person }) => {
    const { factors, recoveryCodes } = await people.factorManagement.list(person.id);
    const sessions = await people.sessions.list(person.id);
    const others = sessions.filter(({ id }) => id !== session.id);
    return {
      factors: factors.map(toFactorView),
      recovery_codes_left: recoveryCodes,
      sessions: [toSessionView(session, true), ...others.map((each) => toSessionView(each, false))],
    };
  }),

  route(editProfile, async (call) => {
    const { name, language } = call.body;
    const changes = { ...(name !== undefined && { name }), ...(language !== undefined && { language }) };
    await call.services.people.people.edit(call.session, changes, call.client);
    return loadSessionView(call, call.session);
  }),

  route(changeEmail, async (call) => {
    await call.services.people.people.changeEmail(call.session, call.body.email, call.client);
    return loadSessionView(call, call.session);
  }),

  route(changePassword, async ({ services: { people }, session, client, body }) => {
    await people.people.changePassword(session, { current: body.current, next: body.password }, client);
    return { done: true };
  }),

  route(beginTotp, async ({ services: { people }, session }) => ({
    totp: await people.factorManagement.beginTotp(session),
  })),

  route(addTotp, async ({ services: { people }, session, client, body }) => {
    await people.factorManagement.confirmTotp(session, body.code, client);
    return { done: true };
  }),

  route(beginPasskey, async ({ services: { people }, session, relyingParty }) => {
    const options = await people.factorManagement.passkeyOptions(session, relyingParty);
    return { options: options as unknown as Json };
  }),

  route(addPasskey, async ({ services: { people }, session, client, relyingParty, body }) => {
    const registration = { response: body.credential, label: body.label };
    await people.factorManagement.confirmPasskey(session, registration, relyingParty, client);
    return { done: true };
  }),

  route(renamePasskey, async ({ services: { people }, session, client, params, body }) => {
    await people.factorManagement.rename(session, params['id'] ?? '', body.label, client);
    return { done: true };
  }),

  route(removeFactor, async ({ services: { people }, session, client, params }) => {
    await people.factorManagement.remove(session, params['id'] ?? '', client);
    return { done: true };
  }),

  route(createRecoveryCodes, async ({ services: { people }, session, client }) => ({
    recovery_codes: await people.factorManagement.newRecoveryCodes(session, client),
  })),

  route(revokeSession, async ({ services: { people }, session, client, params, clearSessionCookie }) => {
    await people.sessions.revoke(session, params['id'] ?? '', client);
    if (params['id'] === session.id) clearSessionCookie();
    return { done: true };
  }),

  route(revokeOtherSessions, async ({ services: { people }, session, client }) => {
    await people.sessions.revokeOthers(session, client);
    return { done: true };
  }),
];

const toFactorView = ({ id, kind, label, createdAt, lastUsedAt }: FactorView) => ({
  id,
  kind,
  label,
  created_at: formatIso8601(createdAt),
  last_used_at: formatIso8601OrNull(lastUsedAt),
});

const toSessionView = ({ id, address, userAgent, createdAt, lastActiveAt }: Session, isCurrent: boolean) => ({
  id,
  is_current: isCurrent,
  address,
  agent: userAgent,
  created_at: formatIso8601(createdAt),
  seen_at: formatIso8601(lastActiveAt),
});
