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

/** A user who keeps an account with an owner who can sign in, or the service with an operator. */
interface Successor {
  readonly membership: Membership;
  readonly state: StoredSignInState;
}

/**
 * Disables users who did not sign in for 90 days; a credential reset enables them again. The last owner of an account and
 * the last operator who can sign in stay enabled and are reported, because otherwise no user could reset them. API keys are not
 * affected.
 */
export class InactiveUsers {
  readonly #dependencies: PeopleDependencies;
  readonly #onExempted: (count: number) => void;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #reportedAt = Number.NEGATIVE_INFINITY;

  /** `onExempted`: called at most once a day, with the number of inactive users who stay enabled. */
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

  /** Lists the longest inactive first, so that of two owners the more recently active one stays enabled. */
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

  /** Finds another owner or operator for each account that needs the user; undefined when one account has none. */
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

  /** Returns false when a record has changed since it was read; the next check decides then. */
  async #disable(state: StoredSignInState, successors: readonly Successor[], now: number): Promise<boolean> {
    const { database, transactions, keyring } = this.#dependencies;
    const { person, lastSignInAt } = state;
    const days = Math.floor((now - lastSignInAt) / DAY);
    const memberships = await listMembershipsByPerson(database, keyring, person);
    return transactions.run({ origin: { actor: { type: 'service' } } }, async (transaction) => {
      if (transaction.attempt > 0) return false;
      transaction.write(await updateSignInState(keyring, state, { ...state, disabledAt: now }));
      transaction.write(deleteSessionsByPerson(person));
      for (const each of successors) {
        transaction.write(lockMembership(each.membership));
        transaction.write(lockSignInState(each.state));
      }
      for (const event of eventPerAccount('person.disabled', memberships, { person, detail: { days } }))
        transaction.record(event);
      return true;
    });
  }
}

/** Returns false for a time before `last`: a clock that was set back must not end the checks. */
const isWithin = (last: number, period: number, now: number): boolean => now >= last && now < last + period;
