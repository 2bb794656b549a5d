import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { AuditEvent, Origin } from '../../src/audit/audit.ts';
import type { Transaction } from '../../src/idempotency/transaction.ts';
import { Failure, notPossible } from '../../src/kernel/failure.ts';
import type { Write } from '../../src/storage/database.ts';
import {
  type AuthenticationDependencies,
  attemptProof,
  attemptProofInSession,
  rejectUnknown,
  reloadSession,
} from './authentication-attempt.ts';
import {
  anonymousOrigin,
  browserSecret,
  type ClientContext,
  personOrigin,
  type RelyingParty,
  toSource,
} from './client-context.ts';
import { parseAssertionClaims } from './credential.ts';
import { listFactorsByPerson } from './factor-store.ts';
import { listMembershipsByPerson, type Membership } from './membership-store.ts';
import { buildRequestOptions, newRequestOptions } from './passkey.ts';
import { newChallenge, verifyChallenge } from './passkey-challenge.ts';
import type { HashSource, Passwords } from './passwords.ts';
import { type Notify, noNotice } from './people.ts';
import { eventPerAccount } from './people-events.ts';
import type { Person } from './person.ts';
import { findPerson, findPersonByEmail, lockPerson, updatePerson } from './person-store.ts';
import { type AvailableFactors, listPasskeys, type Proof, toAvailableFactors, verifyProof } from './proof.ts';
import { assertStage, isSignedIn, type Session } from './session.ts';
import {
  deleteOldestSessions,
  deleteSession,
  deleteSessionById,
  deleteSessionIfPresent,
  listSessionsByPerson,
  updateSession,
} from './session-store.ts';
import { buildSession, buildSteppedUpSession, type IssuedSession, saveNotes } from './sessions.ts';
import { consumeChallenge, isBrowserKnown, recordSignIn, type SignInState } from './sign-in-state.ts';
import { findSignInState } from './sign-in-state-store.ts';

/** A completed sign-in, to be committed. */
interface CompletedSignIn {
  readonly writes: readonly Write[];
  readonly events: readonly AuditEvent[];
  readonly origin: Origin;
  readonly value: IssuedSession;
  readonly state: SignInState;
}

/**
 * Sign-in with the password and a second factor, or with a passkey alone, which is two factors because it verifies its user.
 * Every failure is `sign_in_refused`. A failure is counted and recorded, so each attempt commits its own transaction.
 */
export class SignIn {
  readonly #dependencies: AuthenticationDependencies;
  readonly #passwords: Passwords;

  constructor(dependencies: AuthenticationDependencies & { readonly passwords: Passwords }) {
    this.#dependencies = dependencies;
    this.#passwords = dependencies.passwords;
  }

  /** Throws `sign_in_refused`, and `unavailable` when too many passwords are being hashed. */
  async submitPassword(input: { email: string; password: string }, client: ClientContext): Promise<IssuedSession> {
    const { database, keyring, time } = this.#dependencies;
    const found = await findPersonByEmail(database, keyring, input.email);
    // An unknown user costs the same reads, so that the response time shows nothing.
    const id = found?.id ?? '';
    const state = await findSignInState(database, keyring, id);
    const source = toSource(id, client);
    const isKnown = state !== undefined && isBrowserKnown(state, source, time.steadyNow());
    const hashSource: HashSource = isKnown ? `browser ${source.browser}` : `network ${source.network}`;
    const reading = listMembershipsByPerson(database, keyring, id);
    let [isCorrect, memberships] = await Promise.all([
      this.#passwords.verify(input.password, found?.password, hashSource),
      reading,
    ]);
    const origin = anonymousOrigin(client);
    if (found === undefined) return rejectUnknown(this.#dependencies, origin, memberships);
    let verifiedRevision = found.revision;
    const records = { person: found, memberships, state };
    return attemptProof(
      this.#dependencies,
      { person: id, origin, source, proofKind: 'password', records },
      async (person) => {
        if (person.revision !== verifiedRevision)
          isCorrect = await this.#passwords.verify(input.password, person.password, hashSource);
        verifiedRevision = person.revision;
        if (!isCorrect) return { failure: 'password_wrong' };
        const { write, ...grant } = await buildSession(this.#dependencies, {
          person: person.id,
          stage: 'password-given',
          client,
        });
        const rehashed = await this.#rehash(person, input.password, hashSource);
        return { writes: [...rehashed, write, deleteOldestSessions(grant.session)], events: [], value: grant };
      },
    );
  }

