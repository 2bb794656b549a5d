import { isSameDigest } from '../../src/crypto/fingerprint.ts';
import { HOUR, MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { Failure } from '../../src/kernel/failure.ts';
import type { Invitation } from './invitation-store.ts';
import type { Language, PasswordHash } from './person.ts';

/**
 * Stage of a sign-in. `password-given`: the second factor is missing. `enrolling`: a user with an invitation has chosen a
 * password and confirmed no second factor yet. Only `signed-in` gives access, and for some seconds `replaced`: the old secret of
 * a session after a step-up, for requests in progress that need no step-up.
 */
export type SessionStage = 'password-given' | 'enrolling' | 'signed-in' | 'replaced';

/** Maximum age of a session at each stage, in milliseconds. */
export const MAX_AGE_MS: Readonly<Record<SessionStage, number>> = {
  'password-given': 5 * MINUTE,
  enrolling: 30 * MINUTE,
  'signed-in': 12 * HOUR,
  replaced: 10 * SECOND,
};

/** A session expires after this time without activity (PCI DSS 8.2.8). */
export const IDLE_MS = 15 * MINUTE;

/** Minimum interval between two writes of the last activity. */
export const ACTIVITY_INTERVAL_MS = 30 * SECOND;

/** A step-up is valid for this long. */
const STEP_UP_TTL_MS = 5 * MINUTE;

/** The data of an enrollment, until its second factor is confirmed. */
export interface PendingEnrollment {
  /** A credential reset has no role. */
  readonly invitation: Pick<Invitation, 'account' | 'id' | 'role' | 'inviterId' | 'createdAt'>;
  readonly email: string;
  /** True when the invitation named no address, so that only the user has stated it. */
  readonly isEmailUnconfirmed?: boolean;
  readonly name: string;
  readonly language: Language;
  readonly password: PasswordHash;
  /** Secret of the authenticator app; base32. */
  readonly totp: string;
}

/** The sealed part of a session. */
export interface SessionNotes {
  readonly csrf: string;
  readonly address: string;
  readonly userAgent: string;
  /** The value that a passkey has to sign next; valid once. */
  readonly challenge?: string | undefined;
  /** Secret of an authenticator app that is not confirmed yet; base32. */
  readonly totp?: string | undefined;
  readonly pendingEnrollment?: PendingEnrollment | undefined;
  /** The code that was sent to a new address: a digest, base64, and when. */
  readonly emailCode?: { readonly digest: string; readonly sentAt: number } | undefined;
  /** Wrong codes and passwords since the last verified second factor. */
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
  /** Digest of the secret in the cookie. */
  readonly digest: Uint8Array;
  /** The stored notes; equal as long as the session is unchanged. */
  readonly sealed: Uint8Array;
}

export const isExpired = ({ stage, expiresAt, lastActiveAt }: Session, now: number): boolean =>
  now >= expiresAt || (stage === 'signed-in' && now >= lastActiveAt + IDLE_MS);

export const isSteppedUp = ({ stage, steppedUpAt }: Session, now: number): boolean =>
  stage === 'signed-in' && steppedUpAt !== undefined && now < steppedUpAt + STEP_UP_TTL_MS;

/** Returns when the step-up expires; undefined without a valid one. */
export const steppedUpUntil = (session: Session, now: number): number | undefined =>
  session.steppedUpAt !== undefined && isSteppedUp(session, now) ? session.steppedUpAt + STEP_UP_TTL_MS : undefined;

/** True when both factors were verified. */
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

/** True when the request carries the session's CSRF token. */
export const isCsrfToken = ({ csrf }: Session, given: string | undefined): boolean =>
  given !== undefined && isSameDigest(Buffer.from(csrf), Buffer.from(given));
