import type { Clock, Random } from '../../../kernel/clock.ts';
import type { Tenant } from '../../../kernel/environment.ts';
import { MonotonicIds } from '../../../kernel/ids.ts';
import type { Money } from '../../../kernel/money.ts';
import type { Database, Write } from '../../../storage/database.ts';
import {
  type Capabilities,
  type CardData,
  type Finding,
  type History,
  type News,
  type Order,
  type Outcome,
  type Processor,
  type ProcessorCall,
  payerOf,
  type Subject,
} from '../../processor.ts';
import { COMMON_SETTINGS } from '../../settings.ts';
import { answerOf, firstAnswerOf, refusal } from './answers.ts';
import { findEntry, findMovement, findNews, insertEntry, insertMovement, untilSettled, updateEntry } from './books.ts';
import { type Entry, firstNewsAt, type Movement, newEntry, nextNewsAt, planOf } from './entry.ts';
import { noAnswer, overTheLine, pause } from './line.ts';
import { decide, type Verdict } from './outcomes.ts';
import { Questions } from './questions.ts';
import { type Move, remembered, waitOf, wordsIn } from './triggers.ts';

const NOT_SENT: Outcome = { kind: 'not-sent' };

type Arriving = Exclude<Verdict, { readonly kind: 'lost' | 'refused_connection' }>;

/**
 * A processor without money: it decides by the table of `outcomes.ts` and keeps books of its own in the database of the
 * service, which every node shares. Each call commits a unit of its own before it answers, and holds books and caller
 * apart as a real processor does: by the caller's key, with answers that can get lost. A key is executed once; a key that
 * was asked after, or given up, before it came is refused when it comes.
 */
export class Simulator implements Processor {
  readonly capabilities: Capabilities = { sale: true, partialCapture: true, absences: 1 };
  readonly settings = {
    'timeout-ms': { ...COMMON_SETTINGS['timeout-ms'], defaultValue: '1000' },
    'recovery-delay-ms': { ...COMMON_SETTINGS['recovery-delay-ms'], defaultValue: '5000' },
  };
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #ids: MonotonicIds;
  readonly #questions: Questions;

  constructor({ database, clock, random }: { database: Database; clock: Clock; random: Random }) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = new MonotonicIds(clock, random);
    this.#questions = new Questions(database, clock, this.#ids);
  }

  /** Takes everything: what it refuses, it declines. */
  check(): void {}

  authorize(call: ProcessorCall, order: Order, { pan, expiry }: CardData): Promise<Outcome> {
    const words = wordsIn(payerOf(order).email);
    const verdict = decide({ now: this.#clock(), words, pan, expiry, amount: order.amount });
    if (verdict.kind === 'refused_connection' || call.signal.aborted) return Promise.resolve(NOT_SENT);
    return overTheLine(call.signal, async () => {
      if (verdict.kind === 'lost') return noAnswer();
      await pause(waitOf(words, 'arrival'));
      const answer = await this.#book(call, this.#arrived(call.key, order, verdict, words));
      if (verdict.kind === 'approved' && !verdict.answered) return noAnswer();
      await pause(waitOf(words, 'delay'));
      return answer;
    });
  }

  capture(call: ProcessorCall, history: History, amount: Money): Promise<Outcome> {
    return this.#move(call, history, 'capture', amount);
  }

  refund(call: ProcessorCall, history: History, amount: Money): Promise<Outcome> {
    return this.#move(call, history, 'refund', amount);
  }

  void(call: ProcessorCall, history: History): Promise<Outcome> {
    return this.#move(call, history, 'void');
  }

  inquire(call: ProcessorCall, history: History, subject: Subject): Promise<Finding> {
    return overTheLine(call.signal, () => this.#questions.inquire(call.tenant, history, subject));
  }

  abandon(call: ProcessorCall, history: History, subject: Subject): Promise<Finding> {
    return overTheLine(call.signal, () => this.#questions.abandon(call.tenant, history, subject));
  }

  /** Each is taken by one caller only, whichever node it runs on. */
  async news(): Promise<readonly News[]> {
    const now = this.#clock();
    const due = await findNews(this.#database, now);
    return (await Promise.all(due.map(({ tenant, entry }) => this.#take(tenant, entry, now)))).flat();
  }

  async #take(tenant: Tenant, entry: Entry, now: number): Promise<readonly News[]> {
    const taken = { ...entry, newsAt: nextNewsAt(entry, now) };
    const { committed } = await this.#database.commit({
      account: tenant.account,
      writes: [updateEntry(tenant, taken)],
    });
    const news: News = { tenant, key: entry.key };
    if (!committed) return [];
    return entry.behaviour.includes('duplicate_news') ? [news, news] : [news];
  }

  #arrived(key: string, { amount, capture }: Order, verdict: Arriving, words: readonly string[]): Entry {
    const entry = newEntry({
      key,
      reference: this.#ids.next(),
      verdict: verdict.kind,
      reason: verdict.kind === 'refused' ? verdict.reason : undefined,
      amount,
      sale: capture,
      behaviour: remembered(words),
      createdAt: this.#clock(),
    });
    return { ...entry, newsAt: firstNewsAt(entry) };
  }

  /** The ordinary way is one new row and nothing else. */
  async #book({ tenant }: ProcessorCall, entry: Entry): Promise<Outcome> {
    const { committed } = await this.#database.commit({
      account: tenant.account,
      writes: [insertEntry(tenant, entry)],
    });
    const booked = committed ? entry : await findEntry(this.#database, tenant, entry.key);
    return firstAnswerOf(booked ?? entry);
  }

  #move(call: ProcessorCall, history: History, move: Move, amount?: Money): Promise<Outcome> {
    if (call.signal.aborted) return Promise.resolve(NOT_SENT);
    const payment = history.operations[0]?.key ?? '';
    return overTheLine(call.signal, () =>
      untilSettled(async () => {
        const entry = await findEntry(this.#database, call.tenant, payment);
        return entry === undefined ? refusal('InvalidData') : this.#carryOut(call, entry, move, amount ?? entry.amount);
      }),
    );
  }

  /**
   * Commits the line of a capture, refund or void and the payment's new state, or neither. Undefined when others changed the
   * payment meanwhile.
   */
  async #carryOut(
    { tenant, key }: ProcessorCall,
    entry: Entry,
    move: Move,
    amount: Money,
  ): Promise<Outcome | undefined> {
    const { booked, after, answer } = planOf(entry, move, amount, this.#clock());
    const movement: Movement | undefined = booked && {
      ...booked,
      key,
      reference: this.#ids.next(),
      payment: entry.key,
      move,
      amount,
    };
    const writes: Write[] = movement === undefined ? [] : [insertMovement(tenant, movement)];
    if (after !== entry) writes.push(updateEntry(tenant, after));
    const outcome = await this.#database.commit({ account: tenant.account, writes });
    if (!outcome.committed) {
      if (movement === undefined || outcome.write > 0) return undefined;
      const first = await findMovement(this.#database, tenant, key);
      return first && answerOf(first);
    }
    if (answer === 'not-sent') return NOT_SENT;
    return answer === 'none' || movement === undefined ? noAnswer() : answerOf(movement);
  }
}
