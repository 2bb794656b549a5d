import { findAccount } from '../accounts/account-store.ts';
import { type AuditAction, auditEntry, type Origin } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { type Clock, DAY, type Random } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { newId } from '../kernel/ids.ts';
import { LIMITS } from '../kernel/limits.ts';
import { Team } from '../people/team.ts';
import type { Database, JournalEntry, Unit } from '../storage/database.ts';
import {
  APPROVAL_LASTS_MS,
  type Approval,
  type AskedCall,
  atStatus,
  isOlderThan,
  isOpen,
  type ListedApproval,
  mayHappen,
  type SummaryLine,
} from './approval.ts';
import {
  approvalsOf,
  callOf,
  deleteApproval,
  findApproval,
  insertApproval,
  isDayFull,
  removeApprovals,
  updateApproval,
  voidApprovals,
} from './approval-store.ts';

/** Somebody who acts in an account. */
interface Acting {
  readonly account: string;
  readonly person: { readonly id: string; readonly name: string };
  readonly origin: Origin;
}

interface Asked {
  readonly environment: Environment;
  /** A word of `byTwo`. */
  readonly action: string;
  readonly summary: readonly SummaryLine[];
  readonly call: AskedCall;
}

const CAME_LATER =
  'This was asked for before you came, or before you had your present second factor. Have it asked for again.';

const DECISIONS = { approved: 'approval.approved', declined: 'approval.declined' } as const;

const ID_CHARACTERS = 14;
/** How long it can be seen what became of an approval; the audit log keeps it for good. */
const KEPT_MS = 90 * DAY;

/** Changes in production that take two people: one asks and carries out, another one decides in between. */
export class Approvals {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #team: Team;

  constructor(options: { database: Database; keyring: Keyring; clock: Clock; random: Random }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#team = new Team(options);
  }

  /** Read each time, so that it holds everywhere at once. */
  async areNeeded(account: string): Promise<boolean> {
    return (await findAccount(this.#database, account))?.productionByTwo === true;
  }

  /** Returns the id. Throws `not_possible` when too many wait and for a call that is too long, and `rate_limited`. */
  async ask({ account, person, origin }: Acting, { call, ...asked }: Asked): Promise<string> {
    if (call.body.length > LIMITS.waitingCallCharacters)
      throw new Failure('not_possible', { message: 'This is too long to wait for approval. Do it in parts.' });
    const now = this.#clock();
    const approval: Approval = {
      ...asked,
      account,
      id: newId('approval', ID_CHARACTERS, this.#random),
      status: 'waiting',
      requestedBy: person.id,
      decidedBy: undefined,
      requester: person.name,
      decider: undefined,
      createdAt: now,
      expiresAt: now + APPROVAL_LASTS_MS,
    };
    const writes = [await insertApproval(this.#keyring, approval, call)];
    const journal = [this.#event('approval.requested', approval, origin)];
    if (!(await this.#database.commit({ account, writes, journal })).committed) throw await this.#tooMany(approval);
    return approval.id;
  }

  /** As many are open as may be, or as much, or too many were asked for in a day. */
  async #tooMany(approval: Approval): Promise<Failure> {
    if (await isDayFull(this.#database, approval)) return new Failure('rate_limited');
    return new Failure('not_possible', { message: 'Too many changes wait for approval already.' });
  }

  /** All that are open and the newest of the others, the newest first. */
  list(account: string): Promise<ListedApproval[]> {
    return approvalsOf(this.#database, this.#keyring, account, this.#clock());
  }

  /** Throws `unknown_record`. */
  async get(account: string, id: string): Promise<Approval> {
    const approval = await findApproval(this.#database, this.#keyring, account, id);
    if (approval === undefined) throw new Failure('unknown_record');
    return approval;
  }

  /** Throws `unknown_record`, `not_allowed` for who asked and who came later, `changed_meanwhile` when it does not wait any more. */
  async decide({ account, person, origin }: Acting, id: string, verdict: keyof typeof DECISIONS): Promise<void> {
    const approval = await this.get(account, id);
    if (approval.requestedBy === person.id)
      throw new Failure('not_allowed', { message: 'Somebody else has to decide this.' });
    this.#mustBe('waiting', approval);
    if (isOlderThan(approval, await this.#team.settledSince(account, person.id)))
      throw new Failure('not_allowed', { message: CAME_LATER });
    const decided = atStatus(approval, verdict, person);
    await this.#change(approval, decided, this.#event(DECISIONS[verdict], approval, origin));
  }

  /** Takes back what was asked for. Throws `unknown_record`, `not_allowed` for others, `changed_meanwhile`. */
  async withdraw({ account, person, origin }: Acting, id: string): Promise<void> {
    const approval = await this.get(account, id);
    mustHaveAsked(approval, person);
    if (!isOpen(approval, this.#clock())) throw new Failure('changed_meanwhile');
    const journal = [this.#event('approval.withdrawn', approval, origin)];
    await this.#commit({ account, writes: [deleteApproval(approval)], journal, erases: true });
  }

  /**
   * Sets an approved change off, which only one caller ever can: whatever comes of it, it is over. Throws `not_allowed` for
   * others than who asked, `changed_meanwhile` when it is not approved, or not any more.
   */
  async take(approval: Approval, { person, origin }: Acting): Promise<AskedCall> {
    mustHaveAsked(approval, person);
    this.#mustBe('approved', approval);
    const call = await callOf(this.#database, this.#keyring, approval);
    if (call === undefined) throw new Failure('changed_meanwhile');
    await this.#change(approval, atStatus(approval, 'done'), this.#event('approval.carried-out', approval, origin));
    return call;
  }

  /** The end of one that was set off and failed. */
  async noteFailure(approval: Approval, outcome: string, origin: Origin): Promise<void> {
    const journal = [this.#event('approval.carried-out', approval, origin, outcome)];
    await this.#commit({ account: approval.account, writes: [], journal });
  }

  /** Forgets what a change that is void would have done, and after a long time all of it. Returns how many. */
  async sweep(): Promise<number> {
    const now = this.#clock();
    const over = await voidApprovals(this.#database, this.#keyring, now, LIMITS.rowsPerSweep);
    for (const approval of over) {
      const writes = [await updateApproval(this.#keyring, approval, atStatus(approval, 'expired'))];
      await this.#database.commit({ account: approval.account, writes, erases: true });
    }
    return over.length + (await removeApprovals(this.#database, now - KEPT_MS, LIMITS.rowsPerSweep));
  }

  #mustBe(status: 'waiting' | 'approved', approval: Approval): void {
    if (approval.status !== status || !isOpen(approval, this.#clock())) throw new Failure('changed_meanwhile');
  }

  async #change(before: Approval, after: Approval, entry: JournalEntry): Promise<void> {
    const writes = [await updateApproval(this.#keyring, before, after)];
    await this.#commit({ account: before.account, writes, journal: [entry], erases: !mayHappen(after) });
  }

  async #commit(unit: Unit): Promise<void> {
    if (!(await this.#database.commit(unit)).committed) throw new Failure('changed_meanwhile');
  }

  #event(action: AuditAction, approval: Approval, origin: Origin, outcome = 'success'): JournalEntry {
    const { account, environment, id } = approval;
    const detail = { change: approval.action };
    return auditEntry(this.#clock, origin, {
      action,
      outcome,
      account,
      environment,
      targets: [`approval:${id}`],
      detail,
    });
  }
}

function mustHaveAsked({ requestedBy }: Approval, { id }: Acting['person']): void {
  if (requestedBy !== id) throw new Failure('not_allowed', { message: 'Only who asked for this can do that.' });
}
