import type { AuditAction, AuditEvent, Origin } from '../../src/audit/audit.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import type { Transaction } from '../../src/idempotency/transaction.ts';
import type { Random } from '../../src/kernel/clock.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import { Failure, invalidField, notPossible } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { Database } from '../../src/storage/database.ts';
import {
  type ActivationRequest,
  findRequest,
  insertRequest,
  listAllRequests,
  listRequestsByAccount,
  type RequestStatus,
  updateRequest,
} from './activation-request-store.ts';

/** The user who acts. */
interface ActingUser {
  readonly person: { readonly id: string; readonly name: string };
  readonly origin: Origin;
}

interface SubmittedRequest {
  readonly account: string;
  readonly environment: Environment;
  readonly processor: string;
  readonly note: string;
}

type Decision = Exclude<RequestStatus, 'requested'>;

const ACTIONS: Readonly<Record<RequestStatus, AuditAction>> = {
  requested: 'activation.requested',
  approved: 'activation.approved',
  declined: 'activation.declined',
  withdrawn: 'activation.withdrawn',
};

const ID_CHARACTERS = 14;

/** Requests of merchants that an operator enables payments. One can be pending in each environment. */
export class ActivationRequests {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #random: Random;
  readonly #processors: readonly string[];

  constructor(options: {
    database: Database;
    keyring: Keyring;
    random: Random;
    /** Names of all processors. */
    processors: readonly string[];
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#random = options.random;
    this.#processors = options.processors;
  }

  /** Returns the newest first. */
  list(account: string): Promise<ActivationRequest[]> {
    return listRequestsByAccount(this.#database, this.#keyring, account);
  }

  /** Lists the requests of all accounts: pending ones, then the others, newest first. */
  listAll(): Promise<ActivationRequest[]> {
    return listAllRequests(this.#database, this.#keyring);
  }

  /**
   * Returns the id. Throws `invalid_field`, `not_possible` when a request is pending there already, and `rate_limited`.
   */
  async submit(transaction: Transaction, wanted: SubmittedRequest, { person }: ActingUser): Promise<string> {
    if (!this.#processors.includes(wanted.processor))
      throw invalidField(wanted.environment, 'choice', { words: this.#processors.join(', ') });
    const request: ActivationRequest = {
      ...wanted,
      id: newId('activation', ID_CHARACTERS, this.#random),
      status: 'requested',
      requestedBy: person.id,
      decidedBy: undefined,
      requester: person.name,
      decider: undefined,
      decisionNote: '',
      createdAt: transaction.now,
      decidedAt: undefined,
    };
    transaction.write(await insertRequest(this.#keyring, request), () => this.#submitFailure(request));
    transaction.record(toEvent(request));
    return request.id;
  }

  /** Returns a pending request. Throws `unknown_record`, and `changed_meanwhile` when it is decided. */
  async getPending(account: string, id: string): Promise<ActivationRequest> {
    const request = await findRequest(this.#database, this.#keyring, account, id);
    if (request === undefined) throw new Failure('unknown_record');
    if (request.status !== 'requested') throw new Failure('changed_meanwhile');
    return request;
  }

  /** Decides a pending request. Throws `changed_meanwhile`. */
  async decide(
    transaction: Transaction,
    request: ActivationRequest,
    status: Decision,
    decisionNote: string,
    { person, origin }: ActingUser,
  ): Promise<void> {
    const decided = { decidedBy: person.id, decider: person.name, decidedAt: transaction.now };
    const ended: ActivationRequest = { ...request, ...decided, status, decisionNote };
    transaction.write(await updateRequest(this.#keyring, ended), new Failure('changed_meanwhile'));
    transaction.record(toEvent(ended), origin);
  }

  /** Returns why a request was rejected: one is pending there, or the limit of a day is reached. */
  async #submitFailure({ account, environment }: ActivationRequest): Promise<Failure> {
    const waits = (await this.list(account)).some(
      (each) => each.environment === environment && each.status === 'requested',
    );
    return waits ? notPossible('requestPending') : new Failure('rate_limited');
  }
}

const toEvent = ({ account, environment, id, status, processor }: ActivationRequest): AuditEvent => ({
  action: ACTIONS[status],
  outcome: 'success',
  account,
  environment,
  targets: [`activation:${id}`],
  detail: { processor },
});
