import { listKeyProgress } from '../../../src/accounts/api-key-store.ts';
import { formatIso8601, formatIso8601OrNull, SECOND } from '../../../src/kernel/clock.ts';
import { ENVIRONMENTS } from '../../../src/kernel/environment.ts';
import { Failure } from '../../../src/kernel/failure.ts';
import type { Json } from '../../../src/kernel/json.ts';
import type { Membership } from '../../people/membership-store.ts';
import type { Notify, Profile } from '../../people/people.ts';
import type { AvailableFactors, Proof } from '../../people/proof.ts';
import { OPERATOR, ROLES } from '../../people/roles.ts';
import { IDLE_MS, isSignedIn, type Session, type SessionStage, steppedUpUntil } from '../../people/session.ts';
import type { IssuedSession } from '../../people/sessions.ts';
import {
  beginPasskeyOnly,
  beginPasskeySignIn,
  beginPasskeyStepUp,
  showSession,
  signIn,
  signInByCode,
  signInByPasskey,
  signInByPasskeyOnly,
  signOut,
  stepUpByCode,
  stepUpByPasskey,
} from '../../wire/session.ts';
import { isUsedInProduction } from '../account-figures-store.ts';
import { buildNotice } from '../notices.ts';
import { effectiveStatus } from '../onboarding.ts';
import { type AnyCall, type ConsoleServices, type PublicCall, publicRoute, type Route, route } from '../route.ts';

type AnyPublicCall = PublicCall<unknown, unknown>;

export const sessionRoutes: readonly Route[] = [
  publicRoute(showSession, async (call) => {
    const { services, session } = call;
    const { serviceInfo } = services;
    return {
      stage: toStageView(session),
      methods: session === undefined || session.stage === 'enrolling' ? [] : await listMethods(services, session),
      csrf_token: session?.csrf ?? null,
      session: session !== undefined && isSignedIn(session) ? await loadSessionView(call, session) : null,
      environments: ENVIRONMENTS.map((name) => ({ name, url: serviceInfo.apiUrl(name) })),
      authority: serviceInfo.caCertificate() ?? null,
      version: serviceInfo.version,
    };
  }),

  publicRoute(signIn, async ({ services, body, client, setSessionCookie }) => {
    const issued = await services.people.signIn.submitPassword(body, client);
    setSessionCookie(issued);
    return { methods: await listMethods(services, issued.session), csrf_token: issued.session.csrf };
  }),

  publicRoute(signInByCode, (call) => completeSignIn(call, toProof(call.body.code))),

  publicRoute(beginPasskeySignIn, async (call) => createChallenge(call)),

  publicRoute(signInByPasskey, (call) => completeSignIn(call, toPasskeyProof(call, call.body.credential))),

  publicRoute(beginPasskeyOnly, async ({ services, relyingParty }) => {
    const options = await services.people.signIn.createPasskeyChallenge(relyingParty);
    return { options: options as unknown as Json };
  }),

  publicRoute(signInByPasskeyOnly, async (call) => {
    const { services, relyingParty, client, body } = call;
    const { signIn: signingIn } = services.people;
    return startSession(
      call,
      await signingIn.submitPasskey(body.credential, relyingParty, client, tellOfBrowser(call)),
    );
  }),

  publicRoute(signOut, async ({ services, transaction, session, client, clearSessionCookie }) => {
    if (session !== undefined) await services.people.signIn.signOut(transaction, session, client);
    clearSessionCookie();
    return { done: true };
  }),

  route(stepUpByCode, (call) => completeStepUp(call, toProof(call.body.code))),

  route(beginPasskeyStepUp, async (call) => createChallenge(call)),

  route(stepUpByPasskey, (call) => completeStepUp(call, toPasskeyProof(call, call.body.credential))),
];

/** Codes of apps are digits alone, recovery codes never. */
const toProof = (code: string): Proof => ({
  kind: /^[0-9\s]+$/.test(code) ? 'totp' : 'recovery-code',
  code,
});

