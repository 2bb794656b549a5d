import type { Origin } from '../../src/audit/audit.ts';
import { DAY } from '../../src/kernel/clock.ts';
import { Failure, invalid } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { JournalEntry, Unit, Write } from '../../src/storage/database.ts';
import {
  deleteInvitation,
  deleteInvitationsOf,
  deleteResetsOf,
  FIRST_INVITATION,
  findInvitation,
  type Invitation,
  insertFirstInvitation,
  insertInvitation,
  openInvitations,
  openResetsOf,
} from './invitation-store.ts';
import { findMembership, type Membership, membershipsOf } from './membership-store.ts';
import { eventInEach, personEvent } from './people-events.ts';
import { readEmail, sameEmailForm } from './person.ts';
import { findPerson, findPersonByEmail } from './person-store.ts';
import { type Authority, fitsAccount, headOf, mayInvite, mayReset, OPERATOR, type Role } from './roles.ts';
import { isSecret, type Means, newSecret } from './sealing.ts';

/** An invitation and the secret of its link, which exists nowhere else. */
export interface Link {
  readonly id: string;
  readonly secret: string;
  readonly expiresAt: number;
}

/** What is done and told when links end. */
interface Ending {
  readonly writes: readonly Write[];
  readonly journal: readonly JournalEntry[];
}

const INVITATION_MS = 3 * DAY;
const RESET_MS = DAY;
const FIRST_MS = DAY;
const ID_CHARACTERS = 14;

const refused = (message: string): Failure => new Failure('not_possible', { message });

/** Links by which people come in. Whoever may make them was checked by the caller; to what, is checked here. */
export class Invitations {
  readonly #means: Means;

  constructor(means: Means) {
    this.#means = means;
  }

  /**
   * Takes the place of an open one of the same address into the same account. Throws `not_allowed`, `invalid_field`,
   * `changed_meanwhile`, and `not_possible` for a member or when too many are open.
   */
  async invite(
    to: { readonly account: string; readonly role: Role; readonly email?: string },
    by: Authority,
    origin: Origin,
  ): Promise<Link> {
    const { account, role } = to;
    const email = await this.checked(to, by);
    const kept = { account, role, kind: 'invitation', ...(email !== undefined && { email }) } as const;
    const invitation = this.#new(kept, INVITATION_MS, origin);
    const ended = email === undefined ? [] : await this.#openFor(account, email);
    return this.#make(invitation, this.#endOf(ended, origin), [this.#event(invitation, origin)]);
  }

