import { upsertDualControlDecision } from '../../src/accounts/account-notices.ts';
import type { Accounts } from '../../src/accounts/accounts.ts';
import type {
  ApprovalService,
  Consent,
  RequestingOperator,
  RestrictedChange,
} from '../../src/accounts/change-control.ts';
import type { SummaryLine } from '../../src/accounts/change-summary.ts';
import { type AuditAction, buildAuditEntry, type Origin } from '../../src/audit/audit.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import type { PreparedWrites, Transactions } from '../../src/idempotency/transaction.ts';
import { type Clock, DAY, type Random } from '../../src/kernel/clock.ts';
import type { Environment, Tenant } from '../../src/kernel/environment.ts';
import { Failure, notPossible } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { explain } from '../../src/kernel/reasons.ts';
import type { Database, JournalEntry, UnitOfWork } from '../../src/storage/database.ts';
import {
  APPROVAL_TTL_MS,
  type Approval,
  type ApprovalView,
  isPending,
  isUnfinished,
  type RequestedCall,
  wasMemberBefore,
  withStatus,
} from './approval.ts';
import {
  deleteApproval,
  deleteTamperedApproval,
  findApproval,
  findCall,
  insertApproval,
  isDailyLimitReached,
  listApprovals,
  listLapsedApprovals,
  purgeApprovals,
  updateApproval,
} from './approval-store.ts';

/** A member who acts in an account. */
interface ActingMember {
  readonly account: string;
  readonly person: { readonly id: string; readonly name: string };
  readonly origin: Origin;
}

interface ApprovalRequest {
  readonly environment: Environment;
  /** A value of `dualControl`. */
  readonly action: string;
  readonly summary: readonly SummaryLine[];
  readonly call: RequestedCall;
}

/** The members of an account, as far as approvals need them. */
export interface Approvers {
  /** Returns the ids of the members who may approve changes at present. */
  listApprovers(account: string): Promise<readonly string[]>;
  /** The same as `Team.memberWithFactorsSince`. */
  memberWithFactorsSince(account: string, person: string): Promise<number | undefined>;
}

/** An approved change of an operator, to be executed now. */
export interface Execution {
  readonly approval: Approval;
  readonly call: RequestedCall;
  readonly consent: Consent;
  /** The operator, whom the audit log names as the author of the change. */
  readonly origin: Origin;
}

const MIN_APPROVERS = 2;

const DECISIONS = { approved: 'approval.approved', declined: 'approval.declined' } as const;

const ID_CHARACTERS = 14;
/** How long an approval is listed after its end; the audit log keeps it permanently. */
const RETENTION_MS = 90 * DAY;

/**
 * Dual control of changes in production: one person requests a change, another one approves it, the first executes it. The
 * request of an operator, who is no member, is executed by the approval itself.
 */
export class Approvals implements ApprovalService {
  readonly #accounts: Accounts;
  readonly #transactions: Transactions;
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #approvers: Approvers;
  /** The change that each issued consent is valid for. */
  readonly #consents = new WeakMap<Consent, { readonly approval: Approval; readonly extraWrites: PreparedWrites }>();

  constructor(options: {
    accounts: Accounts;
    transactions: Transactions;
    database: Database;
    keyring: Keyring;
    clock: Clock;
    random: Random;
    approvers: Approvers;
  }) {
    this.#accounts = options.accounts;
    this.#transactions = options.transactions;
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#approvers = options.approvers;
  }