const toPasskeyProof = ({ relyingParty }: AnyPublicCall, response: unknown): Proof => ({
  kind: 'passkey',
  response,
  relyingParty,
});

async function completeSignIn(call: AnyPublicCall, proof: Proof) {
  const { services, client } = call;
  const issued = await services.people.signIn.submitFactor(assertSession(call), proof, client, tellOfBrowser(call));
  return startSession(call, issued);
}

/** A sign-in with a browser that the user has not used before may be an attacker's. */
const tellOfBrowser =
  ({ services, now }: AnyPublicCall): Notify =>
  (person) =>
    buildNotice(services, person, 'new-browser', now);

async function completeStepUp(call: AnyCall, proof: Proof) {
  const { services, session, origin } = call;
  return startSession(call, await services.people.signIn.stepUp(session, proof, origin));
}

/** Returns the stage for the browser, which does not know the stage `replaced`. */
const toStageView = (session: Session | undefined): Exclude<SessionStage, 'replaced'> | 'signed-out' =>
  session === undefined ? 'signed-out' : session.stage === 'replaced' ? 'signed-in' : session.stage;

async function createChallenge(call: AnyPublicCall) {
  const { services, transaction, relyingParty } = call;
  const options = await services.people.signIn.createChallenge(transaction, assertSession(call), relyingParty);
  return { options: options as unknown as Json };
}

async function listMethods({ people }: ConsoleServices, session: Session) {
  const { totp, passkeys, recoveryCodes }: AvailableFactors = await people.signIn.availableFactors(session);
  return [
    ...(totp ? (['totp'] as const) : []),
    ...(passkeys > 0 ? (['passkey'] as const) : []),
    ...(recoveryCodes > 0 ? (['recovery'] as const) : []),
  ];
}

/** Returns the session of a call at a stage that needs one. */
export function assertSession({ session }: AnyPublicCall): Session {
  if (session === undefined) throw new Failure('not_signed_in');
  return session;
}

/** Sets the cookie to the secret of a new stage; returns the session's data for the browser. */
function startSession(call: AnyPublicCall, issued: IssuedSession) {
  call.setSessionCookie(issued);
  return loadSessionView(call, issued.session);
}

/** Returns the user of a session with memberships and capabilities, as they are stored. */
async function loadSessionView(call: AnyPublicCall, session: Session) {
  const { people, team } = call.services.people;
  const person = await people.findProfile(session.person);
  if (person === undefined) throw new Failure('not_signed_in');
  return toSessionView(call, session, person, await team.listMembershipsOf(person.id));
}

/** Returns the user of a session as the transaction of the call makes them. */
export async function toSessionView(
  { services, now }: AnyPublicCall,
  session: Session,
  person: Profile,
  memberships: readonly Membership[],
) {
  return {
    person: toPersonView(person),
    is_operator: memberships.some(({ account }) => account === OPERATOR.account),
    memberships: await listMembershipViews(services, memberships),
    csrf_token: session.csrf,
    idle_seconds: IDLE_MS / SECOND,
    expires_at: formatIso8601(session.expiresAt),
    stepped_up_until: formatIso8601OrNull(steppedUpUntil(session, now)),
  };
}

const toPersonView = ({ id, name, email, language, timeZone }: Profile) => ({
  id,
  name,
  email,
  language,
  time_zone: timeZone,
});

async function listMembershipViews({ accounts, database }: ConsoleServices, memberships: readonly Membership[]) {
  const views = memberships.map(async ({ account: id, role }) => {
    const account = id === OPERATOR.account ? undefined : await accounts.find(id);
    if (account === undefined) return [];
    const { name, dualControl } = account;
    const isUsed = await isUsedInProduction(database, id, await listKeyProgress(database, id));
    const status = effectiveStatus(account, isUsed);
    return [{ account: id, name, status, role, capabilities: ROLES[role], dual_control: dualControl }];
  });
  return (await Promise.all(views)).flat();
}
