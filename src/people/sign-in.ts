import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { Failure } from '../kernel/failure.ts';
import type { JournalEntry, Write } from '../storage/database.ts';
import { attempt, type Judgement, refuse, type Trial, type TrialMeans } from './attempt.ts';
import { factorsOf } from './factor-store.ts';
import { type Membership, membershipsOf } from './membership-store.ts';
import { requestOptions } from './passkey.ts';
import type { Passwords } from './passwords.ts';
import { eventInEach } from './people-events.ts';
import { NO_FAILURES, type Person } from './person.ts';
import { findPerson, findPersonByEmail, putAttempts, updatePerson } from './person-store.ts';
import { judge, type Offered, offeredBy, type Proof, passkeysOf } from './proof.ts';
import { hasEnded, isSignedIn, mustBeAt, type Session } from './session.ts';
import { deleteOldest, deleteSession, endSession, findSession, updateSession } from './session-store.ts';
import { type Grant, keepNotes, newSession, steppedUpSession } from './sessions.ts';
import { originOf, type RelyingParty, unknownOrigin, type Visitor } from './visitor.ts';

/** What a right proof allows. */
interface Allowed<T> {
  readonly writes: readonly Write[];
  readonly journal: readonly JournalEntry[];
  readonly value: T;
}

/** Signing in: the password, then a second factor. Whatever is wrong, the answer is `sign_in_refused`. */
export class SignIn {
  readonly #means: TrialMeans;
  readonly #passwords: Passwords;

  constructor(means: TrialMeans & { readonly passwords: Passwords }) {
    this.#means = means;
    this.#passwords = means.passwords;
  }

  /** Throws `sign_in_refused`, and `unavailable` when too many passwords are being hashed. */
  async givePassword(given: { email: string; password: string }, visitor: Visitor): Promise<Grant> {
    const { database, keyring } = this.#means;
    const found = await findPersonByEmail(database, keyring, given.email);
    // Meanwhile, so that the time tells nothing of them.
    const reading = found === undefined ? [] : membershipsOf(database, keyring, found.id);
    let [right, memberships] = await Promise.all([this.#passwords.isRight(given.password, found?.password), reading]);
    const origin = unknownOrigin(visitor);
    if (found === undefined) return refuse(this.#means, { origin, memberships }, 'person_unknown');
    let judged = found.revision;
    const trial = { person: found.id, origin, known: { person: found, memberships } };
    return attempt(this.#means, trial, async (person) => {
      if (person.revision !== judged) right = await this.#passwords.isRight(given.password, person.password);
      judged = person.revision;
      if (!right) return { refusal: 'password_wrong' };
      const { write, ...grant } = await newSession(this.#means, {
        person: person.id,
        stage: 'password-given',
        visitor,
      });
      return {
        writes: [await this.#kept(person, given.password), write, deleteOldest(grant.session)],
        journal: [],
        value: grant,
      };
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
    const options = await requestOptions(random, relyingParty, passkeys);
    await keepNotes(this.#means, session, { challenge: options.challenge });
    return options;
  }

  /** The end of a sign-in. Throws `sign_in_refused`. */
  giveFactor(session: Session, proof: Proof, visitor: Visitor): Promise<Grant> {
    mustBeAt('password-given', session);
    return this.#prove(session, proof, unknownOrigin(visitor), async (person, present, memberships) => {
      const signedIn = { person: person.id, stage: 'signed-in', visitor } as const;
      const { write, ...grant } = await newSession(this.#means, signedIn);
      const about = { person: person.id, targets: [`session:${grant.session.id}`], detail: { factor: proof.kind } };
      const journal = eventInEach(this.#means.clock, originOf(person, visitor), 'person.signed-in', memberships, about);
      return { writes: [deleteSession(present), write, deleteOldest(grant.session)], journal, value: grant };
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
    return this.#prove(session, proof, origin, async (person, present, memberships) => {
      const { writes, ...grant } = await steppedUpSession(this.#means, present);
      const about = { person: person.id, targets: [`session:${session.id}`], detail: { factor: proof.kind } };
      const journal = eventInEach(clock, origin, 'person.stepped-up', memberships, about);
      return { writes, journal, value: grant };
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

  /** Judges a proof of the session's person; what it allows comes with its use, and with an end of the count of failures. */
  #prove<T>(
    session: Session,
    proof: Proof,
    origin: Trial['origin'],
    allow: (person: Person, present: Session, memberships: readonly Membership[]) => Promise<Allowed<T>>,
  ): Promise<T> {
    const { database, keyring, clock } = this.#means;
    return attempt(
      this.#means,
      { person: session.person, origin },
      async (person, memberships): Promise<Judgement<T>> => {
        const present = await this.#present(session);
        if (present === undefined) throw new Failure('not_signed_in');
        if (present.stage === 'replaced') throw new Failure('changed_meanwhile');
        const factors = await factorsOf(database, keyring, person.id);
        const verdict = await judge(proof, { keyring, factors, session: present, now: clock() });
        if ('refusal' in verdict) return { ...verdict, writes: await this.#withoutChallenge(present, proof) };
        const { writes, journal, value } = await allow(person, present, memberships);
        return { writes: [putAttempts(person, NO_FAILURES), verdict.use, ...writes], journal, value };
      },
    );
  }

  /** A challenge is good for one try. */
  async #withoutChallenge(session: Session, { kind }: Proof): Promise<Write[]> {
    if (kind !== 'passkey' || session.notes.challenge === undefined) return [];
    return [(await updateSession(this.#means.keyring, session, { challenge: undefined })).write];
  }

  async #present({ digest }: Session): Promise<Session | undefined> {
    const { database, keyring, clock } = this.#means;
    const session = await findSession(database, keyring, digest);
    return session === undefined || hasEnded(session, clock()) ? undefined : session;
  }

  /** The person as they are, or with a hash as hashes are made today. */
  async #kept(person: Person, password: string): Promise<Write> {
    if (!this.#passwords.isOutdated(person.password)) return putAttempts(person, person);
    const changes = { password: await this.#passwords.hash(password) };
    return (await updatePerson(this.#means.keyring, person, changes)).write;
  }
}