  /** True when two members may approve, so that one of them can request. */
  async arePossible(account: string): Promise<boolean> {
    return (await this.#approvers.listApprovers(account)).length >= MIN_APPROVERS;
  }

  /** Sets the flag of the account. `more` is committed with it. Throws `not_possible` where too few could approve. */
  async setRequired(account: string, isOn: boolean, origin: Origin, more?: UnitOfWork): Promise<void> {
    if (isOn && !(await this.arePossible(account))) throw notPossible('twoNeeded');
    await this.#transactions.run({ origin }, async (transaction) => {
      await this.#accounts.changeDualControl(transaction, account, isOn);
      if (more !== undefined) transaction.include(more, new Failure('changed_meanwhile'));
      transaction.write(upsertDualControlDecision(account, transaction.now));
    });
  }

  /**
   * Returns the id. Throws `not_possible` when no other member could approve, when too many are pending and for a call
   * that is too long, and `rate_limited`.
   */
  async request({ account, person, origin }: ActingMember, request: ApprovalRequest): Promise<string> {
    if (!(await this.#canApprove(account, person.id))) throw notPossible('nobodyApproves');
    return this.#insert(account, request, { requestedBy: person.id, requester: person.name }, origin);
  }

  /** Throws `ApprovalError` when no member of the account could approve it, or when it cannot be stored. */
  async requestByOperator(tenant: Tenant, change: RestrictedChange, { actor, ...origin }: Origin): Promise<string> {
    const { action, summary, body } = change;
    if (!(await this.#canApprove(tenant.account, actor.id))) throw notPossible('nobodyApproves');
    const requester = actor.name ?? 'operator';
    const requestedBy = actor.id ?? `operator:${requester}`;
    const request = { environment: tenant.environment, action, summary, call: { params: {}, body } };
    const type = actor.type === 'person' ? 'person' : 'operator';
    const operator = { requestedBy, requester, operator: { ...actor, type } } as const;
    return this.#insert(tenant.account, request, operator, { actor, ...origin });
  }

  redeem(consent: Consent, { account, environment }: Tenant, action: string): PreparedWrites {
    const issued = this.#consents.get(consent);
    const isOfThis =
      issued?.approval.account === account &&
      issued.approval.environment === environment &&
      issued.approval.action === action;
    if (!isOfThis || !this.#consents.delete(consent)) throw new Failure('changed_meanwhile');
    return issued.extraWrites;
  }

  /** Returns the pending ones and the newest of the others, the newest first. */
  list(account: string): Promise<ApprovalView[]> {
    return listApprovals(this.#database, this.#keyring, account, this.#clock());
  }

  /** Throws `unknown_record`. */
  async get(account: string, id: string): Promise<Approval> {
    const approval = await findApproval(this.#database, this.#keyring, account, id);
    if (approval === undefined) throw new Failure('unknown_record');
    return approval;
  }

  /**
   * Returns the change to execute now when an operator requested it: the decision is committed atomically with that
   * change. Throws `unknown_record`, `not_allowed` for the requester and for later members, `changed_meanwhile` when it
   * is decided already.
   */
  async decide(
    { account, person, origin }: ActingMember,
    id: string,
    decision: keyof typeof DECISIONS,
  ): Promise<Execution | undefined> {
    const approval = await this.get(account, id);
    if (approval.requestedBy === person.id) throw new Failure('not_allowed', explain('otherDecides'));
    this.#assertStatus('waiting', approval);
    if (!wasMemberBefore(approval, await this.#approvers.memberWithFactorsSince(account, person.id)))
      throw new Failure('not_allowed', explain('cameLater'));
    if (decision === 'approved' && approval.operator !== undefined)
      return this.#execution(approval, approval.operator, { account, person, origin });
    const decided = withStatus(approval, decision, person);
    await this.#update(approval, decided, this.#event(DECISIONS[decision], approval, origin));
    return undefined;
  }

  async #execution(
    approval: Approval,
    operator: RequestingOperator,
    { person, origin }: ActingMember,
  ): Promise<Execution> {
    const call = await this.#call(approval);
    const done = await updateApproval(this.#keyring, approval, withStatus(approval, 'done', person));
    const journal = (['approval.approved', 'approval.carried-out'] as const).map((action) =>
      this.#event(action, approval, origin),
    );
    const consent = this.#consent(approval, { writes: [done], journal });
    const { requestId } = origin;
    return { approval, call, consent, origin: { actor: operator, ...(requestId !== undefined && { requestId }) } };
  }

  /** Withdraws a request. Throws `unknown_record`, `not_allowed` for other users, `changed_meanwhile`. */
  async withdraw({ account, person, origin }: ActingMember, id: string): Promise<void> {
    const approval = await this.get(account, id);
    assertRequestedBy(approval, person);
    if (!isPending(approval, this.#clock())) throw new Failure('changed_meanwhile');
    const journal = [this.#event('approval.withdrawn', approval, origin)];
    await this.#commit({ account, writes: [deleteApproval(approval)], journal, scrubAfterCommit: true });
  }

  /**
   * Starts the execution of an approved change, which only one caller can: whatever its result, the approval has ended.
   * Throws `not_allowed` for other users than the requester, `changed_meanwhile` when it is not approved, or no longer.
   */
  async claimForExecution(
    approval: Approval,
    { person, origin }: ActingMember,
  ): Promise<{ call: RequestedCall; consent: Consent }> {
    assertRequestedBy(approval, person);
    this.#assertStatus('approved', approval);
    const call = await this.#call(approval);
    await this.#update(approval, withStatus(approval, 'done'), this.#event('approval.carried-out', approval, origin));
    return { call, consent: this.#consent(approval, { writes: [], journal: [] }) };
  }

  /** Records the failure of a started execution. */
  async recordFailure(approval: Approval, outcome: string, origin: Origin): Promise<void> {
    const journal = [this.#event('approval.carried-out', approval, origin, outcome)];
    await this.#commit({ account: approval.account, writes: [], journal });
  }

  /**
   * Erases the call of a request that has lapsed, and after `LISTED_MS` the entire record. A row that was altered in
   * the database is never sealed again: it is deleted with its call, and the deletion is recorded. Returns how many
   * rows were handled.
   */
  async sweep(now: number): Promise<number> {
    const { lapsed, tampered } = await listLapsedApprovals(this.#database, this.#keyring, now, LIMITS.rowsPerSweep);
    for (const approval of lapsed) {
      const writes = [await updateApproval(this.#keyring, approval, withStatus(approval, 'expired'))];
      await this.#database.commit({ account: approval.account, writes, scrubAfterCommit: true });
    }
    for (const place of tampered) {
      const journal = [this.#tamperedEvent(place)];
      await this.#database.commit({ writes: [deleteTamperedApproval(place)], journal, scrubAfterCommit: true });
    }
    const handled = lapsed.length + tampered.length;
    return handled + (await purgeApprovals(this.#database, now - RETENTION_MS, LIMITS.rowsPerSweep));
  }

  async #canApprove(account: string, requester: string | undefined): Promise<boolean> {
    return (await this.#approvers.listApprovers(account)).some((person) => person !== requester);
  }

  async #insert(
    account: string,
    { call, ...request }: ApprovalRequest,
    by: Pick<Approval, 'requestedBy' | 'requester' | 'operator'>,
    origin: Origin,
  ): Promise<string> {
    if (call.body.length > LIMITS.approvalCallCharacters) throw notPossible('tooLongToWait');
    const now = this.#clock();
    const approval: Approval = {
      ...request,
      ...by,
      account,
      id: newId('approval', ID_CHARACTERS, this.#random),
      status: 'waiting',
      decidedBy: undefined,
      decider: undefined,
      createdAt: now,
      expiresAt: now + APPROVAL_TTL_MS,
    };
    const writes = [await insertApproval(this.#keyring, approval, call)];
    const journal = [this.#event('approval.requested', approval, origin)];
    if (!(await this.#database.commit({ account, writes, journal })).committed)
      throw await this.#limitExceeded(approval);
    return approval.id;
  }

  /**
   * Returns why a request was rejected: too many are pending, they are too long, or too many were requested in a day.
   */
  async #limitExceeded(approval: Approval): Promise<Failure> {
    if (await isDailyLimitReached(this.#database, approval)) return new Failure('rate_limited');
    return notPossible('tooManyWait');
  }

  #consent(approval: Approval, extraWrites: PreparedWrites): Consent {
    const consent = { approvalId: approval.id };
    this.#consents.set(consent, { approval, extraWrites });
    return consent;
  }

  /** Throws `changed_meanwhile` when it is erased, or was altered in the database. */
  async #call(approval: Approval): Promise<RequestedCall> {
    const call = await findCall(this.#database, this.#keyring, approval);
    if (call === undefined) throw new Failure('changed_meanwhile');
    return call;
  }

  #assertStatus(status: 'waiting' | 'approved', approval: Approval): void {
    if (approval.status !== status || !isPending(approval, this.#clock())) throw new Failure('changed_meanwhile');
  }

  async #update(before: Approval, after: Approval, entry: JournalEntry): Promise<void> {
    const writes = [await updateApproval(this.#keyring, before, after)];
    await this.#commit({ account: before.account, writes, journal: [entry], scrubAfterCommit: !isUnfinished(after) });
  }

  async #commit(unit: UnitOfWork): Promise<void> {
    if (!(await this.#database.commit(unit)).committed) throw new Failure('changed_meanwhile');
  }

  #event(action: AuditAction, approval: Approval, origin: Origin, outcome = 'success'): JournalEntry {
    const { account, environment, id } = approval;
    const detail = { change: approval.action };
    return buildAuditEntry(this.#clock, origin, {
      action,
      outcome,
      account,
      environment,
      targets: [`approval:${id}`],
      detail,
    });
  }

  /** In the log of the service: only the key of such a row is known. */
  #tamperedEvent({ id }: Pick<Approval, 'id'>): JournalEntry {
    // A text that is no id of this service is untrusted.
    const targets = /^approval_[a-z0-9]{1,32}$/.test(id) ? [`approval:${id}`] : [];
    const what = { outcome: 'removed', targets, detail: { table: 'approvals' } } as const;
    const event = { action: 'record.altered', account: '', environment: '', ...what } as const;
    return buildAuditEntry(this.#clock, { actor: { type: 'service' } }, event);
  }
}

function assertRequestedBy({ requestedBy }: Approval, { id }: ActingMember['person']): void {
  if (requestedBy !== id) throw new Failure('not_allowed', explain('askerOnly'));
}
