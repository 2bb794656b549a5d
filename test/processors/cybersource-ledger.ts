/** The records of the fake CyberSource: every transaction, and the rules by which one follows from another. */

type Kind = 'authorization' | 'sale' | 'capture' | 'refund' | 'reversal' | 'void';

export interface Transaction {
  readonly id: string;
  readonly kind: Kind;
  readonly code: string;
  readonly transactionId: string | undefined;
  /** The amount as it was sent. */
  readonly requested: string;
  /** The amount that it authorized or moved. */
  readonly amount: string;
  readonly currency: string;
  /** The first transaction of its chain. */
  readonly root: string;
  /** Milliseconds; searches and details find it from then on. */
  readonly visibleAt: number;
  readonly reason: string;
  readonly approvalCode: string | undefined;
  /** `held` awaits a decision: authorized by the issuer, not accepted. */
  state: 'done' | 'held' | 'declined' | 'undone';
}

/** The result of a request instead of an approval. */
export interface ForcedOutcome {
  readonly status: string;
  readonly reason?: string;
  readonly http?: number;
  /** The issuer approved: the amount is held until it is reversed. */
  readonly holds?: boolean;
  readonly authorizedAmount?: string;
  readonly fields?: readonly string[];
}

export class RejectedRequest extends Error {
  readonly reason: string;
  readonly fields: readonly string[];

  constructor(reason: string, fields: readonly string[] = []) {
    super(reason);
    this.reason = reason;
    this.fields = fields;
  }
}

interface Ask {
  readonly code: string;
  readonly transactionId: string;
  readonly amount: string;
  readonly currency: string;
}

/** Ten-thousandths, whatever the currency. */
export const scaled = (amount: string): bigint => {
  const [integer = '0', fraction = ''] = amount.split('.');
  return BigInt(integer + fraction.padEnd(4, '0'));
};

export class CyberSourceLedger {
  readonly transactions: Transaction[] = [];
  /** How often each reference was executed; more than once is a violation. */
  readonly executed = new Map<string, number>();
  readonly #visibleAt: () => number;

  constructor(visibleAt: () => number) {
    this.#visibleAt = visibleAt;
  }

  byId(id: string): Transaction | undefined {
    return this.transactions.find((each) => each.id === id);
  }

  /** Returns the payment, capture or refund with this reference of ours. */
  byKey(key: string): Transaction | undefined {
    return this.transactions.find((each) => each.transactionId === key);
  }

  chain(root: string): readonly Transaction[] {
    return this.transactions.filter((each) => each.root === root);
  }

  /** The remaining amounts, in ten-thousandths, by type: a sale counts as captured, too. */
  totals(root: string): { authorized: bigint; captured: bigint; refunded: bigint } {
    const sum = (...kinds: Kind[]): bigint =>
      this.chain(root)
        .filter(({ kind, state }) => kinds.includes(kind) && (state === 'done' || state === 'held'))
        .reduce((total, { amount }) => total + scaled(amount), 0n);
    return { authorized: sum('authorization', 'sale'), captured: sum('capture', 'sale'), refunded: sum('refund') };
  }

  pay(request: Ask, capture: boolean, verdict: ForcedOutcome | undefined): Transaction {
    this.#execute(request.transactionId);
    const isSoft = verdict?.holds === true;
    const state = verdict === undefined ? 'done' : isSoft ? 'held' : 'declined';
    const kind = capture && !isSoft ? 'sale' : 'authorization';
    const { authorizedAmount = request.amount, reason = '' } = verdict ?? {};
    return this.#add(kind, request, { state, reason, amount: authorizedAmount });
  }

