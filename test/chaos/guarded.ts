import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Home } from '../fixtures/postgres-server.ts';

const READY_WITHIN_MS = 30_000;
const POLL_INTERVAL_MS = 50;

/** A program of another project that runs as the servers' user, and ends with this process in whatever way that ends. */
export class GuardedProgram {
  readonly #home: Home;
  readonly #command: readonly string[];
  readonly #log: string;
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;

  /** `log`: the file that gets its output. */
  constructor(home: Home, log: string, command: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    this.#home = home;
    this.#log = log;
    this.#command = command;
    this.#environment = environment;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start(): void {
    const { uid, gid } = this.#home.user;
    const user = uid === undefined ? [] : ['--reuid', String(uid), '--regid', String(gid), '--clear-groups'];
    const log = openSync(this.#log, 'a', 0o600);
    const { cwd, env } = this.#home.options();
    this.#child = spawn('setpriv', ['--pdeathsig', 'KILL', ...user, ...this.#command], {
      cwd,
      env: { ...env, HOME: this.#home.directory, ...this.#environment },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
  }

  /** Without any warning. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

/** Resolves when connections to the port of this machine are accepted. */
export async function untilListening(port: number, what: string): Promise<void> {
  for (const until = Date.now() + READY_WITHIN_MS; Date.now() < until; await wait(POLL_INTERVAL_MS))
    if (await accepts(port)) return;
  throw new Error(`${what} did not start`);
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (result: boolean) => () => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', end(true)).once('error', end(false));
  });
