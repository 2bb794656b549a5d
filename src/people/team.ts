import type { Origin } from '../audit/audit.ts';
import { Failure, invalid } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { factorsOf } from './factor-store.ts';
import { changeMembership, findMembership, type Membership, membershipsIn, membershipsOf } from './membership-store.ts';
import { partingOf } from './parting.ts';
import { personEvent } from './people-events.ts';
import { isLocked, type Person } from './person.ts';
import { findPerson } from './person-store.ts';
import { fitsAccount, headOf, OPERATOR, type Role } from './roles.ts';
import type { Means } from './sealing.ts';

/** A member, for the others. */
export interface Member extends Membership {
  readonly name: string;
  readonly email: string;
  readonly locked: boolean;
}

/** Who has which role where. Of every account somebody stays at the head. */
export class Team {
  readonly #means: Means;

  constructor(means: Means) {
    this.#means = means;
  }

  membershipsOf(person: string): Promise<Membership[]> {
    return membershipsOf(this.#means.database, this.#means.keyring, person);
  }

  /** The longest there first. */
  membershipsIn(account: string): Promise<Membership[]> {
    return membershipsIn(this.#means.database, this.#means.keyring, account);
  }

  /** Read every time: a role that was taken away is gone at once, everywhere. */
  async roleIn(account: string, person: string): Promise<Role | undefined> {
    return (await findMembership(this.#means.database, this.#means.keyring, account, person))?.role;
  }

  /**
   * Since when the person has been a member who shows one of their present second factors; undefined for who is none.
   * Whoever made a way in for them later may have taken it themselves.
   */
  async settledSince(account: string, person: string): Promise<number | undefined> {
    const { database, keyring } = this.#means;
    const membership = await findMembership(database, keyring, account, person);
    if (membership === undefined) return undefined;
    const factors = (await factorsOf(database, keyring, person)).filter(({ kind }) => kind !== 'recovery-codes');
    return Math.max(membership.createdAt, Math.min(...factors.map(({ createdAt }) => createdAt)));
  }

  /** One of them. Throws `unknown_record`. */
  async member(account: string, person: string): Promise<Member> {
    const { database, keyring } = this.#means;
    const [membership, found] = [await this.#member(account, person), await findPerson(database, keyring, person)];
    if (found === undefined) throw new Failure('unknown_record');
    return this.#shown(membership, found);
  }

  /** The longest there first. */
  async members(account: string): Promise<Member[]> {
    const { database, keyring } = this.#means;
    const members = (await this.membershipsIn(account)).map(async (membership): Promise<Member[]> => {
      const person = await findPerson(database, keyring, membership.person);
      return person === undefined ? [] : [this.#shown(membership, person)];
    });
    return (await Promise.all(members)).flat();
  }

  #shown(membership: Membership, person: Person): Member {
    const { name, email } = person;
    return { ...membership, name, email, locked: isLocked(person, this.#means.clock()) };
  }

  async hasOperator(): Promise<boolean> {
    return (await this.membershipsIn(OPERATOR.account)).length > 0;
  }

  /** Throws `unknown_record`, and `not_possible` for the last at the head of the account. */
  async changeRole(account: string, person: string, role: Role, origin: Origin): Promise<void> {
    if (!fitsAccount({ account, role })) throw invalid('role', 'expected a role of the account');
    const before = await this.#member(account, person);
    if (before.role === role) return;
    const detail = { from: before.role, to: role };
    const writes = await changeMembership(this.#means.keyring, before, role);
    const journal = [personEvent(this.#means.clock, origin, 'membership.changed', account, { person, detail })];
    if (!(await this.#means.database.commit({ writes, journal })).committed) await this.#refuse(before);
  }

  /** As `changeRole`. Whoever belongs to nothing any more is forgotten; the audit log keeps the name that it has. */
  async remove(account: string, person: string, origin: Origin): Promise<void> {
    for (let turn = 0; turn < LIMITS.commitAttempts; turn++) {
      const before = await this.#member(account, person);
      const parting = await partingOf(this.#means, before, origin);
      const outcome = await this.#means.database.commit(parting.unit);
      if (outcome.committed) return;
      // Somebody who joins another account at this moment is not to be forgotten.
      if (!parting.isAboutPerson(outcome.write)) return this.#refuse(before);
    }
    throw new Failure('unavailable');
  }

  async #member(account: string, person: string): Promise<Membership> {
    const member = await findMembership(this.#means.database, this.#means.keyring, account, person);
    if (member === undefined) throw new Failure('unknown_record');
    return member;
  }

  /** Why a change of a membership could not be made. */
  async #refuse(before: Membership): Promise<never> {
    const now = await this.#member(before.account, before.person);
    if (now.role !== before.role) throw new Failure('changed_meanwhile');
    throw new Failure('not_possible', {
      message: `This is the last ${headOf(before.account)}; make somebody else one first.`,
    });
  }
}
