import type { AuditEvent } from '../../src/audit/audit.ts';
import type { Transaction } from '../../src/idempotency/transaction.ts';
import { DAY } from '../../src/kernel/clock.ts';
import { Failure, invalidField, notPossible } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import {
  deleteInvitation,
  deleteInvitationsByAccount,
  deleteResetsByPerson,
  FIRST_INVITATION,
  findInvitation,
  type Invitation,
  insertFirstInvitation,
  insertInvitation,
  listPendingInvitations,
  listPendingResetsByPerson,
} from './invitation-store.ts';
import { findMembership, listMembershipsByPerson, type Membership } from './membership-store.ts';
import { eventPerAccount, personEvent } from './people-events.ts';
import { normalizeEmail, parseEmail } from './person.ts';
import { findPerson, findPersonByEmail } from './person-store.ts';
import { type Authority, isRoleValidFor, mandatoryRole, mayInvite, mayReset, OPERATOR, type Role } from './roles.ts';
import { isSecret, newSecret, type PeopleDependencies } from './sealing.ts';

/** An invitation and the secret of its link, which exists nowhere else. */
export interface InvitationLink {
  readonly id: string;
  readonly secret: string;
  readonly expiresAt: number;
}

const INVITATION_TTL_MS = 3 * DAY;
const RESET_TTL_MS = DAY;
const FIRST_INVITATION_TTL_MS = DAY;
const ID_CHARACTERS = 14;

/** Invitation links. The caller checks who may create them; this class checks what for. */
export class Invitations {
  readonly #dependencies: PeopleDependencies;

