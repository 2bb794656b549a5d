import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A process of the benchmark that responds to each order with one report. */
export class Child<Order extends object, Report extends object> {
  readonly #process: ChildProcess;
  readonly #name: string;
  readonly #waiting: { resolve: (report: Report) => void; reject: (error: Error) => void }[] = [];

  constructor(name: string, env?: NodeJS.ProcessEnv, options: readonly string[] = []) {
    this.#name = name;
    this.#process = fork(join(import.meta.dirname, name), [], {
      execArgv: [...options],
      ...(env !== undefined && { env }),
      // The log of a service goes where it costs a write and no disk.
      stdio: ['ignore', 'ignore', env === undefined ? 'inherit' : 'ignore', 'ipc'],
    });
    this.#process.on('message', (report: Report | { error: string }) => {
      const waiting = this.#waiting.shift();
      if ('error' in report) waiting?.reject(new Error(`${name}: ${report.error}`));
      else waiting?.resolve(report);
    });
    this.#process.on('exit', (code) => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error(`${name} ended with ${code}`));
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  send(order: Order): Promise<Report> {
    return new Promise((resolve, reject) => {
      if (this.#process.exitCode !== null) return reject(new Error(`${this.#name} has ended`));
      this.#waiting.push({ resolve, reject });
      this.#process.send(order);
    });
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.disconnect();
    await ended;
  }
}

/** Makes this process respond to each order with what the function returns, and end with its parent. */
export function respond<Order>(follow: (order: Order) => Promise<object>): void {
  process.on('message', (order: Order) => {
    follow(order).then(
      (report) => process.send?.(report),
      (error: Error) => process.send?.({ error: error.stack ?? error.message }),
    );
  });
  process.on('disconnect', () => process.exit(0));
}
