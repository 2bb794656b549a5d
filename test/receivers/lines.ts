import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** A receiver said no to a message; the text is its own. */
export class Refused extends Error {}

interface Waiting {
  resolve(fields: string[]): void;
  reject(error: Error): void;
}

const encode = (fields: readonly string[]): string =>
  fields.map((field) => Buffer.from(field).toString('base64')).join('\t');
const decode = (line: string): string[] => line.split('\t').map((field) => Buffer.from(field, 'base64').toString());

/** Lines of a process with several clients: each line starts with a number of its client. */
export class Lines {
  static #count = 0;
  readonly #process: LineProcess;
  readonly #number = String(Lines.#count++);

  constructor(process: LineProcess) {
    this.#process = process;
  }

  send(fields: readonly string[]): Promise<string[]> {
    return this.#process.send([this.#number, ...fields]);
  }
}

/**
 * A process that responds to each line with one line, in their order; any number may be in progress. While none is, it
 * does not keep this process running, and it ends with it.
 */
export class LineProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting: Waiting[] = [];
  readonly #name: string;
  #complaints = '';
  #dead: Error | undefined;

  constructor(name: string, command: string, args: readonly string[]) {
    this.#name = name;
    this.#child = spawn(command, args, { stdio: 'pipe' });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#complaints = (this.#complaints + text).slice(-4000);
    });
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#answered(line));
    this.#child.stdin.on('error', () => undefined);
    this.#child.on('error', (error) => this.#ended(error.message));
    this.#child.on('close', () => this.#ended('it ended'));
    this.#hold(false);
  }

  send(fields: readonly string[]): Promise<string[]> {
    return new Promise((resolve, reject) => {
      if (this.#dead !== undefined) return reject(this.#dead);
      this.#waiting.push({ resolve, reject });
      this.#hold(true);
      this.#child.stdin.write(`${encode(fields)}\n`);
    });
  }

  #answered(line: string): void {
    const waiting = this.#waiting.shift();
    const [verdict, ...rest] = line.split('\t');
    const fields = rest.length === 0 ? [] : decode(rest.join('\t'));
    if (verdict === 'ok') waiting?.resolve(fields);
    else waiting?.reject(new Refused(fields[0] ?? line));
    if (this.#waiting.length === 0) this.#hold(false);
  }

  #ended(why: string): void {
    const error = this.#dead ?? new Error(`${this.#name}: ${why}: ${this.#complaints}`);
    this.#dead = error;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }

  #hold(running: boolean): void {
    const does = running ? 'ref' : 'unref';
    this.#child[does]();
    // Pipes of a child process are sockets, whatever their types say.
    for (const pipe of this.#child.stdio.slice(0, 3)) (pipe as unknown as Socket)[does]?.();
  }
}
