import { keyProgress } from '../../../src/accounts/key-store.ts';
import { iso8601, SECOND, timeOrNull } from '../../../src/kernel/clock.ts';
import { ENVIRONMENTS } from '../../../src/kernel/environment.ts';
import { Failure } from '../../../src/kernel/failure.ts';
import type { Json } from '../../../src/kernel/json.ts';
import type { Membership } from '../../people/membership-store.ts';
import type { Profile } from '../../people/people.ts';
import type { Offered, Proof } from '../../people/proof.ts';
import { OPERATOR, ROLES } from '../../people/roles.ts';
import { IDLE_MS, isSignedIn, type Session, type Stage, steppedUpUntil } from '../../people/session.ts';
import type { Grant } from '../../people/sessions.ts';
import {
  beginPasskeyAlone,
  beginPasskeySignIn,
  beginPasskeyStepUp,
  showSession,
  signIn,
  signInByCode,
  signInByPasskey,
  signInByPasskeyAlone,
  signOut,
  stepUpByCode,
  stepUpByPasskey,
} from '../../wire/session.ts';
import { shownStatus } from '../onboarding.ts';
import { type ConsoleServices, type Route, route, type Visit, visitRoute } from '../route.ts';

type AnyVisit = Visit<unknown, unknown>;

export const sessionRoutes: readonly Route[] = [
  visitRoute(showSession, async (visit) => {
    const { services, session } = visit;
    const { about } = services;
    return {
      stage: shownStage(session),
      methods: session === undefined || session.stage === 'joining' ? [] : await methodsOf(services, session),
      csrf_token: session?.csrf ?? null,
      session: session !== undefined && isSignedIn(session) ? await sessionView(visit, session) : null,
      environments: ENVIRONMENTS.map((name) => ({ name, url: about.urlOf(name) })),
      authority: about.authority() ?? null,
      version: about.version,
    };
  }),

  visitRoute(signIn, async ({ services, body, visitor, follow }) => {
    const grant = await services.people.signIn.givePassword(body, visitor);
    follow(grant);
    return { methods: await methodsOf(services, grant.session), csrf_token: grant.session.csrf };
  }),

  visitRoute(signInByCode, (visit) => signedIn(visit, proofOf(visit.body.code))),

  visitRoute(beginPasskeySignIn, async (visit) => challenge(visit)),

  visitRoute(signInByPasskey, (visit) => signedIn(visit, passkeyProof(visit, visit.body.credential))),

  visitRoute(beginPasskeyAlone, async ({ services, relyingParty }) => {
    const options = await services.people.signIn.passkeyChallenge(relyingParty);
    return { options: options as unknown as Json };
  }),

  visitRoute(signInByPasskeyAlone, async (visit) => {
    const { services, relyingParty, visitor, body } = visit;
    return enter(visit, await services.people.signIn.givePasskey(body.credential, relyingParty, visitor));
  }),

  visitRoute(signOut, async ({ services, session, visitor, forget }) => {
    if (session !== undefined) await services.people.signIn.signOut(session, visitor);
    forget();
    return { done: true };
  }),

  route(stepUpByCode, (call) => steppedUp(call, proofOf(call.body.code))),

  route(beginPasskeyStepUp, async (call) => challenge(call)),

  route(stepUpByPasskey, (call) => steppedUp(call, passkeyProof(call, call.body.credential))),
];

/** Codes of apps are digits alone, recovery codes never. */
const proofOf = (code: string): Proof => ({
  kind: /^[0-9\s]+$/.test(code) ? 'totp' : 'recovery-code',
  code,
});

const passkeyProof = ({ relyingParty }: AnyVisit, response: unknown): Proof => ({
  kind: 'passkey',
  response,
  relyingParty,
});

async function signedIn(visit: AnyVisit, proof: Proof) {
  const { services, visitor } = visit;
  const grant = await services.people.signIn.giveFactor(mustBeThere(visit), proof, visitor);
  return enter(visit, grant);
}

async function steppedUp(visit: AnyVisit, proof: Proof) {
  const { services, visitor } = visit;
  return enter(visit, await services.people.signIn.stepUp(mustBeThere(visit), proof, visitor));
}

/** Nobody need know of the seconds in which an old secret is still good. */
const shownStage = (session: Session | undefined): Exclude<Stage, 'replaced'> | 'nobody' =>
  session === undefined ? 'nobody' : session.stage === 'replaced' ? 'signed-in' : session.stage;

async function challenge(visit: AnyVisit) {
  const { services, relyingParty } = visit;
  const options = await services.people.signIn.challenge(mustBeThere(visit), relyingParty);
  return { options: options as unknown as Json };
}

async function methodsOf({ people }: ConsoleServices, session: Session) {
  const { totp, passkeys, recoveryCodes }: Offered = await people.signIn.offered(session);
  return [
    ...(totp ? (['totp'] as const) : []),
    ...(passkeys > 0 ? (['passkey'] as const) : []),
    ...(recoveryCodes > 0 ? (['recovery'] as const) : []),
  ];
}

/** The session of a visit at a stage that needs one. */
export function mustBeThere({ session }: AnyVisit): Session {
  if (session === undefined) throw new Failure('not_signed_in');
  return session;
}

/** The browser goes on with the secret of a new stage; returns what it is told of the session. */
export function enter(visit: AnyVisit, grant: Grant) {
  visit.follow(grant);
  return sessionView(visit, grant.session);
}

/** Of somebody who is signed in: who they are, and what they may do where. */
export async function sessionView({ services, now }: AnyVisit, session: Session) {
  const { people, team } = services.people;
  const person = await people.profile(session.person);
  if (person === undefined) throw new Failure('not_signed_in');
  const memberships = await team.membershipsOf(person.id);
  return {
    person: personView(person),
    is_operator: memberships.some(({ account }) => account === OPERATOR.account),
    memberships: await membershipViews(services, memberships),
    csrf_token: session.csrf,
    idle_seconds: IDLE_MS / SECOND,
    ends_at: iso8601(session.endsAt),
    stepped_up_until: timeOrNull(steppedUpUntil(session, now)),
  };
}

const personView = ({ id, name, email, language }: Profile) => ({ id, name, email, language });

async function membershipViews({ accounts, database }: ConsoleServices, memberships: readonly Membership[]) {
  const views = memberships.map(async ({ account: id, role }) => {
    const account = id === OPERATOR.account ? undefined : await accounts.find(id);
    if (account === undefined) return [];
    const { name, dualControl } = account;
    const status = shownStatus(account, (await keyProgress(database, id)).get('production')?.isUsed === true);
    return [{ account: id, name, status, role, capabilities: ROLES[role], production_by_two: dualControl }];
  });
  return (await Promise.all(views)).flat();
}
