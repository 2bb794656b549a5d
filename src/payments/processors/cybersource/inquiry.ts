import type { Money } from '../../../kernel/money.ts';
import { type Finding, type History, type ProcessorCall, refused, type Subject, unknown } from '../../processor.ts';
import { type Asked, authorizedIn } from './answer.ts';
import { searchBody } from './bodies.ts';
import type { CyberSourceClient } from './client.ts';
import {
  capturedIn,
  did,
  type Entry,
  has,
  isOther,
  isUndone,
  movementVerdict,
  NAMES,
  paymentVerdict,
  readEntry,
  readHits,
  undoes,
} from './ledger.ts';
import type { Verdict } from './mapping.ts';

type Unclear = Extract<Finding, { kind: 'absent' | 'unknown' }>;

/** A transaction that is certainly ours, and whether another of the same key has undone it. */
interface Found {
  readonly kind: 'found';
  readonly entry: Entry;
  readonly undone: boolean;
}

type GiveBack = (call: ProcessorCall, asked: Asked, id: string | undefined) => Promise<boolean>;

/** Transactions of one payment that are looked at; one with more is for people to judge. */
const MAX_RELATED = 20;

/**
 * What became of an operation. It is looked up by CyberSource's id, else searched by our key, and a transaction counts
 * only when key, merchant, amount and currency are ours. An inquiry that fails tells nothing about the operation.
 */
export class Inquiry {
  readonly #client: CyberSourceClient;
  readonly #giveBack: GiveBack;

  constructor(client: CyberSourceClient, giveBack: GiveBack) {
    this.#client = client;
    this.#giveBack = giveBack;
  }

  async find(call: ProcessorCall, history: History, subject: Subject): Promise<Finding> {
    switch (subject.type) {
      case 'authorization':
      case 'payment':
        return this.#payment(call, history, subject);
      case 'capture':
        return this.#movement(call, subject, NAMES.capture);
      case 'payment_refund':
        return this.#movement(call, subject, NAMES.refund);
      default:
        return this.#void(call, history, subject);
    }
  }

  /** CyberSource's id of the capture of an authorization, whoever made it; undefined when that cannot be told. */
  async captureOf(call: ProcessorCall, history: History): Promise<string | undefined> {
    const [first] = history.operations;
    if (first?.processorId === undefined) return undefined;
    const found = await this.#locate(call, first, NAMES.authorization);
    if (found.kind !== 'found') return undefined;
    const others = await this.#others(call, found.entry, history);
    return others?.find((entry) => did(entry, NAMES.capture) && !isUndone(entry))?.id;
  }

