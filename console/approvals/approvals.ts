import { isDeepStrictEqual } from 'node:util';
import { upsertDualControlDecision } from '../../src/accounts/account-notices.ts';
import type { Accounts } from '../../src/accounts/accounts.ts';
import type {
  ApprovalService,
  Consent,
  OperatorRequest,
  RequestingOperator,
  RestrictedChange,
  SummaryLine,
} from '../../src/accounts/change-control.ts';
import type { AuditAction, AuditEvent, Origin } from '../../src/audit/audit.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import type { Fill, Transaction, Transactions } from '../../src/idempotency/transaction.ts';
import { type Clock, DAY, type Random } from '../../src/kernel/clock.ts';
import type { Environment, Tenant } from '../../src/kernel/environment.ts';
import { Failure, notPossible } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { explain } from '../../src/kernel/reasons.ts';
import type { Database } from '../../src/storage/database.ts';
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
  isRequesterLimitReached,
  listApprovals,
  listLapsedApprovals,
  listOperatorRequests,
  listPendingByRequester,
  purgeApprovals,
  updateApproval,
} from './approval-store.ts';

/** A member who acts in an account. */
interface ActingMember {
  readonly account: string;
  readonly person: { readonly id: string; readonly name: string };
}

interface ApprovalRequest {
  readonly environment: Environment;
  /** A value of `dualControl`. */
  readonly action: string;
  readonly summary: readonly SummaryLine[];
  readonly call: RequestedCall;
}

/** The members of an account and the operators, as far as approvals need them. */
interface Approvers {
  /** Returns the ids of the members who may approve changes at present. */
  listApprovers(account: string): Promise<readonly string[]>;
  /** The same as `Team.memberWithFactorsSince`. */
  memberWithFactorsSince(account: string, person: string): Promise<number | undefined>;
  /** The same as `Team.holdApprover`. */
  holdApprover(transaction: Transaction, account: string, person: string): Promise<boolean>;
  /** The same as `Team.isOperator`. */
  isOperator(person: string): Promise<boolean>;
  /** The same as `Team.holdOperator`. */
  holdOperator(transaction: Transaction, person: string): Promise<boolean>;
}

/** An approval that ends in the transaction, with the change that it permits. */
interface RedeemedApproval {
  readonly call: RequestedCall;
  readonly consent: Consent;
}

