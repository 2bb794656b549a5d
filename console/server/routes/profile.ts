import { iso8601, timeOrNull } from '../../../src/kernel/clock.ts';
import type { Json } from '../../../src/kernel/json.ts';
import type { FactorView } from '../../people/own-factors.ts';
import type { Session } from '../../people/session.ts';
import {
  addPasskey,
  addTotp,
  beginPasskey,
  beginTotp,
  changeEmail,
  changePassword,
  editProfile,
  endOtherSessions,
  endSession,
  makeRecoveryCodes,
  removeFactor,
  renamePasskey,
  showProfile,
} from '../../wire/profile.ts';
import { type Route, route } from '../route.ts';
import { sessionView } from './session.ts';

export const profileRoutes: readonly Route[] = [
  route(showProfile, async ({ services: { people }, session, person }) => {
    const { factors, recoveryCodes } = await people.ownFactors.list(person.id);
    const sessions = await people.sessions.list(person.id);
    const others = sessions.filter(({ id }) => id !== session.id);
    return {
      factors: factors.map(factorView),
      recovery_codes_left: recoveryCodes,
      sessions: [placeView(session, true), ...others.map((each) => placeView(each, false))],
    };
  }),

  route(editProfile, async (call) => {
    const { name, language } = call.body;
    const changes = { ...(name !== undefined && { name }), ...(language !== undefined && { language }) };
    await call.services.people.people.edit(call.session, changes, call.visitor);
    return sessionView(call, call.session);
  }),

  route(changeEmail, async (call) => {
    await call.services.people.people.changeEmail(call.session, call.body.email, call.visitor);
    return sessionView(call, call.session);
  }),

  route(changePassword, async ({ services: { people }, session, visitor, body }) => {
    await people.people.changePassword(session, { current: body.current, next: body.password }, visitor);
    return { done: true };
  }),

  route(beginTotp, async ({ services: { people }, session }) => ({ totp: await people.ownFactors.beginTotp(session) })),

  route(addTotp, async ({ services: { people }, session, visitor, body }) => {
    await people.ownFactors.confirmTotp(session, body.code, visitor);
    return { done: true };
  }),

  route(beginPasskey, async ({ services: { people }, session, relyingParty }) => {
    const options = await people.ownFactors.passkeyOptions(session, relyingParty);
    return { options: options as unknown as Json };
  }),

  route(addPasskey, async ({ services: { people }, session, visitor, relyingParty, body }) => {
    const made = { response: body.credential, label: body.label };
    await people.ownFactors.confirmPasskey(session, made, relyingParty, visitor);
    return { done: true };
  }),

  route(renamePasskey, async ({ services: { people }, session, visitor, params, body }) => {
    await people.ownFactors.rename(session, params['id'] ?? '', body.label, visitor);
    return { done: true };
  }),

  route(removeFactor, async ({ services: { people }, session, visitor, params }) => {
    await people.ownFactors.remove(session, params['id'] ?? '', visitor);
    return { done: true };
  }),

  route(makeRecoveryCodes, async ({ services: { people }, session, visitor }) => ({
    recovery_codes: await people.ownFactors.newRecoveryCodes(session, visitor),
  })),

  route(endSession, async ({ services: { people }, session, visitor, params, forget }) => {
    await people.sessions.revoke(session, params['id'] ?? '', visitor);
    if (params['id'] === session.id) forget();
    return { done: true };
  }),

  route(endOtherSessions, async ({ services: { people }, session, visitor }) => {
    await people.sessions.revokeOthers(session, visitor);
    return { done: true };
  }),
];

const factorView = ({ id, kind, label, createdAt, lastUsedAt }: FactorView) => ({
  id,
  kind,
  label,
  created_at: iso8601(createdAt),
  last_used_at: timeOrNull(lastUsedAt),
});

const placeView = ({ id, address, userAgent, createdAt, seenAt }: Session, isCurrent: boolean) => ({
  id,
  is_current: isCurrent,
  address,
  agent: userAgent,
  created_at: iso8601(createdAt),
  seen_at: iso8601(seenAt),
});
