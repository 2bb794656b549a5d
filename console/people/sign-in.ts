import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { Failure } from '../../src/kernel/failure.ts';
import type { JournalEntry, Write } from '../../src/storage/database.ts';
import { attempt, attemptInSession, findPresent, refuse, type TrialMeans } from './attempt.ts';
import { signedClaims } from './credential.ts';
import { factorsOf } from './factor-store.ts';
import { type Membership, membershipsOf } from './membership-store.ts';
import { newRequestOptions, requestOptions } from './passkey.ts';
import { newChallenge, readChallenge } from './passkey-challenge.ts';
import type { HashSource, Passwords } from './passwords.ts';
import { eventInEach } from './people-events.ts';
import type { Person } from './person.ts';
import { findPerson, findPersonByEmail, updatePerson } from './person-store.ts';
import { judge, type Offered, offeredBy, type Proof, passkeysOf } from './proof.ts';
import { isSignedIn, mustBeAt, type Session } from './session.ts';
import { deleteOldest, deleteSession, endSession, updateSession } from './session-store.ts';
import { type Grant, keepNotes, newSession, steppedUpSession } from './sessions.ts';
import { consumeChallenge, isBrowserKnown, recordSignIn, type SignInState } from './sign-in-state.ts';
import { findSignInState } from './sign-in-state-store.ts';
import { browserOf, originOf, type RelyingParty, sourceOf, unknownOrigin, type Visitor } from './visitor.ts';

/** A finished sign-in. */
interface Entry {
  readonly writes: readonly Write[];
  readonly journal: readonly JournalEntry[];
  readonly value: Grant;
  readonly state: SignInState;
}

/**
 * Signing in: the password, then a second factor; or a passkey alone, which is two factors by itself, because it verifies
 * its user. Whatever is wrong, the answer is `sign_in_refused`.
 */
export class SignIn {
  readonly #means: TrialMeans;
  readonly #passwords: Passwords;

  constructor(means: TrialMeans & { readonly passwords: Passwords }) {
    this.#means = means;
    this.#passwords = means.passwords;
  }

