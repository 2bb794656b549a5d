import { DAY, HOUR } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { holdMembership, type Membership, membershipsIn, membershipsOf } from './membership-store.ts';
import { eventInEach } from './people-events.ts';
import { headOf } from './roles.ts';
import type { Means } from './sealing.ts';
import { deleteSessionsOf } from './session-store.ts';
import {
  findSignInState,
  holdSignInState,
  listInactive,
  type StoredSignInState,
  updateSignInState,
} from './sign-in-state-store.ts';

/** PCI DSS 8.2.6: inactive users are disabled within 90 days. */
export const INACTIVE_MS = 90 * DAY;
const CHECKED_EVERY_MS = HOUR;
const REPORTED_EVERY_MS = DAY;

/** The users by whom an account keeps an owner who can sign in, or the service an operator. */
interface Successor {
  readonly membership: Membership;
  readonly state: StoredSignInState;
}

/**
 * Disables users who did not sign in for 90 days; a credential reset enables them again. The last owner of an account and
 * the last operator who can sign in stay enabled and are reported, because their accounts would have no one left to reset them. API keys are not
 * concerned.
 */
export class Inactivity {
  readonly #means: Means;
  readonly #onKept: (count: number) => void;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #reportedAt = Number.NEGATIVE_INFINITY;

  /** `onKept`: called once a day at most, with how many inactive users stay enabled. */
  constructor(means: Means, onKept: (count: number) => void) {
    this.#means = means;
    this.#onKept = onKept;
  }

  /** Returns whether any user would be disabled. */
  async isDue(now: number): Promise<boolean> {
    for await (const state of this.#inactive(now))
      if ((await this.#successorsOf(state.person)) !== undefined) return true;
    return false;
  }

  /** Checks once an hour. Returns how many users were disabled. */
  async run(now: number): Promise<number> {
    if (isWithin(this.#checkedAt, CHECKED_EVERY_MS, now)) return 0;
    let disabled = 0;
    let kept = 0;
    for await (const state of this.#inactive(now)) {
      const successors = await this.#successorsOf(state.person);
      if (successors === undefined) kept++;
      else if (await this.#disable(state, successors, now)) disabled++;
    }
    this.#checkedAt = now;
    if (kept > 0 && !isWithin(this.#reportedAt, REPORTED_EVERY_MS, now)) {
      this.#reportedAt = now;
      this.#onKept(kept);
    }
    return disabled;
  }

  /** Longest inactive first, so that of two owners the one who was there more recently stays. */
  async *#inactive(now: number): AsyncGenerator<StoredSignInState> {
    const { database, keyring } = this.#means;
    let after = { lastSignInAt: Number.MIN_SAFE_INTEGER, person: '' };
    for (;;) {
      const page = await listInactive(database, keyring, { before: now - INACTIVE_MS, after }, LIMITS.rowsPerSweep);
      for (const state of page.states) yield state;
      if (page.next === undefined) return;
      after = page.next;
    }
  }

  /** For each account that the user has to stay for, another owner or operator; undefined when one of them has none. */
  async #successorsOf(person: string): Promise<Successor[] | undefined> {
    const { database, keyring } = this.#means;
    const successors: Successor[] = [];
    for (const { account, role } of await membershipsOf(database, keyring, person)) {
      if (role !== headOf(account)) continue;
      const others = (await membershipsIn(database, keyring, account)).filter(
        (other) => other.role === role && other.person !== person,
      );
      const successor = await this.#firstEnabled(others);
      if (successor === undefined) return undefined;
      successors.push(successor);
    }
    return successors;
  }

  async #firstEnabled(memberships: readonly Membership[]): Promise<Successor | undefined> {
    const { database, keyring } = this.#means;
    for (const membership of memberships) {
      const state = await findSignInState(database, keyring, membership.person);
      // A user whose password is blocked may have no passkey.
      const isEnabled = state?.disabledAt === undefined && state?.passwordBlockedAt === undefined;
      if (state !== undefined && isEnabled) return { membership, state };
    }
    return undefined;
  }

  /** False when anything has changed meanwhile; then the next check decides. */
  async #disable(state: StoredSignInState, successors: readonly Successor[], now: number): Promise<boolean> {
    const { database, keyring, clock } = this.#means;
    const { person, lastSignInAt } = state;
    const days = Math.floor((now - lastSignInAt) / DAY);
    const origin = { actor: { type: 'service' } } as const;
    const memberships = await membershipsOf(database, keyring, person);
    const journal = eventInEach(clock, origin, 'person.disabled', memberships, { person, detail: { days } });
    const writes = [
      await updateSignInState(keyring, state, { ...state, disabledAt: now }),
      deleteSessionsOf(person),
      ...successors.flatMap((each) => [holdMembership(each.membership), holdSignInState(each.state)]),
    ];
    return (await database.commit({ writes, journal })).committed;
  }
}

/** A clock that was set back must not end the checks. */
const isWithin = (last: number, period: number, now: number): boolean => now >= last && now < last + period;
