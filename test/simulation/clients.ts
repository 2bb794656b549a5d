import type { Backend } from './backend.ts';
import type { EndpointName, Machine, SimulatedRequest, SimulatedResponse } from './machine.ts';
import type { SeededRandom } from './seeded-random.ts';

/** A request as its sender knows it. Its reference identifies it. */
export interface Request {
  readonly planned: SimulatedRequest;
  readonly reference: string;
  /** The capture that its card comes from. */
  readonly capture: string | undefined;
  /** All answers that came, in their order. */
  readonly responses: SimulatedResponse[];
  sent: number;
}

/** A request with a waiting sender; the same one may be sent twice concurrently. */
interface Waiting {
  readonly machine: Machine;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
export const jsonOf = ({ text }: SimulatedResponse): any => JSON.parse(text);

const PANS = ['4111111111111111', '5200828282828210', '4242424242424242'];

/** How many of the latest payments clients choose from: few, so that they get in each other's way. */
const FRESH = 6;

/** Shops that send whatever comes to their mind, often the same thing twice, often at the same moment. */
export class Clients {
  readonly requests: Request[] = [];
  readonly #seeded: SeededRandom;
  readonly #backend: Backend;
  readonly #log: (line: string) => void;
  readonly #underWay = new Set<Waiting>();
  /** Captures that no request has used. */
  readonly #captures: string[];
  /** The last reported status. */
  readonly #payments = new Map<string, string>();
  #count = 0;

  constructor(options: {
    seeded: SeededRandom;
    backend: Backend;
    captures: readonly string[];
    log: (line: string) => void;
  }) {
    this.#seeded = options.seeded;
    this.#backend = options.backend;
    this.#captures = [...options.captures];
    this.#log = options.log;
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /** Sends a request to each of these and does not wait for the answers. */
  start(machines: readonly Machine[]): void {
    const payments = [...this.#payments.keys()].slice(-FRESH);
    const id = payments.length === 0 ? '' : this.#seeded.pick(payments);
    for (const machine of machines) {
      const again = this.requests.filter(({ planned }) => planned.key !== undefined);
      const isRepeated = again.length > 0 && this.#seeded.percent(18);
      this.send(isRepeated ? this.#seeded.pick(again) : this.#next(id), machine);
    }
  }

  send(request: Request, machine: Machine): void {
    const name = `client: ${request.reference} ${request.planned.endpoint} ${request.planned.id}`;
    this.#log(`${name}${request.sent > 0 ? ' again' : ''}`);
    request.sent++;
    const waiting: Waiting = { machine };
    this.#underWay.add(waiting);
    const done = (response: SimulatedResponse): void => {
      if (!this.#underWay.delete(waiting)) return;
      this.#heard(request, response);
      this.#log(`${name} <- ${response.status}${response.replayed ? ' again' : ''} ${summaryOf(response)}`);
    };
    machine.send(request.planned).then(done);
  }

  /** Drops the requests that were sent to this process. */
  lost(machine: Machine): void {
    for (const each of this.#underWay) if (each.machine === machine) this.#underWay.delete(each);
  }

  #heard(request: Request, response: SimulatedResponse): void {
    request.responses.push(response);
    if (response.status !== 200) return;
    const { payment_id: id, status } = jsonOf(response).data.transaction_info;
    this.#payments.set(id, status);
  }

  #next(id: string): Request {
    const what = id === '' ? 'create' : this.#seeded.weighed(this.#wishesFor(id));
    const reference = `r${++this.#count}.`;
    const key = what === 'show' || this.#seeded.percent(35) ? undefined : `key-${reference}`;
    if (what === 'create') return this.#creation(reference, key);
    const body = what === 'show' ? undefined : this.#change(what, reference);
    return this.#made({ endpoint: what, id, body, key }, reference);
  }

  /** Mostly an operation that the last reported status allows, sometimes any. */
  #wishesFor(id: string): Readonly<Record<EndpointName, number>> {
    const status = this.#payments.get(id);
    const all = { create: 36, capture: 8, refund: 8, void: 6, show: 6 };
    if (status === 'Authorized') return { ...all, capture: 40, void: 14 };
    if (status === 'Collected') return { ...all, refund: 30 };
    return status === 'Opened' ? { ...all, void: 20, show: 12 } : all;
  }

  #made(planned: SimulatedRequest, reference: string, capture?: string): Request {
    const request: Request = { planned, reference, capture, responses: [], sent: 0 };
    this.requests.push(request);
    return request;
  }

  #creation(reference: string, key: string | undefined): Request {
    const type = this.#seeded.pick(['authorization', 'authorization', 'payment']);
    const { email, units } = this.#backend.planned(this.#seeded);
    const capture = this.#seeded.percent(40) ? this.#captures.pop() : undefined;
    const field = `{{${capture}:transaction}}`;
    const card =
      capture === undefined
        ? { number: this.#seeded.pick(PANS), expiration_date: '12/2029', security_code: '737', holder: 'Ana Lopez' }
        : { number: field, expiration_date: field, security_code: field, holder: 'Ana Lopez' };
    const body = {
      transaction_info: { type, reference_code: reference },
      card,
      order_info: { amount_details: { total_amount: `${units}.50`, currency: 'USD' } },
      cardholder_info: { first_name: 'Ana', email },
    };
    return this.#made({ endpoint: 'create', id: '', body, key }, reference, capture);
  }

  #change(what: 'capture' | 'refund' | 'void', reference: string): object {
    const isPart =
      what === 'refund' ? this.#seeded.percent(70) : this.#backend.partialCapture && this.#seeded.percent(40);
    const part = isPart ? { amount_details: { total_amount: `${this.#seeded.between(1, 300)}.25` } } : {};
    const info = (type: string) => ({ transaction_info: { type, reference_code: reference } });
    if (what === 'capture') return { ...info('capture'), capture_info: part };
    if (what === 'refund') return { ...info('payment_refund'), refund_info: part };
    return info('authorization_void');
  }
}

function summaryOf(response: SimulatedResponse): string {
  const { status, message, data } = jsonOf(response);
  const { transaction_id: id, status: paymentStatus, reason } = data.transaction_info ?? {};
  return [status, `“${message}”`, paymentStatus, reason, id].filter((part) => part !== undefined).join(' ');
}