  capture(id: string, request: Ask, verdict: ForcedOutcome | undefined): Transaction {
    this.#execute(request.transactionId);
    const first = this.#mustBe(this.byId(id), ['authorization'], request);
    if (first.state === 'undone') throw new RejectedRequest('AUTH_ALREADY_REVERSED');
    if (first.state === 'declined') throw new RejectedRequest('MISSING_AUTH');
    if (this.totals(id).captured + scaled(request.amount) > scaled(first.amount))
      throw new RejectedRequest('EXCEEDS_AUTH_AMOUNT');
    return this.#add('capture', request, {
      root: id,
      state: verdict === undefined ? 'done' : 'declined',
      reason: verdict?.reason ?? '',
    });
  }

  refund(id: string, of: 'payments' | 'captures', request: Ask, verdict: ForcedOutcome | undefined): Transaction {
    this.#execute(request.transactionId);
    const target = this.#mustBe(this.byId(id), [of === 'payments' ? 'sale' : 'capture'], request);
    if (target.state !== 'done') throw new RejectedRequest('CAPTURE_ALREADY_VOIDED');
    const refunded = this.totals(target.root).refunded + scaled(request.amount);
    if (refunded > scaled(target.amount))
      throw new RejectedRequest('INVALID_AMOUNT', ['orderInformation.amountDetails.totalAmount']);
    return this.#add('refund', request, {
      root: target.root,
      state: verdict === undefined ? 'done' : 'declined',
      reason: verdict?.reason ?? '',
    });
  }

  reverse(target: Transaction | undefined, request: Omit<Ask, 'transactionId'>): Transaction {
    const first = this.#mustBe(target, ['authorization', 'sale'], request);
    if (first.state === 'undone') throw new RejectedRequest('AUTH_ALREADY_REVERSED');
    if (first.state === 'declined') throw new RejectedRequest('MISSING_AUTH');
    if (this.totals(first.id).captured > 0n) throw new RejectedRequest('TRANSACTION_ALREADY_SETTLED');
    if (scaled(request.amount) !== scaled(first.amount)) throw new RejectedRequest('INVALID_AMOUNT');
    first.state = 'undone';
    return this.#add('reversal', request, { root: first.id, state: 'done', reason: '' });
  }

  /** By our reference; the reversal of a capture or sale includes the authorization. */
  reverseByKey(key: string, request: Omit<Ask, 'transactionId'>): Transaction {
    const target = this.byKey(key);
    if (target?.kind !== 'authorization' || target.state === 'declined') throw new RejectedRequest('INVALID_DATA');
    return this.reverse(target, request);
  }

  voidByKey(key: string, code: string): Transaction {
    const target = this.byKey(key);
    const isHere = target !== undefined && (target.state === 'done' || target.state === 'held');
    const isVoidable = isHere && ['sale', 'capture', 'refund'].includes(target.kind);
    if (!isVoidable) throw new RejectedRequest('INVALID_DATA');
    target.state = 'undone';
    const { amount, currency, root } = target;
    const done = this.#add('void', { code, amount, currency }, { root, state: 'done', reason: '' });
    const first = this.byId(root);
    if (target.kind === 'capture' && first !== undefined) first.state = 'undone';
    return done;
  }

  #execute(key: string): void {
    if (this.executed.has(key)) throw new RejectedRequest('INVALID_DATA', ['clientReferenceInformation.transactionId']);
    this.executed.set(key, 1);
  }

  #mustBe(target: Transaction | undefined, kinds: readonly Kind[], request: Omit<Ask, 'transactionId'>): Transaction {
    if (target === undefined || !kinds.includes(target.kind)) throw new RejectedRequest('INVALID_PAYMENT_ID');
    if (target.currency !== request.currency)
      throw new RejectedRequest('INVALID_DATA', ['orderInformation.amountDetails.currency']);
    return target;
  }

  #add(
    kind: Kind,
    request: { code: string; transactionId?: string; amount: string; currency: string },
    rest: { root?: string; state: Transaction['state']; reason: string; amount?: string },
  ): Transaction {
    const id = `7${String(this.transactions.length).padStart(21, '0')}`;
    const transaction: Transaction = {
      id,
      kind,
      code: request.code,
      transactionId: request.transactionId,
      requested: request.amount,
      amount: rest.amount ?? request.amount,
      currency: request.currency,
      root: rest.root ?? id,
      visibleAt: this.#visibleAt(),
      reason: rest.reason,
      approvalCode: rest.state === 'declined' || kind === 'capture' ? undefined : '831000',
      state: rest.state,
    };
    this.transactions.push(transaction);
    return transaction;
  }
}
