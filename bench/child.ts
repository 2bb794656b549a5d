import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A process of the benchmark that responds to each order with one report. */
export class Child<Order extends object, Report extends object> {
  readonly #process: ChildProcess;
  readonly #name: string;
  readonly #waiting: { resolve: (report: Report) => void; reject: (error: Error) => void }[] = [];

  constructor(name: string, args: readonly string[], options: Pick<ForkOptions, 'execPath' | 'execArgv' | 'env'> = {}) {
    this.#name = name;
    this.#process = fork(join(import.meta.dirname, name), args, {
      execArgv: [],
      ...options,
      // The log goes where it costs a write and no disk.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
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

  /** The next report. */
  report(): Promise<Report> {
    return new Promise((resolve, reject) => {
      if (this.#process.exitCode !== null) reject(new Error(`${this.#name} has ended`));
      else this.#waiting.push({ resolve, reject });
    });
  }

  send(order: Order): Promise<Report> {
    const report = this.report();
    this.#process.send(order);
    return report;
  }

  async ended(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) await once(this.#process, 'exit');
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }
}

/** Settings of a service to measure: a folder of its own, free ports, no limits, the log as in production. */
export const variables = (directory: string): NodeJS.ProcessEnv => ({
  ...process.env,
  CARDVAULT_DATA_DIR: directory,
  CARDVAULT_PRODUCTION_PORT: '0',
  CARDVAULT_SANDBOX_PORT: '0',
  CARDVAULT_CONSOLE_PORT: '0',
  CARDVAULT_RATE_LIMIT_PER_KEY: '0',
  CARDVAULT_RATE_LIMIT_FAILED_AUTHENTICATION: '0',
  CARDVAULT_LOG_LEVEL: 'info',
});
