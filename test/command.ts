import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { startService } from '../src/app.ts';
import { runCommandLine } from '../src/cli/cli.ts';
import type { Core, Tools } from '../src/cli/core.ts';
import { readConfig } from '../src/config.ts';
import { openCore } from '../src/core.ts';
import { systemRandom } from '../src/crypto/random.ts';
import { openLog } from '../src/http/log.ts';
import { openDatabase } from '../src/storage/open.ts';
import { databaseSettings } from './database.ts';

type Variables = Readonly<Record<string, string>>;

/** The command line as an operator runs it: a process of its own. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output read as one JSON document; throws when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of every shape
  json(): any;
}

export const BIN = join(import.meta.dirname, '..', 'bin', 'cardvault.mjs');

export async function runCommand(
  args: readonly string[],
  variables: Variables,
  node = process.execPath,
): Promise<Finished> {
  const settings = await databaseSettings(variables['CARDVAULT_DATA_DIR']);
  const env: NodeJS.ProcessEnv = { ...withoutSettings(process.env), ...settings, ...variables };
  const child = spawn(node, [BIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr, json: () => JSON.parse(stdout) }));
  });
}

/** The variables of this process without what configures a service. */
export const withoutSettings = (variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(variables).filter(([name]) => !/^(CARDVAULT_|NODE_TEST_CONTEXT$)/.test(name)));

/** A command that was run in this process. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  // biome-ignore lint/suspicious/noExplicitAny: documents of every shape
  readonly json: any;
}

/** One command in this process, which is the same code without the start of a process. */
export async function runHere(directory: string, ...args: string[]): Promise<Ran> {
  return runWith(await settingsOf(directory), ...args);
}

/** The same with these settings and no others. */
export const runWith = (variables: Variables, ...args: string[]): Promise<Ran> => runLine(args, toolsOf(variables));

/** Commands in this process over one vault, which is opened once and not by each: that takes longer than most of them. */
export class Shell {
  readonly #directory: string;
  #core: Promise<Core> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async run(...args: string[]): Promise<Ran> {
    const variables = await settingsOf(this.#directory);
    const open = async (): Promise<Core> => {
      this.#core ??= openCore(readConfig(variables), clock);
      return { ...(await this.#core), close: () => Promise.resolve() };
    };
    return runLine(args, { ...toolsOf(variables), open });
  }

  /** The next command opens it again. */
  async close(): Promise<void> {
    const core = this.#core;
    this.#core = undefined;
    await (await core)?.close();
  }
}

const clock = (): number => Date.now();

const settingsOf = async (directory: string): Promise<Variables> => ({
  CARDVAULT_DATA_DIR: directory,
  ...(await databaseSettings(directory)),
});

/** What a command is given beside its own. */
function toolsOf(variables: Variables): Omit<Tools, 'out' | 'err'> {
  const config = readConfig(variables);
  return {
    clock,
    paths: () => config,
    open: ({ databaseFile: file, make = false }) =>
      openCore(file === undefined ? config : { ...config, database: { kind: 'sqlite', file } }, clock, { make }),
    openDatabase: (address) =>
      openDatabase(readConfig({ ...variables, CARDVAULT_DATABASE_URL: address }).database, clock, systemRandom()),
    start: () => Promise.reject(new Error('no command of this test serves')),
    untilStopped: () => Promise.resolve(),
  };
}

async function runLine(args: readonly string[], tools: Omit<Tools, 'out' | 'err'>): Promise<Ran> {
  const streams = { out: '', err: '' };
  const code = await runCommandLine(args, {
    ...tools,
    out: (text) => {
      streams.out += text;
    },
    err: (text) => {
      streams.err += text;
    },
  });
  return {
    code,
    ...streams,
    get json() {
      return JSON.parse(streams.out);
    },
  };
}

/** A service in this process, started by the command that starts one. */
export interface ServingHere {
  /** Standard output. */
  readonly printed: string;
  /** Returns the exit code. */
  stop(): Promise<number>;
}

/** Starts the service on free ports, and waits until it says that it runs; throws what it says when it does not start. */
export async function serveHere(directory: string, options: string[] = [], more: Variables = {}): Promise<ServingHere> {
  const ports = { CARDVAULT_PRODUCTION_PORT: '0', CARDVAULT_SANDBOX_PORT: '0', CARDVAULT_CONSOLE_PORT: '0' };
  const variables = { ...(await settingsOf(directory)), CARDVAULT_RATE_LIMIT_PER_KEY: '0', ...ports, ...more };
  const config = readConfig(variables);
  const printed = Promise.withResolvers<string>();
  const stopped = Promise.withResolvers<void>();
  const ended = runCommandLine(['serve', ...options], {
    ...toolsOf(variables),
    start: () => startService(config, clock, openLog('error', { write: () => undefined })),
    untilStopped: () => stopped.promise,
    out: printed.resolve,
    err: (text) => printed.reject(new Error(text)),
  });
  return {
    printed: await printed.promise,
    stop: () => {
      stopped.resolve();
      return ended;
    },
  };
}
