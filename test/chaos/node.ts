import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { runWithSettings } from '../fixtures/command.ts';
import { runCommand, type ServiceProcess, startProcess } from '../fixtures/service-process.ts';
import type { Attempt, ChaosResponse, Interruption, PlannedRequest } from './ledger.ts';

/** How long a client waits for a response. */
export const TIMEOUT_MS = 10_000;
/** Pause after which a supervisor starts an ended process again. */
const RESTART_AFTER_MS = 500;
const REFUSED_AFTER_MS = 20;
/** A client may notice a cut a little before the end of the process is known here. */
const NOTICED_MS = 250;
const THREAD_REPLACED_WITHIN_MS = 30_000;
const POLL_INTERVAL_MS = 20;
const PRELOADED = ['wall-clock.ts', 'thread-ends.ts']
  .map((name) => `--import ${pathToFileURL(join(import.meta.dirname, name)).href}`)
  .join(' ');

/** Milliseconds of the right clock; without an end the span lasts. */
interface Span {
  readonly from: number;
  to?: number;
}

/** The content of a request. */
interface Letter {
  /** The API key. */
  readonly key: string;
  /** Sent as x-request-id. */
  readonly id: string;
  readonly idempotencyKey: string | undefined;
}

/** None of them outlives this process, however it ends; not even one that stands still. */
const LIVING = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of LIVING) child.kill('SIGKILL');
});

/** One cardvault process with its own data folder, and a supervisor that starts it again when it ends. */
export class Node {
  /** From 1. */
  readonly number: number;
  readonly directory: string;
  /** Its settings. */
  readonly variables: Readonly<Record<string, string>>;
  /** The command of the program that its next start runs; undefined: this one. */
  bin: string | undefined;
  /** Its output when it, or one of its request threads, ended without being killed. */
  readonly endings: string[] = [];
  readonly #downs: Span[] = [];
  /** From the order that ends a request thread until its log reports the end. */
  readonly #threadEnds: Span[] = [];
  /** Lines of the log, by request id. */
  readonly #failures = new Map<string, string>();
  #lastWords = '';
  #serving: ServiceProcess | undefined;
  #agent = new Agent();
  #isWanted = false;
  #starting: Promise<void> = Promise.resolve();

  constructor(number: number, directory: string, variables: Readonly<Record<string, string>>, bin?: string) {
    this.number = number;
    this.bin = bin;
    this.directory = directory;
    mkdirSync(directory, { recursive: true });
    this.variables = variables;
    this.clock('');
  }

  /** Resolves when it serves. */
  start(): Promise<void> {
    this.#isWanted = true;
    this.#starting = this.#serve();
    return this.#starting;
  }

  async #serve(): Promise<void> {
    const options = `${process.env['NODE_OPTIONS'] ?? ''} ${PRELOADED}`.trim();
    const files = { CHAOS_CLOCK: this.#clockFile, CHAOS_THREADS: this.#threadsFile };
    const variables = { ...this.variables, NODE_OPTIONS: options, ...files };
    const serving = await startProcess(this.directory, variables, this.bin);
    const { child } = serving;
    LIVING.add(child);
    child.once('exit', () => LIVING.delete(child));
    let output = '';
    child.stderr?.on('data', (chunk: string) => {
      const lines = `${output}${chunk}`.split('\n');
      output = lines.pop() ?? '';
      for (const line of lines) this.#hear(line);
    });
    child.once('exit', (code, signal) => this.#ended(serving, signal ?? `code ${code}`));
    this.#agent = new Agent({ keepAlive: true, maxSockets: 256 });
    this.#serving = serving;
    const down = this.#downs.at(-1);
    if (down !== undefined) down.to = Date.now();
  }

  #hear(line: string): void {
    const { request_id: id, msg } = (readJson(line) ?? {}) as { request_id?: string; msg?: string };
    if (id !== undefined) this.#failures.set(id, line);
    if (msg === 'request thread ended') this.#onThreadEnded(line);
    this.#lastWords = line;
  }

