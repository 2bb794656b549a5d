/** Delays. The service waits by the timers of the machine; a test lets them pass immediately. */
export interface Timers {
  /**
   * Calls `run` once after `milliseconds`, and returns a function that cancels the call. A waiting timer keeps no
   * process alive.
   */
  after(milliseconds: number, run: () => void): () => void;
}

export const systemTimers: Timers = {
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds).unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves after `milliseconds`. */
export const delay = (timers: Timers, milliseconds: number): Promise<void> =>
  new Promise((resolve) => timers.after(milliseconds, resolve));
