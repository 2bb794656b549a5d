import type { Transaction } from '../../src/idempotency/transaction.ts';
import { Failure, invalidField, notPossible } from '../../src/kernel/failure.ts';
import { listFactorsByPerson } from './factor-store.ts';
import { removeMembership } from './membership-removal.ts';
import {
  findMembership,
  listMembershipsByAccount,
  listMembershipsByPerson,
  lockMembership,
  type Membership,
  updateMembershipRole,
} from './membership-store.ts';
import { personEvent } from './people-events.ts';
import type { Person } from './person.ts';
import { findPerson } from './person-store.ts';
import { type Capability, can, isRoleValidFor, mandatoryRole, OPERATOR, type Role } from './roles.ts';
import type { PeopleDependencies } from './sealing.ts';
import { lockedUntil, type SignInState, type SignInStatus } from './sign-in-state.ts';
import { findSignInState, listSignInStates } from './sign-in-state-store.ts';

/** A member as the others see them. */
export interface Member extends Membership {
  readonly name: string;
  readonly email: string;
  readonly signIn: SignInStatus;
  /** Expiry of the last lock. */
  readonly lockedUntil: number | undefined;
}

/** Memberships and roles. Every account keeps a holder of its mandatory role. */
export class Team {
  readonly #dependencies: PeopleDependencies;

  constructor(dependencies: PeopleDependencies) {
    this.#dependencies = dependencies;
  }

  listMembershipsOf(person: string): Promise<Membership[]> {
    return listMembershipsByPerson(this.#dependencies.database, this.#dependencies.keyring, person);
  }

  /** Lists the oldest first. */
  listMemberships(account: string): Promise<Membership[]> {
    return listMembershipsByAccount(this.#dependencies.database, this.#dependencies.keyring, account);
  }

  /** Reads the role each time, so that its removal takes effect immediately on every node. */
  async findRole(account: string, person: string): Promise<Role | undefined> {
    return (await findMembership(this.#dependencies.database, this.#dependencies.keyring, account, person))?.role;
  }

  /**
   * Returns since when the user has been a member with one of the current second factors; undefined for others. A credential
   * reset counts as a new start, because its creator may have redeemed it.
   */
  async memberWithFactorsSince(account: string, person: string): Promise<number | undefined> {
    const { database, keyring } = this.#dependencies;
    const membership = await findMembership(database, keyring, account, person);
    if (membership === undefined) return undefined;
    const factors = (await listFactorsByPerson(database, keyring, person)).filter(
      ({ kind }) => kind !== 'recovery-codes',
    );
    return Math.max(membership.createdAt, Math.min(...factors.map(({ createdAt }) => createdAt)));
  }

  /** Ids of the members whose role lets them approve changes of others, and who can sign in, by a passkey or after a lock at the latest. */
  async listApprovers(account: string): Promise<string[]> {
    const members = (await this.members(account)).filter(({ role }) => can(role, 'approvals:decide'));
    return members.filter(({ signIn }) => signIn !== 'disabled' && signIn !== 'altered').map(({ person }) => person);
  }

  /** True for a member who may approve changes of others; the transaction is then committed only while they still may. */
  holdApprover(transaction: Transaction, account: string, person: string): Promise<boolean> {
    return this.#hold(transaction, { account, person }, 'approvals:decide');
  }

  async isOperator(person: string): Promise<boolean> {
    const role = await this.findRole(OPERATOR.account, person);
    return role !== undefined && can(role, 'operate');
  }

  /** True for an operator; the transaction is then committed only while they still are one. */
  holdOperator(transaction: Transaction, person: string): Promise<boolean> {
    return this.#hold(transaction, { account: OPERATOR.account, person }, 'operate');
  }

  async #hold(
    transaction: Transaction,
    { account, person }: Pick<Membership, 'account' | 'person'>,
    capability: Capability,
  ): Promise<boolean> {
    const { database, keyring } = this.#dependencies;
    const membership = await findMembership(database, keyring, account, person);
    if (membership === undefined || !can(membership.role, capability)) return false;
    transaction.write(lockMembership(membership));
    return true;
  }

  /** Returns a member. Throws `unknown_record`. */
  async member(account: string, person: string): Promise<Member> {
    const { database, keyring } = this.#dependencies;
    const [membership, found] = [await this.#member(account, person), await findPerson(database, keyring, person)];
    if (found === undefined) throw new Failure('unknown_record');
    return this.#toMember(membership, found, await findSignInState(database, keyring, person));
  }

  /** Lists the oldest first. */
  async members(account: string): Promise<Member[]> {
    const { database, keyring } = this.#dependencies;
    const states = await listSignInStates(database, keyring, account);
    const members = (await this.listMemberships(account)).map(async (membership): Promise<Member[]> => {
      const person = await findPerson(database, keyring, membership.person);
      return person === undefined ? [] : [this.#toMember(membership, person, states.get(person.id))];
    });
    return (await Promise.all(members)).flat();
  }

  #toMember(membership: Membership, { name, email }: Person, state: SignInState | undefined): Member {
    const until = state === undefined ? undefined : lockedUntil(state, this.#dependencies.time.steadyNow());
    return { ...membership, name, email, signIn: statusOf(state, until), lockedUntil: until };
  }

  async hasOperator(): Promise<boolean> {
    return (await this.listMemberships(OPERATOR.account)).length > 0;
  }

  /** Throws `unknown_record`, and `not_possible` for the last holder of the mandatory role. */
  async changeRole(transaction: Transaction, account: string, person: string, role: Role): Promise<void> {
    if (!isRoleValidFor({ account, role })) throw invalidField('role', 'role');
    const before = await this.#member(account, person);
    if (before.role === role) return;
    for (const write of await updateMembershipRole(this.#dependencies.keyring, before, role))
      transaction.write(write, () => this.#explainConflict(before));
    const detail = { from: before.role, to: role };
    transaction.record(personEvent('membership.changed', account, { person, detail }));
  }

  /** Removes a membership, and with the last one the user; the audit log keeps the name. Throws as `changeRole`. */
  async remove(transaction: Transaction, account: string, person: string): Promise<void> {
    const before = await this.#member(account, person);
    await removeMembership(this.#dependencies, transaction, before, () => this.#explainConflict(before));
  }

  async #member(account: string, person: string): Promise<Membership> {
    const member = await findMembership(this.#dependencies.database, this.#dependencies.keyring, account, person);
    if (member === undefined) throw new Failure('unknown_record');
    return member;
  }

  /** Returns the reason why a membership was not changed. */
  async #explainConflict(before: Membership): Promise<Failure> {
    const now = await this.#member(before.account, before.person);
    if (now.role !== before.role) return new Failure('changed_meanwhile');
    return notPossible(mandatoryRole(before.account) === 'owner' ? 'lastOwner' : 'lastOperator');
  }
}

function statusOf(state: SignInState | undefined, until: number | undefined): SignInStatus {
  if (state === undefined) return 'altered';
  if (state.disabledAt !== undefined) return 'disabled';
  if (state.passwordBlockedAt !== undefined) return 'password-blocked';
  return until === undefined ? 'active' : 'locked';
}
