import { isSameDigest } from '../../src/crypto/fingerprint.ts';
import { HOUR, MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { Failure } from '../../src/kernel/failure.ts';
import type { Invitation } from './invitation-store.ts';
import type { Language, PasswordHash } from './person.ts';

/**
 * How far a sign-in is. `password-given`: the second factor is missing. `enrolling`: somebody with a link, who has chosen a
 * password and has not shown a second factor yet. Only `signed-in` may see anything, and for some seconds `replaced`: what
 * was signed in until its person stepped up and got another secret. Requests that were on their way with the old one are
 * answered, as long as they need no stepping up.
 */
export type SessionStage = 'password-given' | 'enrolling' | 'signed-in' | 'replaced';

/** Milliseconds that a session of each stage lasts at most. */
export const MAX_AGE_MS: Readonly<Record<SessionStage, number>> = {
  'password-given': 5 * MINUTE,
  enrolling: 30 * MINUTE,
  'signed-in': 12 * HOUR,
  replaced: 10 * SECOND,
};

/** After so long without a sign of its person a session has ended (PCI DSS 8.2.8). */
export const IDLE_MS = 15 * MINUTE;

/** Signs of the person are written no more often. */
export const ACTIVITY_INTERVAL_MS = 30 * SECOND;

/** How long it counts that somebody has just shown who they are. */
const STEP_UP_TTL_MS = 5 * MINUTE;

/** Who somebody will be once they have shown a second factor. */
export interface PendingEnrollment {
  /** Without a role it is a reset. */
  readonly invitation: Pick<Invitation, 'account' | 'id' | 'role' | 'inviterId' | 'createdAt'>;
  readonly email: string;
  readonly name: string;
  readonly language: Language;
  readonly password: PasswordHash;
  /** Of an authenticator app; base32. */
  readonly totp: string;
}

/** What a session keeps for itself; sealed. */
export interface SessionNotes {
  readonly csrf: string;
  readonly address: string;
  readonly userAgent: string;
  /** What a passkey has to sign next; good once. */
  readonly challenge?: string | undefined;
  /** A secret that an authenticator app was given, and has not shown yet; base32. */
  readonly totp?: string | undefined;
  readonly pendingEnrollment?: PendingEnrollment | undefined;
  /** Wrong codes and passwords since the second factor was last given. */
  readonly failures?: number | undefined;
}

export interface Session extends Pick<SessionNotes, 'csrf' | 'address' | 'userAgent'> {
  readonly id: string;
  readonly person: string;
  readonly stage: SessionStage;
  readonly createdAt: number;
  readonly lastActiveAt: number;
  readonly steppedUpAt: number | undefined;
  readonly expiresAt: number;
  readonly notes: SessionNotes;
  /** Of the secret in the cookie. */
  readonly digest: Uint8Array;
  /** The notes as they lie in the database: it has not changed since as long as they are the same. */
  readonly sealed: Uint8Array;
}

export const isExpired = ({ stage, expiresAt, lastActiveAt }: Session, now: number): boolean =>
  now >= expiresAt || (stage === 'signed-in' && now >= lastActiveAt + IDLE_MS);

export const isSteppedUp = ({ stage, steppedUpAt }: Session, now: number): boolean =>
  stage === 'signed-in' && steppedUpAt !== undefined && now < steppedUpAt + STEP_UP_TTL_MS;

/** Until when it counts; undefined when it does not, or not any more. */
export const steppedUpUntil = (session: Session, now: number): number | undefined =>
  session.steppedUpAt !== undefined && isSteppedUp(session, now) ? session.steppedUpAt + STEP_UP_TTL_MS : undefined;

/** Somebody who has shown both factors. */
export const isSignedIn = ({ stage }: Pick<Session, 'stage'>): boolean => stage === 'signed-in' || stage === 'replaced';

/** Throws `not_signed_in` or `step_up_required`. */
export function assertSteppedUp(session: Session, now: number): void {
  assertStage('signed-in', session);
  if (!isSteppedUp(session, now)) throw new Failure('step_up_required');
}

/** Throws `not_signed_in` when the session is at another stage. */
export function assertStage(stage: SessionStage, session: Session): void {
  const isThere = stage === 'signed-in' ? isSignedIn(session) : session.stage === stage;
  if (!isThere) throw new Failure('not_signed_in');
}

/** Whether a request holds the word that only the console's own pages know. */
export const isCsrfToken = ({ csrf }: Session, given: string | undefined): boolean =>
  given !== undefined && isSameDigest(Buffer.from(csrf), Buffer.from(given));