  async #payment(call: ProcessorCall, history: History, subject: Subject): Promise<Finding> {
    const found = await this.#locate(call, subject, NAMES.authorization);
    if (found.kind !== 'found') return found;
    const others = await this.#others(call, found.entry, history);
    if (others === undefined) return unknown('related');
    const { entry } = found;
    const isReversed = found.undone || isUndone(entry) || isUndoneBy(others);
    // A void among refunds may be of one of them.
    if (isReversed === undefined) return unknown('unclear');
    const policy = call.settings['soft-decline'] === 'accept' ? 'accept' : 'reverse';
    const verdict = paymentVerdict(entry, policy);
    return isReversed ? reversedFinding(verdict, entry) : this.#standing(call, subject, verdict, [entry, ...others]);
  }

  /** Of a payment that was not given back. */
  async #standing(
    call: ProcessorCall,
    { key, amount }: Subject,
    verdict: Verdict,
    [entry, ...others]: readonly [Entry, ...Entry[]],
  ): Promise<Finding> {
    const { particulars } = entry;
    const captured = verdict.kind === 'approved' ? amount : capturedIn(others, amount);
    if (captured !== undefined) return capturedFinding(verdict, captured, entry);
    switch (verdict.kind) {
      case 'undo': {
        const held = authorizedIn(entry.body, amount) ?? amount;
        const isBack = await this.#giveBack(call, { key, amount: held }, entry.id);
        return isBack ? refused(verdict.reason, particulars) : unknown('not-reversed');
      }
      case 'refused':
        return refused(verdict.reason, particulars);
      case 'unknown':
        return verdict;
      default:
        return { kind: verdict.kind === 'pending' ? 'pending' : 'approved', particulars };
    }
  }

  /** A capture or refund. */
  async #movement(call: ProcessorCall, subject: Subject, name: string): Promise<Finding> {
    const found = await this.#locate(call, subject, name);
    if (found.kind !== 'found') return found;
    const { particulars } = found.entry;
    const verdict = movementVerdict(found.entry, name);
    if (verdict.kind === 'approved' && (found.undone || isUndone(found.entry)))
      // Undoing a capture by key gives its authorization back; undoing a refund leaves the money where it was.
      return name === NAMES.capture ? { kind: 'reversed', particulars } : refused('Rejected', particulars);
    if (verdict.kind === 'approved') return { kind: 'approved', particulars };
    if (verdict.kind === 'refused') return refused(verdict.reason, particulars);
    return verdict.kind === 'unknown' ? verdict : unknown('unclear');
  }

  /** Was the authorization given back? Whoever did it: then the void has what it was for. */
  async #void(call: ProcessorCall, history: History, { key }: Subject): Promise<Finding> {
    const hits = await this.#search(call, key);
    if (hits === undefined) return unknown('search');
    const done = hits.find(undoes);
    if (done !== undefined) return { kind: 'approved', particulars: done.particulars };
    const [authorization] = history.operations;
    if (authorization === undefined) return { kind: 'absent' };
    const payment = await this.#payment(call, history, authorization);
    if (payment.kind === 'reversed') return { kind: 'approved', particulars: {} };
    return payment.kind === 'unknown' ? payment : { kind: 'absent' };
  }

  async #locate(call: ProcessorCall, subject: Subject, name: string): Promise<Found | Unclear> {
    const { key, amount, processorId } = subject;
    const hits = processorId === undefined ? await this.#search(call, key) : [];
    if (hits === undefined) return unknown('search');
    const matches = hits.filter((hit) => has(hit, name));
    if (matches.length > 1) return unknown('ambiguous');
    const id = processorId ?? matches[0]?.id;
    if (id === undefined) return { kind: 'absent' };
    const entry = await this.#details(call, id);
    if (entry === 'absent') return { kind: 'absent' };
    if (entry === undefined) return unknown('details');
    const isOurs =
      entry.id === id && has(entry, name) && !isOther(entry, { key, amount }, call.settings['merchant-id']);
    return isOurs ? { kind: 'found', entry, undone: hits.some(undoes) } : unknown('contradiction');
  }

  /** Transactions with exactly this code; undefined when nobody can say. */
  async #search(call: ProcessorCall, key: string): Promise<readonly Entry[] | undefined> {
    const reply = await this.#client.post(call, '/tss/v2/searches', searchBody(key));
    const isRead = reply.kind === 'answered' && (reply.status === 201 || reply.status === 200);
    const hits = isRead ? readHits(reply.body) : undefined;
    return hits?.filter(({ code }) => code === key);
  }

  async #details(call: ProcessorCall, id: string): Promise<Entry | 'absent' | undefined> {
    const reply = await this.#client.get(call, `/tss/v2/transactions/${id}`);
    if (reply.kind !== 'answered') return undefined;
    if (reply.status === 404) return 'absent';
    return reply.status === 200 ? readEntry(reply.body) : undefined;
  }

  /** What else was done on the payment, by us or by people at CyberSource; undefined when it cannot all be read. */
  async #others(call: ProcessorCall, entry: Entry, history: History): Promise<readonly Entry[] | undefined> {
    const captures = history.operations.filter(({ type }) => type === 'capture');
    const ids = new Set([...entry.related, ...captures.flatMap(({ processorId }) => processorId ?? [])]);
    ids.delete(entry.id);
    if (ids.size > MAX_RELATED) return undefined;
    const others: Entry[] = [];
    for (const id of ids) {
      const other = await this.#details(call, id);
      if (other === undefined || other === 'absent') return undefined;
      others.push(other);
    }
    return others;
  }
}

/** Undefined where nobody can say what was voided. */
function isUndoneBy(others: readonly Entry[]): boolean | undefined {
  if (!others.some(undoes)) return false;
  return others.some((entry) => did(entry, NAMES.refund)) ? undefined : true;
}

function reversedFinding(verdict: Verdict, { particulars }: Entry): Finding {
  if (verdict.kind === 'unknown') return verdict;
  if (verdict.kind === 'undo' || verdict.kind === 'refused') return refused(verdict.reason, particulars);
  return { kind: 'reversed', particulars };
}

/** A capture of what had failed contradicts itself. */
const capturedFinding = (verdict: Verdict, captured: Money, { particulars }: Entry): Finding =>
  verdict.kind === 'refused' || verdict.kind === 'undo' || verdict.kind === 'unknown'
    ? unknown('contradiction')
    : { kind: 'approved', captured, particulars };