  #onThreadEnded(line: string): void {
    const end = this.#threadEnds.at(-1);
    if (end !== undefined && end.to === undefined) end.to = Date.now();
    else this.endings.push(`request thread ${line}`);
  }

  /** Its log lines about a request that failed. */
  logged(id: string): string | undefined {
    return this.#failures.get(id);
  }

  #ended(serving: ServiceProcess, how: string): void {
    if (this.#serving !== serving) return;
    this.#goDown();
    if (!this.#isWanted) return;
    this.endings.push(`${how} ${this.#lastWords}`);
    this.#starting = this.#startAgain();
  }

  async #startAgain(): Promise<void> {
    while (this.#isWanted) {
      await wait(RESTART_AFTER_MS);
      try {
        return await this.#serve();
      } catch {
        // The supervisor starts it again.
      }
    }
  }

  #goDown(): void {
    this.#downs.push({ from: Date.now() });
    this.#serving = undefined;
    this.#agent.destroy();
  }

  /** Without any warning. */
  async kill(): Promise<void> {
    this.#isWanted = false;
    await this.#starting.catch(() => undefined);
    const serving = this.#serving;
    if (serving === undefined) return;
    this.#goDown();
    serving.child.kill('SIGKILL');
    await serving.kill();
  }

  /** Stops it as an operator does; returns its exit code. */
  async stop(): Promise<number | null> {
    this.#isWanted = false;
    await this.#starting.catch(() => undefined);
    const serving = this.#serving;
    if (serving === undefined) return null;
    this.#goDown();
    return serving.stop();
  }

  /** Stops the process with SIGSTOP, and continues it. */
  pause(): void {
    this.#serving?.child.kill('SIGSTOP');
  }

  resume(): void {
    this.#serving?.child.kill('SIGCONT');
  }

  get #clockFile(): string {
    return join(this.directory, 'clock');
  }

  /** See `wall-clock.ts`. */
  clock(offset: string): void {
    writeFileSync(this.#clockFile, offset);
  }

  get #threadsFile(): string {
    return join(this.directory, 'threads');
  }

  /** Ends one of its request threads, which `choice` selects; see `thread-ends.ts`. Resolves when another listens in its place. */
  async endThread(choice: number): Promise<void> {
    const end: Span = { from: Date.now() };
    this.#threadEnds.push(end);
    writeFileSync(this.#threadsFile, String(choice));
    while (end.to === undefined || readFileSync(this.#threadsFile, 'utf8') !== '') {
      if (Date.now() - end.from > THREAD_REPLACED_WITHIN_MS)
        throw new Error(`node ${this.number} did not replace a request thread: ${this.#lastWords}`);
      await wait(POLL_INTERVAL_MS);
    }
  }

  /** Did a request thread end during this time, and cut its connections? */
  wasThreadEnded(from: number, to: number): boolean {
    return isDuring(this.#threadEnds, from, to);
  }

  /** Was there no process for some part of this time? */
  wasDown(from: number, to: number): boolean {
    return isDuring(this.#downs, from, to);
  }

  /** Runs a command beside it, of the same program. */
  command(...args: readonly string[]): Promise<{ code: number | null; out: string; err: string }> {
    if (this.bin !== undefined) return runCommand(this.directory, args, this.variables, this.bin);
    return runWithSettings({ CARDVAULT_DATA_DIR: this.directory, ...this.variables }, ...args);
  }

  async attempt(planned: PlannedRequest, letter: Letter, timeoutMs = TIMEOUT_MS): Promise<Attempt> {
    const sentAt = Date.now();
    const end = await this.#send(planned, letter, timeoutMs);
    return { id: letter.id, node: this.number, sentAt, endedAt: Date.now(), end };
  }

  async #send(
    { method, path, body }: PlannedRequest,
    { key, id, idempotencyKey }: Letter,
    timeoutMs: number,
  ): Promise<ChaosResponse | Interruption> {
    const serving = this.#serving;
    if (serving === undefined) {
      await wait(REFUSED_AFTER_MS);
      return 'refused';
    }
    const payload =
      body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    const type = typeof body === 'string' ? 'text/plain' : 'application/json';
    const headers = {
      [path.startsWith('/proxy/') ? 'ft-access-key' : 'x-api-key']: key,
      'x-request-id': id,
      ...(payload !== undefined && { 'content-type': type, 'content-length': String(payload.length) }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const where = { host: '127.0.0.1', servername: 'localhost', port: serving.ports.sandbox, ca: serving.authority };
    const agent = this.#agent;
    return new Promise((resolve) => {
      const outgoing = request({ ...where, method, path, headers, agent }, (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', () => end('reset'));
        incoming.on('aborted', () => end('reset'));
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          end({
            status: incoming.statusCode ?? 0,
            replayed: incoming.headers['idempotent-replayed'] === 'true',
            retryAfter: incoming.headers['retry-after'],
            text,
            json: readJson(text),
          });
        });
      });
      const timer = setTimeout(() => {
        end('silence');
        outgoing.destroy();
      }, timeoutMs);
      const end = (with_: ChaosResponse | Interruption): void => {
        clearTimeout(timer);
        resolve(with_);
      };
      outgoing.on('error', ({ code }: NodeJS.ErrnoException) => end(code === 'ECONNREFUSED' ? 'refused' : 'reset'));
      outgoing.end(payload);
    });
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

const isDuring = (spans: readonly Span[], from: number, to: number): boolean =>
  spans.some((span) => span.from <= to + NOTICED_MS && (span.to ?? Number.POSITIVE_INFINITY) >= from - NOTICED_MS);

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
