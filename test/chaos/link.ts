import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { reset } from '../fixtures/reset.ts';

/** How a network goes wrong. `hole`: nothing gets through; `mute`: requests do, and answers do not. */
export type Trouble = 'none' | 'hole' | 'mute';

type Direction = 'request' | 'answer';

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  readonly requests: Flow;
  readonly answers: Flow;
}

/**
 * A TCP proxy between one node and one server of the database. What it holds back is delivered in its order when the
 * trouble is over, ends of connections too, as after a network that was cut in two: a late commit does arrive.
 */
export class Link {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #trouble: Trouble = 'none';
  #delayMs = 0;

  private constructor(target: number) {
    this.#server = createServer({ allowHalfOpen: true }, (near) => this.#connect(near, target));
  }

  /** To a port of this machine. */
  static async to(target: number): Promise<Link> {
    const link = new Link(target);
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

  /** From now on; `none` delivers what was held back. */
  trouble(trouble: Trouble): void {
    this.#trouble = trouble;
    for (const { requests, answers } of this.#pairs) {
      requests.deliver();
      answers.deliver();
    }
  }

  /** Cuts every connection, and forgets what was on its way. */
  reset(): void {
    for (const { near, far, requests, answers } of this.#pairs) {
      requests.forget();
      answers.forget();
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
    const pair: Pair = { near, far, requests: flow('request'), answers: flow('answer') };
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
    pass(far, near, pair.answers);
  }
}

/** One direction of a connection: what was read is passed on in its order, when its time has come. */
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
