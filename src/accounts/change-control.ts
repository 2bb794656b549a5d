import type { Actor, Origin } from '../audit/audit.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import { escapeInvisible } from '../kernel/displayable.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure, notPossible } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { assertNoDualControl } from './account-store.ts';
import type { Accounts } from './accounts.ts';

/**
 * Changes of the settings that decide where card data and events go and when tokens end, and outcomes that a user states in place of
 * the processor: a false one lets a card be charged twice.
 */
export const RESTRICTED_ACTIONS = [
  'payments.enable',
  'payments.disable',
  'payment.resolve',
  'proxy.configure',
  'proxy.remove',
  'account.export',
  'retention.set',
  'webhook.create',
  'webhook.edit',
  'webhook.rotate',
] as const;

/** Actions that need a second person in production in every account: they carry card numbers out of the vault. */
const ALWAYS_RESTRICTED: readonly string[] = ['account.export'];

export interface RestrictedChange {
  readonly action: (typeof RESTRICTED_ACTIONS)[number];
  readonly summary: readonly SummaryLine[];
  /** The data that its execution needs. It may contain secrets: it is stored sealed, and erased with the decision. */
  readonly body: string;
}

/** Proof that a second person approved one change, whose approval ends in the same transaction. */
export interface Consent {
  readonly approvalId: string;
  /** The operator who requested the change, as its audit record names them; absent: the user who makes it now. */
  readonly requester?: Origin;
}

/** The right by which the caller may make a change; without either member the caller is an operator. */
export interface ChangeRight {
  readonly consent?: Consent | undefined;
  /** The call of a member, which awaited its approval before. */
  readonly isMember?: boolean;
}

/** The operator as the audit log names them: a user of the console, or the user of the command line. */
export interface RequestingOperator extends Pick<Actor, 'id' | 'name'> {
  readonly type: 'person' | 'operator';
}

/**
 * Requests and approvals of changes. The console implements it; a vault without console has no users who could approve.
 */
export interface ApprovalService {
  /**
   * Stores the change of an operator until a member of the account approves it. Throws `not_possible` when no member
   * could.
   */
  requestByOperator(tenant: Tenant, change: RestrictedChange, origin: Origin): Promise<string>;
  /**
   * Finds the newest request of an operator for this change, with this summary, that has not expired: one that waits, or
   * one that a user approved who may still approve changes. For changes that are executed outside the console.
   */
  findOperatorRequest(tenant: Tenant, change: RestrictedChange): Promise<OperatorRequest | undefined>;
  /** Throws `changed_meanwhile` unless the consent was issued in this transaction, is not used, and is for this change. */
  redeem(transaction: Transaction, consent: Consent, tenant: Tenant, action: RestrictedChange['action']): void;
}

/** The request of an operator for a change. */
export interface OperatorRequest {
  /** The id of the approval. */
  readonly id: string;
  readonly isApproved: boolean;
}

const TAKES_EFFECT = 'A member of the account approves it in the console within 24 hours; then it takes effect.';

/** Thrown when the change of an operator was stored as a request; nothing else has changed. */
export class ApprovalRequired extends OperatorError {
  override readonly name = 'ApprovalRequired';
  override readonly details: Readonly<Record<string, string>>;
  override readonly hint: string;
  readonly approval: string;

  constructor(approval: string, hint = TAKES_EFFECT) {
    super('approval required');
    this.approval = approval;
    this.hint = hint;
    this.details = { approval_id: approval };
  }
}

/**
 * Dual control of the settings that decide where card data goes: no single person changes them in production. The vault
 * itself enforces the rule: no change of an account under dual control is made without the consent of a second person.
 * The console implements requests and approvals, through `ApprovalService`.
 */
export class ChangeControl {
  readonly #accounts: Pick<Accounts, 'find'>;
  #approvals: ApprovalService | undefined;

  constructor(accounts: Pick<Accounts, 'find'>) {
    this.#accounts = accounts;
  }

  /** Absent: changes of accounts under dual control are rejected. */
  connectApprovals(approvals: ApprovalService): void {
    this.#approvals = approvals;
  }

  /** Read at each call, so that a change of the flag takes effect immediately on every node. */
  async isRequired(account: string): Promise<boolean> {
    return (await this.#accounts.find(account))?.dualControl === true;
  }

  /**
   * True when one person may make changes in production of the account. The transaction is then committed only while that is
   * so: it fails with `changed_meanwhile` when the account comes under dual control concurrently.
   */
  async holdExempt(transaction: Transaction, account: string): Promise<boolean> {
    if (await this.isRequired(account)) return false;
    transaction.write(assertNoDualControl(account), new Failure('changed_meanwhile'));
    return true;
  }

  /**
   * Redeems the consent to a change, or makes the transaction conflict when the account comes under dual control
   * concurrently. Throws `ApprovalRequired` after it stored the request of an operator, and `not_possible` when no member
   * could approve it.
   */
  async permit(
    transaction: Transaction,
    tenant: Tenant,
    change: RestrictedChange,
    { consent, isMember = false }: ChangeRight,
  ): Promise<void> {
    if (consent !== undefined) {
      if (this.#approvals === undefined) throw new Failure('changed_meanwhile');
      return this.#approvals.redeem(transaction, consent, tenant, change.action);
    }
    if (tenant.environment !== 'production') return;
    if (!ALWAYS_RESTRICTED.includes(change.action) && (await this.holdExempt(transaction, tenant.account))) return;
    // The account came under dual control after the member's call had passed its check.
    if (isMember) throw new Failure('changed_meanwhile');
    if (this.#approvals === undefined) throw notPossible('approvalNeedsConsole');
    throw new ApprovalRequired(await this.#approvals.requestByOperator(tenant, change, transaction.origin));
  }

  /** Finds the request of an operator for a change that a command executes, as `ApprovalService.findOperatorRequest`. */
  async findOperatorRequest(tenant: Tenant, change: RestrictedChange): Promise<OperatorRequest | undefined> {
    return this.#approvals?.findOperatorRequest(tenant, change);
  }
}

/** A line that describes a change to its approver; never a secret. */
export interface SummaryLine {
  readonly name: string;
  readonly value: string;
}

/**
 * Returns lines of limited length with invisible characters escaped; lines without a value are left out. A longer value continues
 * in lines with a number after the name: an approver sees everything that the approval executes.
 */
export const toSummaryLines = (lines: readonly (readonly [name: string, value: string | undefined])[]): SummaryLine[] =>
  lines.flatMap(([name, value]) => (value === undefined ? [] : splitValue(name, escapeInvisible(value))));

function splitValue(name: string, text: string): SummaryLine[] {
  const characters = [...text];
  const max = LIMITS.summaryCharacters;
  if (characters.length <= max) return [{ name, value: text }];
  return Array.from({ length: Math.ceil(characters.length / max) }, (_, index) => ({
    name: index === 0 ? name : `${name} ${index + 1}`,
    value: characters.slice(index * max, (index + 1) * max).join(''),
  }));
}
