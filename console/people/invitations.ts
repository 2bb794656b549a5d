import type { Origin } from '../../src/audit/audit.ts';
import { DAY } from '../../src/kernel/clock.ts';
import { Failure, invalidField, notPossible } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { JournalEntry, UnitOfWork, Write } from '../../src/storage/database.ts';
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

/** Writes and records of a revocation. */
interface Revocation {
  readonly writes: readonly Write[];
  readonly journal: readonly JournalEntry[];
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
    to: { readonly account: string; readonly role: Role; readonly email?: string },
    by: Authority,
    origin: Origin,
  ): Promise<InvitationLink> {
    const { account, role } = to;
    const email = await this.validateInvitation(to, by);
    const fields = { account, role, kind: 'invitation', ...(email !== undefined && { email }) } as const;
    const invitation = this.#newInvitation(fields, INVITATION_TTL_MS, origin);
    const revoked = email === undefined ? [] : await this.#listPendingFor(account, email);
    return this.#issue(invitation, this.#buildRevocation(revoked, origin), [this.#event(invitation, origin)]);
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
  async reset(person: string, by: Authority, origin: Origin): Promise<InvitationLink> {
    const memberships = await this.assertResettable(person, by);
    const invitation = this.#newInvitation({ account: by.account, person, kind: 'reset' }, RESET_TTL_MS, origin);
    const details = { person, targets: [`invitation:${invitation.id}`], detail: { kind: 'reset' } };
    const { database, keyring, clock } = this.#dependencies;
    const { writes, journal } = this.#buildRevocation(
      await listPendingResetsByPerson(database, keyring, person, clock()),
      origin,
    );
    // A reset that is created concurrently ends too.
    const revocation = { writes: [...writes, deleteResetsByPerson(person)], journal };
    return this.#issue(invitation, revocation, eventPerAccount(clock, origin, 'person.invited', memberships, details));
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

  /** Returns the pending ones, oldest first. */
  list(account: string): Promise<Invitation[]> {
    const { database, keyring, clock } = this.#dependencies;
    return listPendingInvitations(database, keyring, account, clock());
  }

  /** Throws `unknown_record` when it does not exist, or is no longer pending. */
  async revoke(account: string, id: string, origin: Origin): Promise<void> {
    const unit = this.#buildRevocation([{ account, id }], origin);
    if (!(await this.#dependencies.database.commit(unit)).committed) throw new Failure('unknown_record');
  }

  /** Builds the revocation of all invitations of the account, to be committed with its cause. */
  async revokeAll(account: string, origin: Origin): Promise<UnitOfWork> {
    const { journal } = this.#buildRevocation(await this.list(account), origin);
    return { writes: [deleteInvitationsByAccount(account)], journal };
  }

  /**
   * Creates the link of the first operator, who enters their email address themselves: created once, by one node, when
   * there is no operator and no pending invitation of one.
   */
  async inviteFirstOperator(origin: Origin): Promise<InvitationLink | undefined> {
    const { database, keyring, random } = this.#dependencies;
    const secret = newSecret(random);
    const invitation = {
      ...this.#newInvitation({ ...OPERATOR, kind: 'invitation' }, FIRST_INVITATION_TTL_MS, origin),
      id: FIRST_INVITATION,
    };
    const writes = [await insertFirstInvitation(keyring, invitation, secret)];
    const { committed } = await database.commit({ writes, journal: [this.#event(invitation, origin)] });
    return committed ? { id: invitation.id, secret, expiresAt: invitation.expiresAt } : undefined;
  }

  /** Finds an invitation by the secret of its link. Throws `not_possible` for every reason. */
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
    { actor }: Origin,
  ): Invitation {
    const now = this.#dependencies.clock();
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

  /** Conflicts when one of them was used or revoked, or has expired. */
  #buildRevocation(revoked: readonly Pick<Invitation, 'account' | 'id'>[], origin: Origin): Revocation {
    const { clock } = this.#dependencies;
    const buildEvent = ({ account, id }: Pick<Invitation, 'account' | 'id'>): JournalEntry =>
      personEvent(clock, origin, 'invitation.revoked', account, { targets: [`invitation:${id}`] });
    return { writes: revoked.map((each) => deleteInvitation(each, clock())), journal: revoked.map(buildEvent) };
  }

  /** Includes the revocations that the invitation causes, in one unit. */
  async #issue(
    invitation: Invitation,
    revocation: Revocation,
    journal: readonly JournalEntry[],
  ): Promise<InvitationLink> {
    const { database, keyring, random } = this.#dependencies;
    const secret = newSecret(random);
    const writes = [...revocation.writes, await insertInvitation(keyring, invitation, secret)];
    const outcome = await database.commit({ writes, journal: [...revocation.journal, ...journal] });
    if (!outcome.committed && outcome.write < revocation.writes.length) throw new Failure('changed_meanwhile');
    if (!outcome.committed) throw await this.#limitFailure(invitation);
    return { id: invitation.id, secret, expiresAt: invitation.expiresAt };
  }

  async #limitFailure({ account }: Invitation): Promise<Failure> {
    const open = await this.list(account);
    if (open.length < LIMITS.invitationsPerAccount) return teamFull();
    return notPossible('invitations', { number: LIMITS.invitationsPerAccount });
  }

  #event({ account, id, role }: Invitation, origin: Origin): JournalEntry {
    const details = { targets: [`invitation:${id}`], detail: { kind: 'invitation', role: role ?? '' } };
    return personEvent(this.#dependencies.clock, origin, 'person.invited', account, details);
  }

  async #isMember(account: string, email: string): Promise<boolean> {
    const { database, keyring } = this.#dependencies;
    const person = await findPersonByEmail(database, keyring, email);
    return person !== undefined && (await findMembership(database, keyring, account, person.id)) !== undefined;
  }
}

/**
 * A link grants no more than its creator may grant: throws `not_possible` when the creator may not create it any more.
 */
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

export const teamFull = (): Failure => notPossible('peopleFull', { number: LIMITS.peoplePerAccount });

export const invalidLink = (): Failure => notPossible('linkBad');