  /** Throws `sign_in_refused`, and `unavailable` when too many passwords are being hashed. */
  async givePassword(given: { email: string; password: string }, visitor: Visitor): Promise<Grant> {
    const { database, keyring, time } = this.#means;
    const found = await findPersonByEmail(database, keyring, given.email);
    // The same is read for an unknown user, so that the time tells nothing.
    const id = found?.id ?? '';
    const state = await findSignInState(database, keyring, id);
    const source = await sourceOf(keyring, id, visitor);
    const isKnown = state !== undefined && isBrowserKnown(state, source, time.steadyNow());
    const queue: HashSource = isKnown ? `browser ${source.browser}` : `network ${source.network}`;
    const reading = membershipsOf(database, keyring, id);
    let [right, memberships] = await Promise.all([
      this.#passwords.isRight(given.password, found?.password, queue),
      reading,
    ]);
    const origin = unknownOrigin(visitor);
    if (found === undefined) return refuse(this.#means, { origin, memberships }, 'person_unknown');
    let judged = found.revision;
    const known = { person: found, memberships, state };
    return attempt(this.#means, { person: id, origin, source, shows: 'password', known }, async (person) => {
      if (person.revision !== judged) right = await this.#passwords.isRight(given.password, person.password, queue);
      judged = person.revision;
      if (!right) return { refusal: 'password_wrong' };
      const { write, ...grant } = await newSession(this.#means, {
        person: person.id,
        stage: 'password-given',
        visitor,
      });
      const rehashed = await this.#rehashed(person, given.password, queue);
      return { writes: [...rehashed, write, deleteOldest(grant.session)], journal: [], value: grant };
    });
  }

  /** The second factors that the person has. */
  async offered({ person }: Session): Promise<Offered> {
    return offeredBy(await factorsOf(this.#means.database, this.#means.keyring, person));
  }

  /** What the browser needs to use a passkey. Throws `not_possible` when the person has none. */
  async challenge(session: Session, relyingParty: RelyingParty): Promise<PublicKeyCredentialRequestOptionsJSON> {
    if (session.stage === 'joining') throw new Failure('not_signed_in');
    if (session.stage === 'replaced') throw new Failure('changed_meanwhile');
    const { database, keyring, random } = this.#means;
    const passkeys = passkeysOf(await factorsOf(database, keyring, session.person));
    if (passkeys.length === 0) throw new Failure('not_possible', { message: 'You have no passkey.' });
    const options = await newRequestOptions(random, relyingParty, passkeys);
    await keepNotes(this.#means, session, { challenge: options.challenge });
    return options;
  }

  /** The end of a sign-in. Throws `sign_in_refused`. */
  async giveFactor(session: Session, proof: Proof, visitor: Visitor): Promise<Grant> {
    mustBeAt('password-given', session);
    const { database, keyring, clock } = this.#means;
    const source = await sourceOf(keyring, session.person, visitor);
    const shows = proof.kind === 'passkey' ? 'passkey' : 'code';
    const trial = { person: session.person, origin: unknownOrigin(visitor), source, shows } as const;
    return attempt(this.#means, trial, async (person, memberships, state) => {
      const present = await findPresent(this.#means, session);
      if (present === undefined) throw new Failure('not_signed_in');
      const { challenge } = present.notes;
      const factors = await factorsOf(database, keyring, person.id);
      const verdict = await judge(proof, { keyring, factors, challenge, now: clock() });
      if ('refusal' in verdict) return { ...verdict, writes: await this.#withoutChallenge(present, proof) };
      const entry = await this.#enter({ person, memberships, state }, visitor, proof.kind);
      return { ...entry, writes: [verdict.use, deleteSession(present), ...entry.writes] };
    });
  }

  /** Returns what a browser needs to sign in with a passkey that it finds by itself; nothing is stored for it. */
  async passkeyChallenge(relyingParty: RelyingParty): Promise<PublicKeyCredentialRequestOptionsJSON> {
    return requestOptions(await newChallenge(this.#means), relyingParty, []);
  }

  /** Signs in with a passkey alone. No lock refuses it, because it cannot be guessed. Throws `sign_in_refused`. */
  async givePasskey(response: unknown, relyingParty: RelyingParty, visitor: Visitor): Promise<Grant> {
    const { database, keyring, clock, time } = this.#means;
    const { user, challenge } = signedClaims(response);
    const asked = await readChallenge(this.#means, challenge);
    const source = await sourceOf(keyring, user, visitor);
    const trial = { person: user, origin: unknownOrigin(visitor), source, shows: 'passkey' } as const;
    return attempt(this.#means, trial, async (person, memberships, before) => {
      if (asked === undefined) return { refusal: 'passkey_wrong' };
      const state = consumeChallenge(before, asked, time.steadyNow());
      if (state === undefined) return { refusal: 'code_used' };
      const factors = await factorsOf(database, keyring, person.id);
      const proof = { kind: 'passkey', response, relyingParty } as const;
      const verdict = await judge(proof, { keyring, factors, challenge, now: clock() });
      if ('refusal' in verdict) return verdict;
      const entry = await this.#enter({ person, memberships, state }, visitor, 'passkey-alone');
      return { ...entry, writes: [verdict.use, ...entry.writes] };
    });
  }

  /**
   * Shows once more who is signed in; good for some minutes, and only with the secret that the session has from then on.
   * Throws `sign_in_refused`, and `changed_meanwhile` when the secret was replaced at the same moment.
   */
  async stepUp(session: Session, proof: Proof, visitor: Visitor): Promise<Grant> {
    mustBeAt('signed-in', session);
    const { database, keyring, clock } = this.#means;
    const known = await findPerson(database, keyring, session.person);
    const origin = known === undefined ? unknownOrigin(visitor) : originOf(known, visitor);
    const isCounted = proof.kind !== 'passkey';
    return attemptInSession(this.#means, { session, origin, isCounted }, async (person, present, memberships) => {
      const factors = await factorsOf(database, keyring, person.id);
      const { challenge } = present.notes;
      const verdict = await judge(proof, { keyring, factors, challenge, now: clock() });
      if ('refusal' in verdict) return verdict;
      const { writes, ...grant } = await steppedUpSession(this.#means, present);
      const about = { person: person.id, targets: [`session:${session.id}`], detail: { factor: proof.kind } };
      const journal = eventInEach(clock, origin, 'person.stepped-up', memberships, about);
      return { writes: [verdict.use, ...writes], journal, value: grant };
    });
  }

  async signOut(session: Session, visitor: Visitor): Promise<void> {
    const { database, keyring, clock } = this.#means;
    const person = await findPerson(database, keyring, session.person);
    const isKnown = person !== undefined && isSignedIn(session);
    const about = { person: session.person, targets: [`session:${session.id}`] };
    const memberships = isKnown ? await membershipsOf(database, keyring, person.id) : [];
    const journal = isKnown
      ? eventInEach(clock, originOf(person, visitor), 'person.signed-out', memberships, about)
      : [];
    // Who is not there any more need not be told that they have left.
    await database.commit({ writes: endSession(session), journal });
  }

  /** A session that is signed in, and a browser and network that are known from then on. */
  async #enter(
    who: { readonly person: Person; readonly memberships: readonly Membership[]; readonly state: SignInState },
    visitor: Visitor,
    factor: string,
  ): Promise<Entry> {
    const { keyring, clock, time, random } = this.#means;
    const { person, memberships } = who;
    const browser = browserOf(random, visitor);
    const source = await sourceOf(keyring, person.id, { ...visitor, browser });
    const { write, ...grant } = await newSession(this.#means, { person: person.id, stage: 'signed-in', visitor });
    const about = { person: person.id, targets: [`session:${grant.session.id}`], detail: { factor } };
    return {
      writes: [write, deleteOldest(grant.session)],
      journal: eventInEach(clock, originOf(person, visitor), 'person.signed-in', memberships, about),
      value: { ...grant, browser },
      state: recordSignIn(who.state, source, time.steadyNow(), time.latestNow()),
    };
  }

  /** A challenge is good for one try. */
  async #withoutChallenge(session: Session, { kind }: Proof): Promise<Write[]> {
    if (kind !== 'passkey' || session.notes.challenge === undefined) return [];
    return [(await updateSession(this.#means.keyring, session, { challenge: undefined })).write];
  }

  /** Replaces a hash that was made with other parameters than today's. */
  async #rehashed(person: Person, password: string, queue: HashSource): Promise<Write[]> {
    if (!this.#passwords.isOutdated(person.password)) return [];
    const changes = { password: await this.#passwords.hash(password, queue) };
    return [(await updatePerson(this.#means.keyring, person, changes)).write];
  }
}