  constructor(dependencies: PeopleDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Invites a user, and revokes a pending invitation of the same email to the same account. Throws `not_allowed`,
   * `invalid_field`, `changed_meanwhile`, and `not_possible` for a member or at the limit of pending invitations.
   */
  async invite(
    transaction: Transaction,
    to: { readonly account: string; readonly role: Role; readonly email?: string },
    by: Authority,
  ): Promise<InvitationLink> {
    const { account, role } = to;
    const email = await this.validateInvitation(to, by);
    const fields = { account, role, kind: 'invitation', ...(email !== undefined && { email }) } as const;
    const invitation = this.#newInvitation(fields, INVITATION_TTL_MS, transaction);
    const replaced = email === undefined ? [] : await this.#listPendingFor(account, email);
    revokeInvitations(transaction, replaced, new Failure('changed_meanwhile'));
    transaction.record(invitedEvent(invitation));
    return this.#issue(transaction, invitation);
  }

  /** Returns the email of an invitation that would be created. Throws as `invite`. */
  async validateInvitation(to: Authority & { readonly email?: string }, by: Authority): Promise<string | undefined> {
    const { account, role } = to;
    if (!isRoleValidFor(to)) throw invalidField('role', 'role');
    if (!mayInvite(by, to)) throw new Failure('not_allowed');
    const email = to.email === undefined ? undefined : parseEmail(to.email);
    if (email === undefined && role !== OPERATOR.role) throw invalidField('email', 'email');
    if (email !== undefined && (await this.#isMember(account, email))) throw notPossible('emailIsMember');
    return email;
  }

  /**
   * Creates a credential reset link, and revokes earlier ones of the user. Throws `unknown_record`, `not_allowed`,
   * `changed_meanwhile` and `not_possible`.
   */
  async reset(transaction: Transaction, person: string, by: Authority): Promise<InvitationLink> {
    const { database, keyring } = this.#dependencies;
    const memberships = await this.assertResettable(person, by);
    const invitation = this.#newInvitation({ account: by.account, person, kind: 'reset' }, RESET_TTL_MS, transaction);
    const replaced = await listPendingResetsByPerson(database, keyring, person, transaction.now);
    revokeInvitations(transaction, replaced, new Failure('changed_meanwhile'));
    // A reset that is created concurrently ends too.
    transaction.write(deleteResetsByPerson(person));
    const details = { person, targets: [`invitation:${invitation.id}`], detail: { kind: 'reset' } };
    for (const event of eventPerAccount('person.invited', memberships, details)) transaction.record(event);
    return this.#issue(transaction, invitation);
  }

  /** Returns the memberships of a user who may be reset. Throws `unknown_record`, `not_allowed`. */
  async assertResettable(person: string, by: Authority): Promise<Membership[]> {
    const { database, keyring } = this.#dependencies;
    const memberships = await listMembershipsByPerson(database, keyring, person);
    const known = await findPerson(database, keyring, person);
    const isTheirs = by.role === 'operator' || memberships.some(({ account }) => account === by.account);
    // A user of other accounts is treated as not found.
    if (known === undefined || !isTheirs) throw new Failure('unknown_record');
    if (!mayReset(by, memberships)) throw new Failure('not_allowed');
    return memberships;
  }

  /** Lists the pending invitations, oldest first. */
  list(account: string): Promise<Invitation[]> {
    const { database, keyring, clock } = this.#dependencies;
    return listPendingInvitations(database, keyring, account, clock());
  }

  /** Throws `unknown_record` when no such invitation is pending. */
  async revoke(transaction: Transaction, account: string, id: string): Promise<void> {
    revokeInvitations(transaction, [{ account, id }], new Failure('unknown_record'));
  }

  /** Revokes all invitations of the account, also those that are created concurrently. */
  async revokeAll(transaction: Transaction, account: string): Promise<void> {
    transaction.write(deleteInvitationsByAccount(account));
    for (const { id } of await this.list(account)) transaction.record(revokedEvent(account, id));
  }

  /**
   * Invites the first operator, who enters their own email. Returns the link once, on one node; undefined when there is an
   * operator, or a pending invitation to become one.
   */
  async inviteFirstOperator(transaction: Transaction): Promise<InvitationLink | undefined> {
    // The attempt before met one of them.
    if (transaction.attempt > 0) return undefined;
    const { keyring, random } = this.#dependencies;
    const secret = newSecret(random);
    const invitation = {
      ...this.#newInvitation({ ...OPERATOR, kind: 'invitation' }, FIRST_INVITATION_TTL_MS, transaction),
      id: FIRST_INVITATION,
    };
    transaction.write(await insertFirstInvitation(keyring, invitation, secret));
    transaction.record(invitedEvent(invitation));
    return { id: invitation.id, secret, expiresAt: invitation.expiresAt };
  }

  /** Returns the invitation of a link. Throws `not_possible`, for every reason the same. */
  async find(secret: string): Promise<Invitation> {
    const { database, keyring, clock } = this.#dependencies;
    const found = isSecret(secret) ? await findInvitation(database, keyring, secret, clock()) : undefined;
    if (found === undefined) throw invalidLink();
    await assertInviterStillAllowed(this.#dependencies, found);
    return found;
  }

  #newInvitation(
    fields: Pick<Invitation, 'account' | 'kind' | 'role' | 'email' | 'person'>,
    ttlMs: number,
    { now, origin: { actor } }: Transaction,
  ): Invitation {
    const id = newId('invitation', ID_CHARACTERS, this.#dependencies.random);
    const name = actor.name !== undefined && { inviterName: actor.name };
    const person = actor.type === 'person' && actor.id !== undefined && { inviterId: actor.id };
    return { ...fields, id, ...name, ...person, createdAt: now, expiresAt: now + ttlMs };
  }

  /** Lists the pending invitations of the account for this email. */
  async #listPendingFor(account: string, email: string): Promise<Invitation[]> {
    const form = normalizeEmail(email);
    return (await this.list(account)).filter(
      ({ email: other }) => other !== undefined && normalizeEmail(other) === form,
    );
  }

  async #issue(transaction: Transaction, invitation: Invitation): Promise<InvitationLink> {
    const { keyring, random } = this.#dependencies;
    const secret = newSecret(random);
    transaction.write(await insertInvitation(keyring, invitation, secret), () => this.#limitFailure(invitation));
    return { id: invitation.id, secret, expiresAt: invitation.expiresAt };
  }

  async #limitFailure({ account }: Invitation): Promise<Failure> {
    const open = await this.list(account);
    if (open.length < LIMITS.invitationsPerAccount) return teamFull();
    return notPossible('tooManyInvitations', { number: LIMITS.invitationsPerAccount });
  }

  async #isMember(account: string, email: string): Promise<boolean> {
    const { database, keyring } = this.#dependencies;
    const person = await findPersonByEmail(database, keyring, email);
    return person !== undefined && (await findMembership(database, keyring, account, person.id)) !== undefined;
  }
}

/** Conflicts when an invitation was used or revoked, or has expired. */
function revokeInvitations(
  transaction: Transaction,
  revoked: readonly Pick<Invitation, 'account' | 'id'>[],
  onConflict: Failure,
): void {
  for (const invitation of revoked) {
    transaction.write(deleteInvitation(invitation, transaction.now), onConflict);
    transaction.record(revokedEvent(invitation.account, invitation.id));
  }
}

const revokedEvent = (account: string, id: string): AuditEvent =>
  personEvent('invitation.revoked', account, { targets: [`invitation:${id}`] });

const invitedEvent = ({ account, id, role }: Invitation): AuditEvent =>
  personEvent('person.invited', account, {
    targets: [`invitation:${id}`],
    detail: { kind: 'invitation', role: role ?? '' },
  });

/** A link is valid only while its inviter may still create it. Throws `not_possible` otherwise. */
export async function assertInviterStillAllowed(
  { database, keyring }: PeopleDependencies,
  { account, role, inviterId }: Pick<Invitation, 'account' | 'role' | 'inviterId'>,
): Promise<void> {
  if (inviterId === undefined) return;
  const memberships = await listMembershipsByPerson(database, keyring, inviterId);
  // The caller checks separately whether the account may reset this user.
  const may = (by: Authority): boolean =>
    role === undefined ? mayReset(by, [{ account, role: mandatoryRole(account) }]) : mayInvite(by, { account, role });
  if (!memberships.some(may)) throw invalidLink();
}

export const teamFull = (): Failure => notPossible('usersFull', { number: LIMITS.peoplePerAccount });

export const invalidLink = (): Failure => notPossible('linkInvalid');