  /** Returns the second factors of the user. */
  async availableFactors({ person }: Session): Promise<AvailableFactors> {
    return toAvailableFactors(
      await listFactorsByPerson(this.#dependencies.database, this.#dependencies.keyring, person),
    );
  }

  /** Returns the options to use a passkey. Throws `not_possible` when the user has none. */
  async createChallenge(
    transaction: Transaction,
    session: Session,
    relyingParty: RelyingParty,
  ): Promise<PublicKeyCredentialRequestOptionsJSON> {
    if (session.stage === 'enrolling') throw new Failure('not_signed_in');
    if (session.stage === 'replaced') throw new Failure('changed_meanwhile');
    const { database, keyring, random } = this.#dependencies;
    const passkeys = listPasskeys(await listFactorsByPerson(database, keyring, session.person));
    if (passkeys.length === 0) throw notPossible('noPasskey');
    const options = await newRequestOptions(random, relyingParty, passkeys);
    await saveNotes(transaction, keyring, session, { challenge: options.challenge });
    return options;
  }

  /** Completes a sign-in with a second factor. Throws `sign_in_refused`. */
  async submitFactor(
    session: Session,
    proof: Proof,
    client: ClientContext,
    notify: Notify = noNotice,
  ): Promise<IssuedSession> {
    assertStage('password-given', session);
    const { database, keyring, clock } = this.#dependencies;
    const source = toSource(session.person, client);
    const proofKind = proof.kind === 'passkey' ? 'passkey' : 'code';
    const attempt = { person: session.person, origin: anonymousOrigin(client), source, proofKind } as const;
    return attemptProof(this.#dependencies, attempt, async (person, memberships, state) => {
      const current = await reloadSession(this.#dependencies, session);
      if (current === undefined) throw new Failure('not_signed_in');
      const { challenge } = current.notes;
      const factors = await listFactorsByPerson(database, keyring, person.id);
      const result = await verifyProof(proof, { keyring, factors, challenge, now: clock() });
      if ('failure' in result) return { ...result, writes: await this.#clearChallenge(current, proof) };
      const completed = await this.#completeSignIn(
        { person, memberships, state },
        { client, factor: proof.kind, notify },
      );
      return { ...completed, writes: [result.consumption, deleteSession(current), ...completed.writes] };
    });
  }

  /** Returns what a browser needs to sign in with a passkey that it finds itself; nothing is stored for it. */
  async createPasskeyChallenge(relyingParty: RelyingParty): Promise<PublicKeyCredentialRequestOptionsJSON> {
    return buildRequestOptions(await newChallenge(this.#dependencies), relyingParty, []);
  }

  /** Signs in with a passkey alone. No lock rejects it, because it cannot be guessed. Throws `sign_in_refused`. */
  async submitPasskey(
    response: unknown,
    relyingParty: RelyingParty,
    client: ClientContext,
    notify: Notify = noNotice,
  ): Promise<IssuedSession> {
    const { database, keyring, clock, time } = this.#dependencies;
    const { user, challenge } = parseAssertionClaims(response);
    const issuedChallenge = await verifyChallenge(this.#dependencies, challenge);
    const source = toSource(user, client);
    const attempt = { person: user, origin: anonymousOrigin(client), source, proofKind: 'passkey-alone' } as const;
    return attemptProof(this.#dependencies, attempt, async (person, memberships, before) => {
      if (issuedChallenge === undefined) return { failure: 'passkey_wrong' };
      const state = consumeChallenge(before, issuedChallenge, time.steadyNow());
      if (state === undefined) return { failure: 'code_used' };
      const factors = await listFactorsByPerson(database, keyring, person.id);
      const proof = { kind: 'passkey', response, relyingParty } as const;
      const result = await verifyProof(proof, { keyring, factors, challenge, now: clock() });
      if ('failure' in result) return result;
      const completed = await this.#completeSignIn(
        { person, memberships, state },
        { client, factor: 'passkey-alone', notify },
      );
      return { ...completed, writes: [result.consumption, ...completed.writes] };
    });
  }

  /**
   * Steps up a session with a second factor, for five minutes and under a new secret. Throws `sign_in_refused`, and
   * `changed_meanwhile` when the secret was replaced concurrently.
   */
  async stepUp(session: Session, proof: Proof, origin: Origin): Promise<IssuedSession> {
    assertStage('signed-in', session);
    const { database, keyring, clock } = this.#dependencies;
    const isCounted = proof.kind !== 'passkey';
    return attemptProofInSession(
      this.#dependencies,
      { session, origin, isCounted },
      async (person, current, memberships) => {
        const factors = await listFactorsByPerson(database, keyring, person.id);
        const { challenge } = current.notes;
        const result = await verifyProof(proof, { keyring, factors, challenge, now: clock() });
        if ('failure' in result) return result;
        const { writes, ...grant } = await buildSteppedUpSession(this.#dependencies, current);
        const details = { person: person.id, targets: [`session:${session.id}`], detail: { factor: proof.kind } };
        const events = eventPerAccount('person.stepped-up', memberships, details);
        return { writes: [result.consumption, ...writes], events, value: grant };
      },
    );
  }

  async signOut(transaction: Transaction, session: Session, client: ClientContext): Promise<void> {
    const { database, keyring } = this.#dependencies;
    const person = await findPerson(database, keyring, session.person);
    // A step-up holds the same lock: the new secret of a session that is stepped up concurrently is deleted as well.
    if (person !== undefined) transaction.write(lockPerson(person));
    // A conflict means that the session has ended already, or that the user has changed.
    const isRetry = transaction.attempt > 0;
    const writes = isRetry ? [deleteSessionIfPresent(session)] : deleteSessionById(session);
    for (const write of writes) transaction.write(write);
    if (person === undefined || !isSignedIn(session)) return;
    if (isRetry && !(await this.#isListed(session))) return;
    const details = { person: session.person, targets: [`session:${session.id}`] };
    const memberships = await listMembershipsByPerson(database, keyring, person.id);
    for (const event of eventPerAccount('person.signed-out', memberships, details))
      transaction.record(event, personOrigin(person, client));
  }

  /** True while the session is signed in. */
  async #isListed({ person, id }: Session): Promise<boolean> {
    const { database, keyring, clock } = this.#dependencies;
    return (await listSessionsByPerson(database, keyring, person, clock())).some((listed) => listed.id === id);
  }

  /** Builds the signed-in session, and makes browser and network known. The user gets a mail about a new browser. */
  async #completeSignIn(
    records: { readonly person: Person; readonly memberships: readonly Membership[]; readonly state: SignInState },
    { client, factor, notify }: { client: ClientContext; factor: string; notify: Notify },
  ): Promise<CompletedSignIn> {
    const { time, random } = this.#dependencies;
    const { person, memberships } = records;
    const browser = browserSecret(random, client);
    const source = toSource(person.id, { ...client, browser });
    const isKnown = isBrowserKnown(records.state, source, time.steadyNow());
    const { write, ...grant } = await buildSession(this.#dependencies, {
      person: person.id,
      stage: 'signed-in',
      client,
    });
    const details = { person: person.id, targets: [`session:${grant.session.id}`], detail: { factor } };
    return {
      writes: [write, deleteOldestSessions(grant.session), ...(isKnown ? [] : await notify(person))],
      events: eventPerAccount('person.signed-in', memberships, details),
      origin: personOrigin(person, client),
      value: { ...grant, browser },
      state: recordSignIn(records.state, source, time.steadyNow(), time.latestNow()),
    };
  }

  /** A challenge is valid for one attempt. */
  async #clearChallenge(session: Session, { kind }: Proof): Promise<Write[]> {
    if (kind !== 'passkey' || session.notes.challenge === undefined) return [];
    return [(await updateSession(this.#dependencies.keyring, session, { challenge: undefined })).write];
  }

  /** Replaces a hash that was computed with other parameters than the present ones. */
  async #rehash(person: Person, password: string, hashSource: HashSource): Promise<Write[]> {
    if (!this.#passwords.isOutdated(person.password)) return [];
    const changes = { password: await this.#passwords.hash(password, hashSource) };
    return [(await updatePerson(this.#dependencies.keyring, person, changes)).write];
  }
}