/** The approved change of an operator, which is made in the transaction that decides it. */
export interface Execution extends RedeemedApproval {
  readonly approval: Approval;
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
  /** The approval of each unused consent, and the transaction that ends it. */
  readonly #consents = new WeakMap<Consent, { readonly approval: Approval; readonly transaction: Transaction }>();

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
  async hasEnoughApprovers(account: string): Promise<boolean> {
    return (await this.#approvers.listApprovers(account)).length >= MIN_APPROVERS;
  }

  /** Sets the flag of the account. Throws `not_possible` where too few could approve. */
  async setRequired(transaction: Transaction, account: string, isOn: boolean): Promise<void> {
    if (isOn && !(await this.hasEnoughApprovers(account))) throw notPossible('twoApproversNeeded');
    await this.#accounts.setDualControl(transaction, account, isOn);
    transaction.write(upsertDualControlDecision(account, transaction.now));
  }

  /**
   * Returns the id. Throws `not_possible` when no other member could approve, when too many are pending, of the account or of
   * the requester, and for a call that is too long, and `rate_limited`.
   */
  async request(
    transaction: Transaction,
    { account, person }: ActingMember,
    request: ApprovalRequest,
  ): Promise<string> {
    if (!(await this.#canApprove(account, person.id))) throw notPossible('noOtherApprover');
    return this.#insert(transaction, account, request, { requestedBy: person.id, requester: person.name });
  }

  /** Throws as `request`. */
  async requestByOperator(tenant: Tenant, change: RestrictedChange, origin: Origin): Promise<string> {
    const { action, summary, body } = change;
    const { actor } = origin;
    if (!(await this.#canApprove(tenant.account, actor.id))) throw notPossible('noOtherApprover');
    const requester = actor.name ?? 'operator';
    const requestedBy = actor.id ?? `operator:${requester}`;
    const request = { environment: tenant.environment, action, summary, call: { params: {}, body } };
    const type = actor.type === 'person' ? 'person' : 'operator';
    const operator = { requestedBy, requester, operator: { ...actor, type } } as const;
    // The request lasts although the change of the caller fails with `ApprovalRequired`.
    return this.#transactions.run({ account: tenant.account, origin }, (transaction) =>
      this.#insert(transaction, tenant.account, request, operator),
    );
  }

  async findOperatorRequest(tenant: Tenant, change: RestrictedChange): Promise<OperatorRequest | undefined> {
    const requests = await listOperatorRequests(this.#database, this.#keyring, tenant, this.#clock());
    const found = requests.find(
      ({ action, summary }) => action === change.action && isDeepStrictEqual(summary, change.summary),
    );
    if (found === undefined || !(await this.#mayStillRequest(found))) return undefined;
    if (found.status === 'waiting') return { id: found.id, isApproved: false };
    const { decidedBy } = found;
    const isApproved =
      decidedBy !== undefined &&
      decidedBy !== found.requestedBy &&
      (await this.#approvers.listApprovers(tenant.account)).includes(decidedBy);
    return isApproved ? { id: found.id, isApproved } : undefined;
  }

  redeem(transaction: Transaction, consent: Consent, { account, environment }: Tenant, action: string): void {
    const issued = this.#consents.get(consent);
    const isOfThis =
      issued?.transaction === transaction &&
      issued.approval.account === account &&
      issued.approval.environment === environment &&
      issued.approval.action === action;
    if (!isOfThis || !this.#consents.delete(consent)) throw new Failure('changed_meanwhile');
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
   * Decides a request. Returns the change when an operator requested it: the transaction makes it together with the decision.
   * Throws `unknown_record`, `not_allowed` for the requester and for members who came later, `changed_meanwhile` when it is
   * decided already, and `not_possible` when it was requested by a user who is no longer an operator, also until the commit.
   */
  async decide(
    transaction: Transaction,
    { account, person }: ActingMember,
    id: string,
    decision: keyof typeof DECISIONS,
  ): Promise<Execution | undefined> {
    const approval = await this.get(account, id);
    if (approval.requestedBy === person.id) throw new Failure('not_allowed', explain('otherUserDecides'));
    this.#assertStatus('waiting', approval);
    if (!wasMemberBefore(approval, await this.#approvers.memberWithFactorsSince(account, person.id)))
      throw new Failure('not_allowed', explain('approverNotYetEligible'));
    if (!(await this.#approvers.holdApprover(transaction, account, person.id))) throw new Failure('not_allowed');
    if (decision === 'approved' && approval.operator !== undefined)
      return this.#execute(transaction, approval, approval.operator, person);
    const decided = withStatus(approval, decision, person);
    await this.#update(transaction, approval, decided);
    transaction.record(approvalEvent(DECISIONS[decision], approval));
    return undefined;
  }

  /** Ends the approval of an operator's change, which the transaction makes now. */
  async #execute(
    transaction: Transaction,
    approval: Approval,
    operator: RequestingOperator,
    person: ActingMember['person'],
  ): Promise<Execution> {
    if (operator.type === 'person' && !(await this.#approvers.holdOperator(transaction, approval.requestedBy)))
      throw notPossible('requesterRightLost');
    const call = await this.#call(approval);
    await this.#update(transaction, approval, withStatus(approval, 'done', person));
    transaction.record(approvalEvent('approval.approved', approval));
    transaction.record(approvalEvent('approval.carried-out', approval));
    const { requestId } = transaction.origin;
    const requester = { actor: operator, ...(requestId !== undefined && { requestId }) };
    return { approval, call, consent: this.#issueConsent(transaction, approval, requester) };
  }

  /** Withdraws a request. Throws `unknown_record`, `not_allowed` for others than the requester, `changed_meanwhile`. */
  async withdraw(transaction: Transaction, { account, person }: ActingMember, id: string): Promise<void> {
    const approval = await this.get(account, id);
    assertRequestedBy(approval, person);
    if (!isPending(approval, this.#clock())) throw new Failure('changed_meanwhile');
    transaction.write(deleteApproval(approval), new Failure('changed_meanwhile'));
    transaction.scrub();
    transaction.record(approvalEvent('approval.withdrawn', approval));
  }

  /**
   * Withdraws the pending requests of a member whose membership ends in the transaction: they could not be executed, and would
   * count toward the limits of the account.
   */
  async withdrawAll(transaction: Transaction, account: string, person: string): Promise<void> {
    const pending = await listPendingByRequester(this.#database, this.#keyring, { account, person }, this.#clock());
    for (const approval of pending) {
      // The request of an operator, who may also be a member, does not depend on the membership.
      if (approval.operator !== undefined) continue;
      transaction.write(deleteApproval(approval));
      transaction.scrub();
      transaction.record(approvalEvent('approval.withdrawn', approval));
    }
  }

  /** Throws `not_allowed` for others than the requester, and `changed_meanwhile` unless the change is approved. */
  assertExecutable(approval: Approval, person: ActingMember['person']): void {
    assertRequestedBy(approval, person);
    this.#assertStatus('approved', approval);
  }

  /**
   * Ends an approval with the change that the transaction makes, so that only one caller can make it. Throws `not_possible`
   * when the approver has lost the right, also until the commit. Conflicts as `changed_meanwhile`.
   */
  async redeemApproval(transaction: Transaction, approval: Approval): Promise<RedeemedApproval> {
    const { account, decidedBy } = approval;
    if (decidedBy === undefined || !(await this.#approvers.holdApprover(transaction, account, decidedBy)))
      throw notPossible('approverRightLost');
    const call = await this.#call(approval);
    await this.#update(transaction, approval, withStatus(approval, 'done'));
    transaction.record(approvalEvent('approval.carried-out', approval));
    return { call, consent: this.#issueConsent(transaction, approval) };
  }

  /** Ends the approval of a change that failed, unless a concurrent call has ended it. */
  async endFailed(transaction: Transaction, { account, id }: Approval, outcome: string): Promise<void> {
    const approval = await findApproval(this.#database, this.#keyring, account, id);
    if (approval?.status !== 'approved') return;
    transaction.write(await updateApproval(this.#keyring, approval, withStatus(approval, 'done')));
    transaction.scrub();
    this.recordFailure(transaction, approval, outcome);
  }

  /** Records the failure of a change whose approval has ended. */
  recordFailure(transaction: Transaction, approval: Approval, outcome: string): void {
    transaction.record(approvalEvent('approval.carried-out', approval, outcome));
  }

  /**
   * Erases the call of a request that has lapsed, and after `RETENTION_MS` the entire record. A row that was altered in
   * the database is never sealed again: it is deleted with its call, and the deletion is recorded. Returns how many
   * rows were handled.
   */
  async sweep(now: number): Promise<number> {
    const { lapsed, tampered } = await listLapsedApprovals(this.#database, this.#keyring, now, LIMITS.rowsPerSweep);
    for (const approval of lapsed)
      await this.#sweepOne(async (transaction) =>
        transaction.write(await updateApproval(this.#keyring, approval, withStatus(approval, 'expired'))),
      );
    for (const key of tampered)
      await this.#sweepOne(async (transaction) => {
        transaction.write(deleteTamperedApproval(key));
        transaction.record(tamperedEvent(key));
      });
    const handled = lapsed.length + tampered.length;
    return handled + (await purgeApprovals(this.#database, now - RETENTION_MS, LIMITS.rowsPerSweep));
  }

  async #sweepOne(fill: Fill<void>): Promise<void> {
    await this.#transactions.run({ origin: { actor: { type: 'service' } } }, async (transaction) => {
      // At a conflict another node has swept the row.
      if (transaction.attempt > 0) return;
      await fill(transaction);
      transaction.scrub();
    });
  }

  async #canApprove(account: string, requester: string | undefined): Promise<boolean> {
    return (await this.#approvers.listApprovers(account)).some((person) => person !== requester);
  }

  /** False when a user of the console who requested it is no longer an operator. A user of the command line has no membership. */
  async #mayStillRequest({ operator, requestedBy }: Approval): Promise<boolean> {
    return operator?.type !== 'person' || this.#approvers.isOperator(requestedBy);
  }

  async #insert(
    transaction: Transaction,
    account: string,
    { call, ...request }: ApprovalRequest,
    by: Pick<Approval, 'requestedBy' | 'requester' | 'operator'>,
  ): Promise<string> {
    const isTooLarge = call.body.length > LIMITS.approvalCallCharacters || request.summary.length > LIMITS.summaryLines;
    if (isTooLarge) throw notPossible('approvalTooLarge');
    const { now } = transaction;
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
    transaction.write(await insertApproval(this.#keyring, approval, call), () => this.#limitExceeded(approval));
    transaction.record(approvalEvent('approval.requested', approval));
    return approval.id;
  }

  /**
   * Returns why a request was rejected: too many are pending, of the requester or of the account, they are too long, or too
   * many were requested in a day.
   */
  async #limitExceeded(approval: Approval): Promise<Failure> {
    if (await isDailyLimitReached(this.#database, approval)) return new Failure('rate_limited');
    if (await isRequesterLimitReached(this.#database, approval)) return notPossible('tooManyOwnPendingApprovals');
    return notPossible('tooManyPendingApprovals');
  }

  #issueConsent(transaction: Transaction, approval: Approval, requester?: Origin): Consent {
    const consent = { approvalId: approval.id, ...(requester !== undefined && { requester }) };
    this.#consents.set(consent, { approval, transaction });
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

  async #update(transaction: Transaction, before: Approval, after: Approval): Promise<void> {
    transaction.write(await updateApproval(this.#keyring, before, after), new Failure('changed_meanwhile'));
    if (!isUnfinished(after)) transaction.scrub();
  }
}

const approvalEvent = (action: AuditAction, approval: Approval, outcome = 'success'): AuditEvent => ({
  action,
  outcome,
  account: approval.account,
  environment: approval.environment,
  targets: [`approval:${approval.id}`],
  detail: { change: approval.action },
});

/** Returns the event for the log of no account: only the key of such a row is known. */
function tamperedEvent({ id }: Pick<Approval, 'id'>): AuditEvent {
  // A text that is no id of this service is untrusted.
  const targets = /^approval_[a-z0-9]{1,32}$/.test(id) ? [`approval:${id}`] : [];
  const what = { outcome: 'removed', targets, detail: { table: 'approvals' } } as const;
  return { action: 'record.altered', account: '', environment: '', ...what };
}

function assertRequestedBy({ requestedBy }: Approval, { id }: ActingMember['person']): void {
  if (requestedBy !== id) throw new Failure('not_allowed', explain('requesterOnly'));
}
