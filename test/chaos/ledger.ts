/** The requests of the clients and all responses to them. Nothing is removed: the checks rely on it. */
export type Kind =
  | 'tokenize'
  | 'persistent'
  | 'create capture'
  | 'retrieve capture'
  | 'detokenize'
  | 'delete token'
  | 'delete capture'
  | 'look up'
  | Payment;

export type Payment = 'authorization' | 'payment' | 'capture' | 'payment_refund' | 'authorization_void';

export interface ChaosResponse {
  readonly status: number;
  readonly replayed: boolean;
  /** Seconds. */
  readonly retryAfter: string | undefined;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are of every shape
  readonly json: any;
}

/** `refused`: nothing listens; `reset`: the connection broke; `silence`: no response in time. */
export type Interruption = 'refused' | 'reset' | 'silence';

export interface Attempt {
  /** Sent as x-request-id. */
  readonly id: string;
  /** Number of the node. */
  readonly node: number;
  /** Milliseconds of the right clock. */
  readonly sentAt: number;
  readonly endedAt: number;
  readonly end: ChaosResponse | Interruption;
}

export interface CaptureData {
  readonly card: string;
  readonly cvv: string;
  readonly name: string;
  readonly ttlMs: number;
  readonly amount: number;
}

/** A request, before it is in the ledger. */
export interface PlannedRequest {
  readonly kind: Kind;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  /** Text is sent as it is. */
  readonly body?: unknown;
  /** Undefined: sent without an Idempotency-Key. True: sent with one, and repeated until there is a response. */
  readonly isKeyed?: boolean;
  /** Card numbers whose tokens are requested, in their order. */
  readonly cards?: readonly string[];
  readonly scheme?: number;
  readonly capture?: CaptureData;
  /** The record that is read or deleted. */
  readonly target?: string;
  /** The caller's reference of a payment or operation. */
  readonly reference?: string;
  /** Returns the fault of the first response of status 200 to the request of this number. */
  readonly fault: (response: ChaosResponse, by: number) => string | undefined;
  /** True when a status 400 is correct. */
  readonly refusal?: (response: ChaosResponse, attempt: Attempt) => boolean;
}

export class Request {
  readonly number: number;
  readonly planned: PlannedRequest;
  readonly attempts: Attempt[] = [];
  /** The first answer of status 200. */
  response: ChaosResponse | undefined;
  /** True when it got 400, or was certainly not executed: it has had no effect. */
  isRefused = false;

  constructor(number: number, planned: PlannedRequest) {
    this.number = number;
    this.planned = planned;
  }

  /** True when it may have had an effect without a response. */
  get isUnknown(): boolean {
    return this.response === undefined && !this.isRefused;
  }

  /** Time before which it cannot have had an effect. */
  get sentAt(): number {
    return this.attempts[0]?.sentAt ?? Number.POSITIVE_INFINITY;
  }

  /** Time after which it has had all its effects. */
  get answeredAt(): number {
    return this.attempts.find(({ end }) => typeof end === 'object' && end.status === 200)?.endedAt ?? Number.NaN;
  }

  note(attempt: Attempt): void {
    this.attempts.push(attempt);
    const { end } = attempt;
    if (typeof end !== 'object') return;
    if (end.status === 200) this.response ??= end;
    // Without an Idempotency-Key a 409 comes from another operation; with one the first attempt may still be in
    // progress.
    else if (end.status === 400 || (end.status === 409 && this.planned.isKeyed !== true)) this.isRefused = true;
  }
}

/** A violation. It contains ids, never card numbers. */
export interface Finding {
  /** The faults that are active, or were active shortly before; empty: none. */
  readonly during: string;
  readonly what: string;
  /** The attempt that showed it last, if any. */
  attempt: Attempt | undefined;
  times: number;
}

/** All requests, and the findings about them. */
export class Ledger {
  readonly requests: Request[] = [];
  readonly #findings = new Map<string, Finding>();
  /** The active faults. */
  during = '';

  enter(planned: PlannedRequest): Request {
    const request = new Request(this.requests.length + 1, planned);
    this.requests.push(request);
    return request;
  }

  /** A repeated finding counts once. */
  found(what: string, attempt?: Attempt): void {
    const key = `${this.during} ${what}`;
    const known = this.#findings.get(key) ?? { during: this.during, what, attempt, times: 0 };
    this.#findings.set(key, known);
    known.attempt = attempt;
    known.times++;
  }

  get findings(): readonly Finding[] {
    return [...this.#findings.values()];
  }

  of(...kinds: readonly Kind[]): Request[] {
    return this.requests.filter(({ planned }) => kinds.includes(planned.kind));
  }

  acknowledged(...kinds: readonly Kind[]): (Request & { readonly response: ChaosResponse })[] {
    return this.of(...kinds).filter(
      (request): request is Request & { readonly response: ChaosResponse } => request.response !== undefined,
    );
  }
}

/** The name of a request in findings. */
export const nameOf = ({ number, planned }: Request): string => `request ${number} (${planned.kind})`;
