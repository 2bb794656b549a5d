import { DAY, HOUR } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import {
  listMembershipsByAccount,
  listMembershipsByPerson,
  lockMembership,
  type Membership,
} from './membership-store.ts';
import { eventPerAccount } from './people-events.ts';
import { mandatoryRole } from './roles.ts';
import type { PeopleDependencies } from './sealing.ts';
import { deleteSessionsByPerson } from './session-store.ts';
import {
  findSignInState,
  listInactive,
  lockSignInState,
  type StoredSignInState,
  updateSignInState,
} from './sign-in-state-store.ts';

/** PCI DSS 8.2.6: inactive users are disabled within 90 days. */
export const INACTIVE_MS = 90 * DAY;
const CHECK_INTERVAL_MS = HOUR;
const REPORT_INTERVAL_MS = DAY;

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
export class InactiveUsers {
  readonly #dependencies: PeopleDependencies;
  readonly #onExempted: (count: number) => void;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #reportedAt = Number.NEGATIVE_INFINITY;

  /** `onKept`: called once a day at most, with how many inactive users stay enabled. */
  constructor(dependencies: PeopleDependencies, onExempted: (count: number) => void) {
    this.#dependencies = dependencies;
    this.#onExempted = onExempted;
  }

  /** Returns whether any user would be disabled. */
  async isDue(now: number): Promise<boolean> {
    for await (const state of this.#listInactive(now))
      if ((await this.#findSuccessors(state.person)) !== undefined) return true;
    return false;
  }

  /** Checks once an hour. Returns how many users were disabled. */
  async run(now: number): Promise<number> {
    if (isWithin(this.#checkedAt, CHECK_INTERVAL_MS, now)) return 0;
    let disabled = 0;
    let exempted = 0;
    for await (const state of this.#listInactive(now)) {
      const successors = await this.#findSuccessors(state.person);
      if (successors === undefined) exempted++;
      else if (await this.#disable(state, successors, now)) disabled++;
    }
    this.#checkedAt = now;
    if (exempted > 0 && !isWithin(this.#reportedAt, REPORT_INTERVAL_MS, now)) {
      this.#reportedAt = now;
      this.#onExempted(exempted);
    }
    return disabled;
  }

  /** Longest inactive first, so that of two owners the one who was there more recently stays. */
  async *#listInactive(now: number): AsyncGenerator<StoredSignInState> {
    const { database, keyring } = this.#dependencies;
    let after = { lastSignInAt: Number.MIN_SAFE_INTEGER, person: '' };
    for (;;) {
      const page = await listInactive(database, keyring, { before: now - INACTIVE_MS, after }, LIMITS.rowsPerSweep);
      for (const state of page.states) yield state;
      if (page.next === undefined) return;
      after = page.next;
    }
  }

  /** For each account that the user has to stay for, another owner or operator; undefined when one of them has none. */
  async #findSuccessors(person: string): Promise<Successor[] | undefined> {
    const { database, keyring } = this.#dependencies;
    const successors: Successor[] = [];
    for (const { account, role } of await listMembershipsByPerson(database, keyring, person)) {
      if (role !== mandatoryRole(account)) continue;
      const others = (await listMembershipsByAccount(database, keyring, account)).filter(
        (other) => other.role === role && other.person !== person,
      );
      const successor = await this.#firstEnabled(others);
      if (successor === undefined) return undefined;
      successors.push(successor);
    }
    return successors;
  }

  async #firstEnabled(memberships: readonly Membership[]): Promise<Successor | undefined> {
    const { database, keyring } = this.#dependencies;
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
    const { database, keyring, clock } = this.#dependencies;
    const { person, lastSignInAt } = state;
    const days = Math.floor((now - lastSignInAt) / DAY);
    const origin = { actor: { type: 'service' } } as const;
    const memberships = await listMembershipsByPerson(database, keyring, person);
    const journal = eventPerAccount(clock, origin, 'person.disabled', memberships, { person, detail: { days } });
    const writes = [
      await updateSignInState(keyring, state, { ...state, disabledAt: now }),
      deleteSessionsByPerson(person),
      ...successors.flatMap((each) => [lockMembership(each.membership), lockSignInState(each.state)]),
    ];
    return (await database.commit({ writes, journal })).committed;
  }
}

/** A clock that was set back must not end the checks. */
const isWithin = (last: number, period: number, now: number): boolean => now >= last && now < last + period;
