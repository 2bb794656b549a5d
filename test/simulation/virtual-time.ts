/** 2026-11-21T12:00:00Z. */
const START = Date.UTC(2026, 10, 21, 12);

interface Timer {
  at: number;
  readonly every: number | undefined;
  readonly run: () => void;
}

const GLOBALS = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const;

/** Time that passes only when the simulation says so; the timers of the code under test go by it. */
export class VirtualTime {
  now = START;
  readonly #timers = new Set<Timer>();

  /** Runs after so many milliseconds. */
  after(milliseconds: number, run: () => void): void {
    this.#add(milliseconds, run);
  }

  every(milliseconds: number, run: () => void): () => void {
    const timer = this.#add(milliseconds, run, milliseconds);
    return () => this.#timers.delete(timer);
  }

  /** Advances the time to the next timer, and runs it. */
  fire(): void {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (next === undefined || timer.at < next.at) next = timer;
    if (next === undefined) return;
    this.now = Math.max(this.now, next.at);
    if (next.every === undefined) this.#timers.delete(next);
    else next.at = this.now + next.every;
    next.run();
  }

  /** All due timers are late, as after a sleep of the machine. */
  jumpTo(time: number): void {
    this.now = Math.max(this.now, time);
  }

  /** Puts the timers of this process on this time until the returned function is called. */
  install(): () => void {
    const set = (run: () => void, milliseconds = 0): object => this.#handle(this.#add(milliseconds, run));
    const setEvery = (run: () => void, milliseconds = 0): object =>
      this.#handle(this.#add(milliseconds, run, milliseconds));
    const clear = (handle?: { timer?: Timer }): void => {
      if (handle?.timer !== undefined) this.#timers.delete(handle.timer);
    };
    const fakes = { setTimeout: set, clearTimeout: clear, setInterval: setEvery, clearInterval: clear };
    const originals = GLOBALS.map((name) => [name, globalThis[name]] as const);
    Object.assign(globalThis, fakes);
    return () => Object.assign(globalThis, Object.fromEntries(originals));
  }

  #add(milliseconds: number, run: () => void, every?: number): Timer {
    const timer = { at: this.now + milliseconds, every, run };
    this.#timers.add(timer);
    return timer;
  }

  #handle(timer: Timer): object {
    const handle = { timer, unref: () => handle, ref: () => handle };
    return handle;
  }
}
