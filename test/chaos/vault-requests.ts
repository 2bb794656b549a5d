import type { SeededRandom } from '../simulation/seeded-random.ts';
import {
  cardsText,
  type ExpectedCapture,
  type ExpectedRecords,
  type ExpectedToken,
  TOLERANCE_MS,
} from './expected-records.ts';
import type { ChaosResponse, PlannedRequest, Request } from './ledger.ts';

const MINUTE_MS = 60_000;
/** In minutes; the short ones end while the load runs. */
const TTL = { short: 1, long: 10_080 };
const TOKENIZE = '/v1/tokenization/simple';
const CAPTURES = '/transactions/requests';
export const HASH = '/proxy/hash?type=SHA256';

/** The requests of one client for tokens and captures. */
export class VaultRequests {
  readonly #seeded: SeededRandom;
  readonly #expectedRecords: ExpectedRecords;
  /** Cards that come again and again. */
  readonly #regulars: readonly string[];

  constructor(seeded: SeededRandom, expectedRecords: ExpectedRecords, regulars: readonly string[]) {
    this.#seeded = seeded;
    this.#expectedRecords = expectedRecords;
    this.#regulars = regulars;
  }

  /**
   * Schemes 3 and 7 are requested with an Idempotency-Key only: the table must contain exactly as many of their tokens
   * as were acknowledged. The others allow no such count after a lost response.
   */
  tokenize(isKeyed = this.#seeded.percent(60), size = this.#seeded.pick([1, 1, 1, 2, 5])): PlannedRequest {
    const cards = Array.from({ length: size }, () => this.#expectedRecords.newCard());
    const scheme = this.#seeded.pick(isKeyed ? [3, 7] : [1, 8]);
    const chd = cards.map((card) => ({ card, name: 'Ana Lopez', exp: '12/29' }));
    const body = { chd, tags: [], scheme };
    const fault = (response: ChaosResponse, by: number) => this.#expectedRecords.tokenized(by, cards, scheme, response);
    return { kind: 'tokenize', method: 'POST', path: TOKENIZE, body, isKeyed, cards, scheme, fault };
  }

  /** A small set of cards that all clients send; `fresh`: one that was not sent before. */
  persistent(fresh: string | undefined = undefined): PlannedRequest {
    const some = Array.from({ length: this.#seeded.between(1, 3) }, () => this.#seeded.pick(this.#regulars));
    const cards = [...new Set([...(fresh === undefined ? [] : [fresh]), ...some])];
    const scheme = 1;
    for (const card of cards) this.#expectedRecords.wantedPersistent.add(`${scheme} ${card}`);
    const name = `Ana ${this.#seeded.below(1000)}`;
    const chd = cards.map((card) => ({ card, name, exp: '12/29' }));
    const body = { chd, tags: [], scheme, type: 'persistent' };
    const fault = ({ json }: ChaosResponse, by: number): string | undefined => {
      const records = json?.data?.tokens;
      if (!Array.isArray(records) || records.length !== cards.length) return 'has another number of tokens';
      for (const [index, card] of cards.entries()) {
        const wrong = this.#expectedRecords.persisted(by, scheme, card, records[index].token);
        if (wrong !== undefined) return wrong;
      }
      return undefined;
    };
    const isKeyed = this.#seeded.percent(50);
    return { kind: 'persistent', method: 'POST', path: TOKENIZE, body, isKeyed, cards, scheme, fault };
  }

  /** `amount` identifies a capture in the table. */
  capture(isShort: boolean): PlannedRequest {
    const ttl = isShort ? TTL.short : TTL.long;
    const card = this.#expectedRecords.newCard();
    const amount = this.#expectedRecords.nextAmount();
    const name = `Ana ${amount}`;
    const capture = { card, cvv: String(100 + this.#seeded.below(900)), name, ttlMs: ttl * MINUTE_MS, amount };
    const chd = { card, name, exp: '12/29', cvv: capture.cvv };
    const body = { chd, amount, currency: 'USD', additional_info: {}, ttl };
    const fault = ({ json }: ChaosResponse) => (/^[0-9a-f-]{36}$/.test(json?.data?.id) ? undefined : 'has no id');
    const isKeyed = this.#seeded.percent(60);
    return { kind: 'create capture', method: 'POST', path: CAPTURES, body, isKeyed, capture, fault };
  }

  retrieve(capture: ExpectedCapture): PlannedRequest {
    const { id, card, cvv, name, amount } = capture;
    const fault = ({ json }: ChaosResponse): string | undefined => {
      const { pan, cvv: code, name: holder, amount: returned } = json?.data ?? {};
      return pan === card && code === cvv && holder === name && returned === amount
        ? undefined
        : `${id} gave back something else`;
    };
    const refusal: PlannedRequest['refusal'] = (_, { sentAt, endedAt }) =>
      this.#isDeleted(id, endedAt) ||
      endedAt >= capture.endsAfter ||
      this.#expectedRecords.isClockAhead(sentAt, endedAt);
    return { kind: 'retrieve capture', method: 'GET', path: `${CAPTURES}/${id}`, target: id, fault, refusal };
  }

  detokenize(held: readonly ExpectedToken[]): PlannedRequest {
    const { text, digest } = cardsText(held);
    const fault = ({ json }: ChaosResponse) => (json?.data?.hashValue === digest ? undefined : 'read other cards');
    const refusal: PlannedRequest['refusal'] = (_, { endedAt }) =>
      held.some(({ token }) => this.#isDeleted(token, endedAt));
    return { kind: 'detokenize', method: 'POST', path: HASH, body: text, fault, refusal };
  }

  deleteToken({ token }: ExpectedToken): PlannedRequest {
    const fault = ({ json }: ChaosResponse): string | undefined => {
      const [{ id, status } = {} as never, ...more] = json?.data?.tokens ?? [];
      return id === token && status === 'success' && more.length === 0 ? undefined : `${token} was not there`;
    };
    const body = { tokens: [token] };
    this.#expectedRecords.deletions.set(token, Date.now());
    return { kind: 'delete token', method: 'DELETE', path: '/v1/tokens', body, isKeyed: true, target: token, fault };
  }

  deleteCapture({ id }: ExpectedCapture): PlannedRequest {
    const fault = ({ json }: ChaosResponse) => (json?.data?.status === 'success' ? undefined : `${id} was not there`);
    this.#expectedRecords.deletions.set(id, Date.now());
    const path = `${CAPTURES}/${id}`;
    const refusal: PlannedRequest['refusal'] = (_, { sentAt, endedAt }) =>
      this.#expectedRecords.isClockAhead(sentAt, endedAt);
    return { kind: 'delete capture', method: 'DELETE', path, isKeyed: true, target: id, fault, refusal };
  }

  /** Percentage of new captures that expire soon. Undefined when no record can be read or deleted yet. */
  next(shortCaptures: number): PlannedRequest | undefined {
    const { tokens, captures } = this.#expectedRecords;
    const kind = this.#seeded.weighed({
      tokenize: 28,
      persistent: 12,
      capture: 16,
      read: 16,
      retrieve: 16,
      remove: 8,
      drop: 4,
    });
    switch (kind) {
      case 'tokenize':
        return this.tokenize();
      case 'persistent':
        return this.persistent();
      case 'capture':
        return this.capture(this.#seeded.percent(shortCaptures));
      case 'read':
        return tokens.length === 0
          ? undefined
          : this.detokenize(Array.from({ length: this.#seeded.between(1, 4) }, () => this.#seeded.pick(tokens)));
      case 'retrieve':
        return captures.length === 0 ? undefined : this.retrieve(this.#seeded.pick(captures));
      case 'remove': {
        const held = this.#expectedRecords.takeToken();
        return held && this.deleteToken(held);
      }
      case 'drop': {
        const capture = this.#expectedRecords.takeCapture();
        return capture && this.deleteCapture(capture);
      }
    }
  }

  #isDeleted(id: string, at: number): boolean {
    const sentAt = this.#expectedRecords.deletions.get(id);
    return sentAt !== undefined && sentAt <= at;
  }
}

/** A client's knowledge of a capture that was created. */
export function storedRecord(request: Request): ExpectedCapture | undefined {
  const { capture } = request.planned;
  const id = request.response?.json.data.id;
  if (capture === undefined || id === undefined) return undefined;
  const endsAfter = request.sentAt + capture.ttlMs - TOLERANCE_MS;
  return { ...capture, id, endsAfter, endsBefore: request.answeredAt + capture.ttlMs + TOLERANCE_MS };
}
