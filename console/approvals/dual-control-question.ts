import { accountEvent } from '../../src/accounts/account-events.ts';
import { isDualControlDecided, upsertDualControlDecision } from '../../src/accounts/account-notices.ts';
import type { Accounts } from '../../src/accounts/accounts.ts';
import { keyStateAt } from '../../src/accounts/api-key.ts';
import type { Permission } from '../../src/accounts/permission.ts';
import type { Transaction } from '../../src/idempotency/transaction.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { Failure } from '../../src/kernel/failure.ts';
import type { Database } from '../../src/storage/database.ts';
import type { Approvals } from './approvals.ts';

/** Permissions that allow a key to read complete card numbers. */
const READS_CARDS: readonly Permission[] = ['tokens:detokenize', 'captures:retrieve'];

interface Question {
  readonly isAsked: boolean;
  /** True when yes is the suggested decision: keys of the account may read cards. */
  readonly isRecommended: boolean;
}

/**
 * Asks the owner of an account, once a second user may approve changes there, whether changes in production need
 * two-person approval. The question remains until it is decided, here or by the setting itself.
 */
export class DualControlQuestion {
  readonly #accounts: Accounts;
  readonly #approvals: Approvals;
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(options: { accounts: Accounts; approvals: Approvals; database: Database; clock: Clock }) {
    this.#accounts = options.accounts;
    this.#approvals = options.approvals;
    this.#database = options.database;
    this.#clock = options.clock;
  }

  async find(account: string): Promise<Question> {
    const isAsked = await this.#isAsked(account);
    return { isAsked, isRecommended: isAsked && (await this.#mayKeysReadCards(account)) };
  }

  /** Throws `changed_meanwhile` when the question is not open. */
  async answer(transaction: Transaction, account: string, isOn: boolean): Promise<void> {
    if (!(await this.#isAsked(account))) throw new Failure('changed_meanwhile');
    if (isOn) return this.#approvals.setRequired(transaction, account, true);
    transaction.write(upsertDualControlDecision(account, transaction.now));
    transaction.record(accountEvent('account.edited', await this.#accounts.get(account), { dual_control: 'no' }));
  }

  async #isAsked(account: string): Promise<boolean> {
    const found = await this.#accounts.find(account);
    if (found === undefined || found.isTampered || found.dualControl) return false;
    return (
      !(await isDualControlDecided(this.#database, account)) && (await this.#approvals.hasEnoughApprovers(account))
    );
  }

  async #mayKeysReadCards(account: string): Promise<boolean> {
    const now = this.#clock();
    return (await this.#accounts.listKeys(account)).some(
      (key) => keyStateAt(key, now) === 'active' && key.permissions.some((each) => READS_CARDS.includes(each)),
    );
  }
}
