import type { Clock } from '../../../kernel/clock.ts';
import type { Tenant } from '../../../kernel/environment.ts';
import type { MonotonicIds } from '../../../kernel/ids.ts';
import type { Database, Write } from '../../../storage/database.ts';
import type { Absent, Approved, Finding, History, OperationType, Reversed, Subject } from '../../processor.ts';
import { answerOf, findingOf } from './answers.ts';
import {
  findEntry,
  findMovement,
  insertEntry,
  insertMovement,
  undoMovement,
  untilSettled,
  updateEntry,
} from './books.ts';
import { abandoned, type Entry, isTold, type Movement, newEntry, standingOf, without } from './entry.ts';
import { noAnswer } from './line.ts';
import { type Move, nextFault, type Question } from './triggers.ts';

const ABSENT: Absent = { kind: 'absent' };
const NOTHING_LEFT: Approved = { kind: 'approved', particulars: {} };
const ALL_REVERSED: Reversed = { kind: 'reversed', particulars: {} };

const MOVE_OF: Readonly<Partial<Record<OperationType, Move>>> = {
  capture: 'capture',
  payment_refund: 'refund',
  authorization_void: 'void',
  expiry: 'void',
};

const isPayment = ({ type }: Subject): boolean => MOVE_OF[type] === undefined;

const paymentKey = (history: History, subject: Subject): string =>
  isPayment(subject) ? subject.key : (history.operations[0]?.key ?? '');

/**
 * What became of an operation, and undoing it, both by the caller's key. Asking about a key that never came closes it: so
 * a request that is still on its way can no longer be executed, and one `absent` is enough to be sure.
 */
export class Questions {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #ids: MonotonicIds;

  constructor(database: Database, clock: Clock, ids: MonotonicIds) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = ids;
  }

  async inquire(tenant: Tenant, history: History, subject: Subject): Promise<Finding> {
    if (await this.#fails(tenant, history, subject, 'inquiry')) return noAnswer();
    return isPayment(subject) ? this.#payment(tenant, subject) : this.#movement(tenant, history, subject);
  }

  async abandon(tenant: Tenant, history: History, subject: Subject): Promise<Finding> {
    const fails = await this.#fails(tenant, history, subject, 'abandon');
    const finding = await (isPayment(subject)
      ? this.#abandonPayment(tenant, subject)
      : this.#abandonMovement(tenant, history, subject));
    return fails ? noAnswer() : finding;
  }

  /** Does the question meet its fault? Counts it. */
  #fails(tenant: Tenant, history: History, subject: Subject, question: Question): Promise<boolean> {
    return untilSettled(async () => {
      const entry = await findEntry(this.#database, tenant, paymentKey(history, subject));
      if (entry === undefined) return false;
      const { fault, behaviour } = nextFault(entry.behaviour, question);
      if (behaviour === entry.behaviour) return fault !== undefined;
      return (await this.#commit(tenant, updateEntry(tenant, { ...entry, behaviour }))) ? true : undefined;
    });
  }

  #payment(tenant: Tenant, subject: Subject): Promise<Finding> {
    return untilSettled(async () => {
      const entry = await findEntry(this.#database, tenant, subject.key);
      if (entry === undefined) return this.#close(tenant, insertEntry(tenant, this.#closedEntry(subject)));
      // Whoever asks after the news has heard them.
      if (isTold(entry) && !(await this.#commit(tenant, updateEntry(tenant, { ...entry, newsAt: undefined }))))
        return undefined;
      return findingOf(entry, standingOf(entry, this.#clock()));
    });
  }

  #movement(tenant: Tenant, history: History, subject: Subject): Promise<Finding> {
    return untilSettled(async () => {
      const movement = await findMovement(this.#database, tenant, subject.key);
      if (movement === undefined)
        return this.#close(tenant, insertMovement(tenant, this.#closedMovement(history, subject)));
      return movement.verdict === 'closed' || movement.verdict === 'undone' ? ABSENT : answerOf(movement);
    });
  }

  #abandonPayment(tenant: Tenant, subject: Subject): Promise<Finding> {
    return untilSettled(async () => {
      const entry = await findEntry(this.#database, tenant, subject.key);
      if (entry === undefined) return this.#close(tenant, insertEntry(tenant, this.#closedEntry(subject)));
      if (entry.verdict === 'closed') return ABSENT;
      const after = abandoned(entry, this.#clock());
      return after === undefined || (await this.#commit(tenant, updateEntry(tenant, after))) ? NOTHING_LEFT : undefined;
    });
  }

  #abandonMovement(tenant: Tenant, history: History, subject: Subject): Promise<Finding> {
    return untilSettled(async () => {
      const movement = await findMovement(this.#database, tenant, subject.key);
      if (movement === undefined)
        return this.#close(tenant, insertMovement(tenant, this.#closedMovement(history, subject)));
      if (movement.verdict === 'closed') return ABSENT;
      if (movement.verdict !== 'approved') return NOTHING_LEFT;
      // What was given back is not taken again.
      if (movement.move === 'void') return ALL_REVERSED;
      return this.#undo(tenant, movement);
    });
  }

  async #undo(tenant: Tenant, movement: Movement): Promise<Finding | undefined> {
    const entry = await findEntry(this.#database, tenant, movement.payment);
    const after = entry && without(entry, movement);
    if (after === undefined) return { kind: 'unknown', why: 'built-upon' };
    const isDone = await this.#commit(tenant, undoMovement(tenant, movement.key), updateEntry(tenant, after));
    return isDone ? NOTHING_LEFT : undefined;
  }

  async #close(tenant: Tenant, insert: Write): Promise<Absent | undefined> {
    return (await this.#commit(tenant, insert)) ? ABSENT : undefined;
  }

  async #commit({ account }: Tenant, ...writes: Write[]): Promise<boolean> {
    return (await this.#database.commit({ account, writes })).committed;
  }

  #closedEntry({ key, type, amount }: Subject): Entry {
    const started = { key, amount, sale: type === 'payment', reference: this.#ids.next(), createdAt: this.#clock() };
    return newEntry({ ...started, verdict: 'closed' });
  }

  #closedMovement(history: History, subject: Subject): Movement {
    const { key, type, amount } = subject;
    const about = { key, amount, move: MOVE_OF[type] ?? 'void', payment: paymentKey(history, subject) };
    return { ...about, reference: this.#ids.next(), verdict: 'closed', reason: undefined };
  }
}
