import { DAY, MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';

/** Wrong passwords and codes, and until when further attempts are rejected. */
interface FailureCount {
  readonly failures: number;
  /** Time of the newest one. */
  readonly failedAt: number;
  readonly lockedUntil?: number;
}

/** A network or a browser. */
interface TrackedSource extends FailureCount {
  readonly id: string;
  /** Absent for a network that the user never signed in from. */
  readonly signedInAt?: number;
}

/** Source of an attempt. */
export interface Source {
  /** See `subscriberNetwork`. */
  readonly network: string;
  /** Digest of the browser's secret, bound to the user; undefined for a browser without one. */
  readonly browser: string | undefined;
}

/**
 * Decides whether a user may attempt to sign in. Each user has one, in a sealed record. Its times are those of
 * `TrustedTime.steadyNow`: a jump of the clock must neither end nor extend locks, nor make browsers unknown.
 */
export interface SignInState {
  readonly networks: readonly TrackedSource[];
  readonly browsers: readonly TrackedSource[];
  /** All networks together that the user has not signed in from. */
  readonly newNetworks: FailureCount;
  /** Wrong second factors after the correct password, since the password was set. */
  readonly factorFailures: number;
  /** Challenges that passkeys signed without a password, and when they end. */
  readonly usedChallenges: readonly { readonly challenge: string; readonly expiresAt: number }[];
  readonly lastSignInAt: number;
  /** Time from which the password is not accepted. */
  readonly passwordBlockedAt: number | undefined;
  /** The user did not sign in for too long. */
  readonly disabledAt: number | undefined;
}

/** The scope of a lock: one browser, one network, or all networks that the user has not signed in from. */
type LockScope = 'browser' | 'network' | 'new-networks';

/** The status of a user's sign-in, for lists. `altered`: the state was changed in the database. */
export const SIGN_IN_STATUSES = ['active', 'locked', 'password-blocked', 'disabled', 'altered'] as const;

export type SignInStatus = (typeof SIGN_IN_STATUSES)[number];

/** PCI DSS 8.3.4: 30 minutes at least. */
const LOCK_MS = 30 * MINUTE;
/** The first delay of new networks; each further failure doubles it, up to `LOCK_MS`. */
const FIRST_DELAY_MS = 30 * SECOND;
/** A count of failures expires after this time without another one. */
const FAILURE_TTL_MS = DAY;
const NETWORK_KNOWN_MS = 90 * DAY;
/** Milliseconds that a browser stays known after a sign-in. */
export const BROWSER_KNOWN_MS = 180 * DAY;

const NO_FAILURES: FailureCount = { failures: 0, failedAt: 0 };

/** Returns the state of a user who signs in for the first time, or for the first time after a credential reset. */
export const newSignInState = (source: Source, now: number): SignInState =>
  recordSignIn(
    {
      networks: [],
      browsers: [],
      newNetworks: NO_FAILURES,
      factorFailures: 0,
      usedChallenges: [],
      lastSignInAt: now,
      passwordBlockedAt: undefined,
      disabledAt: undefined,
    },
    source,
    now,
  );

/** Returns whether the user signed in with this browser before. */
export const isBrowserKnown = (state: SignInState, source: Source, now: number): boolean =>
  findBrowser(state, source, now) !== undefined;

export function isLocked(state: SignInState, source: Source, now: number): boolean {
  const browser = findBrowser(state, source, now);
  if (browser !== undefined) return isCountLocked(browser, now);
  const network = findNetwork(state, source);
  if (isCountLocked(network, now)) return true;
  return !isNetworkKnown(network, now) && isCountLocked(state.newNetworks, now);
}

/**
 * Counts a wrong password or code for the browser if it is known, otherwise for the network, and for all new networks if
 * the network is new. `locked` is what this failure locks.
 */
export function countFailure(
  state: SignInState,
  source: Source,
  now: number,
): { readonly state: SignInState; readonly locked: LockScope | undefined } {
  const browser = findBrowser(state, source, now);
  if (browser !== undefined) {
    const counted = { ...withoutFailures(browser), ...addFailure(browser, now, lockAfterLimit) };
    const locked = counted.lockedUntil === undefined ? undefined : 'browser';
    return { state: { ...state, browsers: withSource(state.browsers, counted) }, locked };
  }
  const network = findNetwork(state, source);
  const counted = { ...withoutFailures(network), ...addFailure(network, now, lockAfterLimit) };
  const networks = boundNetworks(withSource(state.networks, counted), now);
  const locked = counted.lockedUntil === undefined ? undefined : 'network';
  if (isNetworkKnown(network, now)) return { state: { ...state, networks }, locked };
  const newNetworks = addFailure(state.newNetworks, now, delayAfterLimit);
  const isFirstDelay = newNetworks.failures === LIMITS.signInFailures;
  return { state: { ...state, networks, newNetworks }, locked: isFirstDelay ? 'new-networks' : locked };
}

/** Counts a wrong second factor after the correct password; too many since the password was set block the password. */
export function countFactorFailure(state: SignInState, now: number): SignInState {
  const factorFailures = state.factorFailures + 1;
  const isBlocked = factorFailures >= LIMITS.secondFactorFailures;
  return { ...state, factorFailures, ...(isBlocked && { passwordBlockedAt: now }) };
}

/**
 * Makes network and browser known, and ends the failures that were counted for them. `now` passes evenly; `latest`: the
 * later of it and the clock, so that no user counts as inactive who signed in while time was not trusted.
 */
export function recordSignIn(state: SignInState, source: Source, now: number, latest = now): SignInState {
  const wasKnown = isBrowserKnown(state, source, now) || isNetworkKnown(findNetwork(state, source), now);
  const signedIn = (id: string): TrackedSource => ({ ...NO_FAILURES, id, signedInAt: latest });
  const browsers = source.browser === undefined ? state.browsers : withSource(state.browsers, signedIn(source.browser));
  return {
    ...state,
    networks: boundNetworks(withSource(state.networks, signedIn(source.network)), now),
    browsers: newest(
      browsers.filter((browser) => isKnownWithin(browser, BROWSER_KNOWN_MS, now)),
      LIMITS.knownBrowsersPerUser,
    ),
    newNetworks: wasKnown ? state.newNetworks : NO_FAILURES,
    lastSignInAt: latest,
  };
}

/** Ends all locks, and deletes the failures that led to them, except those of second factors. */
export const withoutLocks = (state: SignInState): SignInState => ({
  ...state,
  networks: state.networks.filter(({ signedInAt }) => signedInAt !== undefined).map(withoutFailures),
  browsers: state.browsers.map(withoutFailures),
  newNetworks: NO_FAILURES,
});

/** Returns the state after a new password was set. */
export const withNewPassword = (state: SignInState): SignInState => ({
  ...state,
  factorFailures: 0,
  passwordBlockedAt: undefined,
});

/** Marks a challenge as used; undefined when it was used before. */
export function consumeChallenge(
  state: SignInState,
  used: { readonly challenge: string; readonly expiresAt: number },
  now: number,
): SignInState | undefined {
  const others = state.usedChallenges.filter(({ expiresAt }) => expiresAt > now);
  if (others.some(({ challenge }) => challenge === used.challenge)) return undefined;
  return { ...state, usedChallenges: [...others, used] };
}

/** Returns when the last lock ends; undefined without one. */
export function lockedUntil(state: SignInState, now: number): number | undefined {
  const ends = [...state.networks, ...state.browsers, state.newNetworks]
    .filter((count) => isCountLocked(count, now))
    .map((count) => count.lockedUntil ?? 0);
  return ends.length === 0 ? undefined : Math.max(...ends);
}

const withoutFailures = ({ id, signedInAt }: TrackedSource): TrackedSource => ({
  ...NO_FAILURES,
  id,
  ...(signedInAt !== undefined && { signedInAt }),
});

const isCountLocked = ({ lockedUntil: until }: FailureCount, now: number): boolean =>
  until !== undefined && now < until;

const findBrowser = ({ browsers }: SignInState, { browser }: Source, now: number): TrackedSource | undefined =>
  browsers.find((each) => each.id === browser && isKnownWithin(each, BROWSER_KNOWN_MS, now));

const findNetwork = ({ networks }: SignInState, { network: id }: Source): TrackedSource =>
  networks.find((each) => each.id === id) ?? { ...NO_FAILURES, id };

const isNetworkKnown = (network: TrackedSource, now: number): boolean => isKnownWithin(network, NETWORK_KNOWN_MS, now);

const isKnownWithin = ({ signedInAt }: TrackedSource, period: number, now: number): boolean =>
  signedInAt !== undefined && now < signedInAt + period;

/** Adds a failure. The count starts again after a lock of the limit, and when the latest failure has expired. */
function addFailure(
  before: FailureCount,
  now: number,
  lockOf: (failures: number, now: number) => number | undefined,
): FailureCount {
  const until = lockOf(before.failures + 1, now);
  const hadLockOfLimit = lockOf === lockAfterLimit && before.lockedUntil !== undefined;
  const isExpired = now >= before.failedAt + FAILURE_TTL_MS;
  if (hadLockOfLimit || isExpired) return { failures: 1, failedAt: now };
  return { failures: before.failures + 1, failedAt: now, ...(until !== undefined && { lockedUntil: until }) };
}

const lockAfterLimit = (failures: number, now: number): number | undefined =>
  failures >= LIMITS.signInFailures ? now + LOCK_MS : undefined;

/** Slows instead of locking: a distributed guess is left 48 attempts a day, and never ends the user's own attempts. */
function delayAfterLimit(failures: number, now: number): number | undefined {
  const beyond = failures - LIMITS.signInFailures;
  return beyond < 0 ? undefined : now + Math.min(LOCK_MS, FIRST_DELAY_MS * 2 ** Math.min(beyond, 10));
}

const withSource = (all: readonly TrackedSource[], one: TrackedSource): TrackedSource[] => [
  ...all.filter(({ id }) => id !== one.id),
  one,
];

/** Failures from new networks must not displace the known networks, so that each kind has a separate limit. */
function boundNetworks(networks: readonly TrackedSource[], now: number): TrackedSource[] {
  const known = networks.filter((network) => isNetworkKnown(network, now));
  const failed = networks.filter((network) => !isNetworkKnown(network, now) && now < network.failedAt + FAILURE_TTL_MS);
  return [...newest(known, LIMITS.knownNetworksPerUser), ...newest(failed, LIMITS.failedNetworksPerUser)];
}

/** Returns the newest, in order of time. */
const newest = (origins: readonly TrackedSource[], max: number): TrackedSource[] =>
  [...origins].sort((one, other) => timeOf(one) - timeOf(other)).slice(-max);

const timeOf = ({ signedInAt = 0, failedAt }: TrackedSource): number => Math.max(signedInAt, failedAt);