  /** The address, when an invitation would be made. Throws as `invite`. */
  async checked(to: Authority & { readonly email?: string }, by: Authority): Promise<string | undefined> {
    const { account, role } = to;
    if (!fitsAccount(to)) throw invalid('role', 'expected a role of the account');
    if (!mayInvite(by, to)) throw new Failure('not_allowed');
    const email = to.email === undefined ? undefined : readEmail(to.email);
    if (email === undefined && role !== OPERATOR.role) throw invalid('email', 'expected an e-mail address');
    if (email !== undefined && (await this.#isMember(account, email)))
      throw refused('Somebody with this e-mail address is a member already.');
    return email;
  }

  /**
   * A link to choose a new password and second factor by; older ones of the person end. Throws `unknown_record`,
   * `not_allowed`, `changed_meanwhile` and `not_possible`.
   */
  async reset(person: string, by: Authority, origin: Origin): Promise<Link> {
    const memberships = await this.mustBeResettable(person, by);
    const invitation = this.#new({ account: by.account, person, kind: 'reset' }, RESET_MS, origin);
    const about = { person, targets: [`invitation:${invitation.id}`], detail: { kind: 'reset' } };
    const { database, keyring, clock } = this.#means;
    const { writes, journal } = this.#endOf(await openResetsOf(database, keyring, person, clock()), origin);
    // One that was made at this very moment ends, too.
    const ending = { writes: [...writes, deleteResetsOf(person)], journal };
    return this.#make(invitation, ending, eventInEach(clock, origin, 'person.invited', memberships, about));
  }

  /** Where the person belongs to, when a new way in would be made. Throws `unknown_record`, `not_allowed`. */
  async mustBeResettable(person: string, by: Authority): Promise<Membership[]> {
    const { database, keyring } = this.#means;
    const memberships = await membershipsOf(database, keyring, person);
    const known = await findPerson(database, keyring, person);
    const isTheirs = by.role === 'operator' || memberships.some(({ account }) => account === by.account);
    // Whoever is no member here is as good as nobody.
    if (known === undefined || !isTheirs) throw new Failure('unknown_record');
    if (!mayReset(by, memberships)) throw new Failure('not_allowed');
    return memberships;
  }

  /** Open ones, oldest first. */
  list(account: string): Promise<Invitation[]> {
    const { database, keyring, clock } = this.#means;
    return openInvitations(database, keyring, account, clock());
  }

  /** Throws `unknown_record` when it is none, or none any more. */
  async revoke(account: string, id: string, origin: Origin): Promise<void> {
    const unit = this.#endOf([{ account, id }], origin);
    if (!(await this.#means.database.commit(unit)).committed) throw new Failure('unknown_record');
  }

  /** What ends all links that were made in the name of the account, to be committed with the reason for it. */
  async endOfAll(account: string, origin: Origin): Promise<Unit> {
    const { journal } = this.#endOf(await this.list(account), origin);
    return { writes: [deleteInvitationsOf(account)], journal };
  }

  /**
   * The link of the first operator, who gives their e-mail address themselves: made once, by one node, when there is no
   * operator and no open invitation to become one.
   */
  async firstOperator(origin: Origin): Promise<Link | undefined> {
    const { database, keyring, random } = this.#means;
    const secret = newSecret(random);
    const own = { ...this.#new({ ...OPERATOR, kind: 'invitation' }, FIRST_MS, origin), id: FIRST_INVITATION };
    const writes = [await insertFirstInvitation(keyring, own, secret)];
    const { committed } = await database.commit({ writes, journal: [this.#event(own, origin)] });
    return committed ? { id: own.id, secret, expiresAt: own.expiresAt } : undefined;
  }

  /** By the secret of its link. Throws `not_possible`, whatever is wrong with it. */
  async find(secret: string): Promise<Invitation> {
    const { database, keyring, clock } = this.#means;
    const found = isSecret(secret) ? await findInvitation(database, keyring, secret, clock()) : undefined;
    if (found === undefined) throw linkIsBad();
    await mustStillInvite(this.#means, found);
    return found;
  }

  #new(
    of: Pick<Invitation, 'account' | 'kind' | 'role' | 'email' | 'person'>,
    lasts: number,
    { actor }: Origin,
  ): Invitation {
    const now = this.#means.clock();
    const id = newId('invitation', ID_CHARACTERS, this.#means.random);
    const by = actor.name !== undefined && { by: actor.name };
    const inviter = actor.type === 'person' && actor.id !== undefined && { inviter: actor.id };
    return { ...of, id, ...by, ...inviter, createdAt: now, expiresAt: now + lasts };
  }

  /** Those of the account for this address. */
  async #openFor(account: string, email: string): Promise<Invitation[]> {
    const form = sameEmailForm(email);
    return (await this.list(account)).filter(
      ({ email: other }) => other !== undefined && sameEmailForm(other) === form,
    );
  }

  /** Conflicts when one of them was used or revoked, or has expired. */
  #endOf(ended: readonly Pick<Invitation, 'account' | 'id'>[], origin: Origin): Ending {
    const { clock } = this.#means;
    const eventOf = ({ account, id }: Pick<Invitation, 'account' | 'id'>): JournalEntry =>
      personEvent(clock, origin, 'invitation.revoked', account, { targets: [`invitation:${id}`] });
    return { writes: ended.map((each) => deleteInvitation(each, clock())), journal: ended.map(eventOf) };
  }

  /** With what ends in its favour, in one unit. */
  async #make(invitation: Invitation, ending: Ending, journal: readonly JournalEntry[]): Promise<Link> {
    const { database, keyring, random } = this.#means;
    const secret = newSecret(random);
    const writes = [...ending.writes, await insertInvitation(keyring, invitation, secret)];
    const outcome = await database.commit({ writes, journal: [...ending.journal, ...journal] });
    if (!outcome.committed && outcome.write < ending.writes.length) throw new Failure('changed_meanwhile');
    if (!outcome.committed) throw await this.#noRoom(invitation);
    return { id: invitation.id, secret, expiresAt: invitation.expiresAt };
  }

  async #noRoom({ account }: Invitation): Promise<Failure> {
    const open = await this.list(account);
    if (open.length < LIMITS.invitationsPerAccount) return noRoomForPeople();
    return refused(`There are ${LIMITS.invitationsPerAccount} open invitations already; revoke some first.`);
  }

  #event({ account, id, role }: Invitation, origin: Origin): JournalEntry {
    const about = { targets: [`invitation:${id}`], detail: { kind: 'invitation', role: role ?? '' } };
    return personEvent(this.#means.clock, origin, 'person.invited', account, about);
  }

  async #isMember(account: string, email: string): Promise<boolean> {
    const { database, keyring } = this.#means;
    const person = await findPersonByEmail(database, keyring, email);
    return person !== undefined && (await findMembership(database, keyring, account, person.id)) !== undefined;
  }
}

/** A link is worth no more than who made it: throws `not_possible` when they may not make it any more. */
export async function mustStillInvite(
  { database, keyring }: Means,
  { account, role, inviter }: Pick<Invitation, 'account' | 'role' | 'inviter'>,
): Promise<void> {
  if (inviter === undefined) return;
  const theirs = await membershipsOf(database, keyring, inviter);
  // Whether the person of a reset is one that the account may reset is looked at beside this.
  const may = (by: Authority): boolean =>
    role === undefined ? mayReset(by, [{ account, role: headOf(account) }]) : mayInvite(by, { account, role });
  if (!theirs.some(may)) throw linkIsBad();
}

export const noRoomForPeople = (): Failure =>
  refused(`An account has ${LIMITS.peoplePerAccount} people at most, with those who are invited; remove some first.`);

export const linkIsBad = (): Failure => refused('This link was used or revoked, or is too old. Ask for a new one.');
