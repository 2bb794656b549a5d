import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { reset } from '../fixtures/reset.ts';

/** Faults of a network. `hole`: nothing gets through; `mute`: requests do, and responses do not. */
export type Trouble = 'none' | 'hole' | 'mute';

type Direction = 'request' | 'answer';

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  readonly requests: Flow;
  readonly responses: Flow;
}

/**
 * A TCP proxy between one node and one server of the database. Delayed bytes are delivered in their order when the
 * fault is over, including the ends of connections, as after a network partition: a late commit does arrive.
 */
export class NetworkLink {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #trouble: Trouble = 'none';
  #delayMs = 0;

  private constructor(target: number) {
    this.#server = createServer({ allowHalfOpen: true }, (near) => this.#connect(near, target));
  }

  /** Links to a port of this machine. */
  static async to(target: number): Promise<NetworkLink> {
    const link = new NetworkLink(target);
    link.#server.listen(0, '127.0.0.1');
    await once(link.#server, 'listening');
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Applies to bytes that are sent from now on. */
  delay(milliseconds: number): void {
    this.#delayMs = milliseconds;
  }

  /** Applies from now on; `none` delivers what was delayed. */
  trouble(trouble: Trouble): void {
    this.#trouble = trouble;
    for (const { requests, responses } of this.#pairs) {
      requests.deliver();
      responses.deliver();
    }
  }

  /** Cuts every connection, and drops the bytes on their way. */
  reset(): void {
    for (const { near, far, requests, responses } of this.#pairs) {
      requests.forget();
      responses.forget();
      reset(near);
      reset(far);
    }
    this.#pairs.clear();
  }

  close(): void {
    this.reset();
    this.#server.close();
  }

  #connect(near: Socket, target: number): void {
    const far = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    near.setNoDelay(true);
    far.setNoDelay(true);
    const flow = (direction: Direction): Flow =>
      new Flow(
        () => this.#delayMs,
        () => this.#trouble === 'hole' || (this.#trouble === 'mute' && direction === 'answer'),
      );
    const pair: Pair = { near, far, requests: flow('request'), responses: flow('answer') };
    this.#pairs.add(pair);
    const pass = (from: Socket, to: Socket, way: Flow): void => {
      from.on('data', (chunk) => way.push(() => to.write(chunk)));
      from.on('end', () => way.push(() => to.end()));
      from.on('error', () => way.push(() => reset(to)));
      from.on('close', () => {
        if (near.destroyed && far.destroyed) this.#pairs.delete(pair);
      });
    };
    pass(near, far, pair.requests);
    pass(far, near, pair.responses);
  }
}

/** One direction of a connection: bytes are passed on in their order, when their delay has passed. */
class Flow {
  readonly #delay: () => number;
  readonly #isHeld: () => boolean;
  #queue: { readonly due: number; readonly act: () => void }[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(delay: () => number, isHeld: () => boolean) {
    this.#delay = delay;
    this.#isHeld = isHeld;
  }

  push(act: () => void): void {
    this.#queue.push({ due: performance.now() + this.#delay(), act });
    this.deliver();
  }

  deliver(): void {
    clearTimeout(this.#timer);
    for (let [first] = this.#queue; first !== undefined && !this.#isHeld(); [first] = this.#queue) {
      const wait = first.due - performance.now();
      if (wait > 0) {
        this.#timer = setTimeout(() => this.deliver(), wait);
        return;
      }
      this.#queue.shift();
      first.act();
    }
  }

  forget(): void {
    clearTimeout(this.#timer);
    this.#queue = [];
  }
}
