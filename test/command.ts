import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { startService } from '../src/app.ts';
import { runCommandLine } from '../src/cli/cli.ts';
import type { Core, Surroundings } from '../src/cli/core.ts';
import { readConfig } from '../src/config.ts';
import { openCore, unlockJournal } from '../src/core.ts';
import { systemRandom } from '../src/crypto/random.ts';
import { openLog } from '../src/http/log.ts';
import type { Clock } from '../src/kernel/clock.ts';
import { openDatabase } from '../src/storage/open.ts';
import { evenClocks } from './clocks.ts';
import { databaseSettings } from './database.ts';

type Variables = Readonly<Record<string, string>>;

/** The command line as an operator runs it: a process of its own. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  /** Standard error without the line that names the operator. */
  readonly stderr: string;
  /** Standard output read as one JSON document, without the operator; throws when it is none. */
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
    child.on('close', (code) =>
      resolve({ code, stdout, stderr: withoutOperator(stderr), json: () => documentOf(stdout) }),
    );
  });
}

/** The variables of this process without what configures a service. */
export const withoutSettings = (variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(variables).filter(([name]) => !/^(CARDVAULT_|NODE_TEST_CONTEXT$)/.test(name)));

/** A Node of this machine that is too old to run the service itself. */
export function olderNode(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return folders
    .map((folder) => join(folder, 'node'))
    .find((file) => {
      if (!existsSync(file)) return false;
      const major = Number(/^v([0-9]+)/.exec(spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout)?.[1]);
      return major >= 20 && major < 24;
    });
}

/** A command that was run in this process. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  /** Standard error without the line that names the operator. */
  readonly err: string;
  /** That line, without its end. */
  readonly operatorLine: string | undefined;
  /** Standard output read as one JSON document, without the operator. */
  // biome-ignore lint/suspicious/noExplicitAny: documents of every shape
  readonly json: any;
}

const OPERATOR_LINE = /^recorded in the audit log as operator .*\n/m;

const withoutOperator = (err: string): string => err.replace(OPERATOR_LINE, '');

/** Every command that leaves an audit record names the operator, who is the same in each. */
function documentOf(out: string): unknown {
  const document = JSON.parse(out);
  if (typeof document === 'object' && document !== null) delete document.recorded_operator;
  return document;
}

/** One command in this process, which is the same code without the start of a process. */
export async function runHere(directory: string, ...args: string[]): Promise<Ran> {
  return runWith(await settingsOf(directory), ...args);
}

/** The same with these settings and no others. */
export const runWith = (variables: Variables, ...args: string[]): Promise<Ran> => runLine(args, toolsOf(variables));

/** Runs a command by a clock of the test, over the database's as well. */
export const runAt = async (clock: Clock, directory: string, ...args: string[]): Promise<Ran> =>
  runLine(args, toolsOf({ ...(await settingsOf(directory)), CARDVAULT_CLOCK: 'system' }, clock));

/** Commands in this process over one vault, which is opened once and not by each: that takes longer than most of them. */
export class Shell {
  readonly #directory: string;
  #core: Promise<Core> | undefined;

  /** `core`: the vault, opened already, with its own clock. */
  constructor(directory: string, core?: Core) {
    this.#directory = directory;
    if (core !== undefined) this.#core = Promise.resolve(core);
  }

  async run(...args: string[]): Promise<Ran> {
    const variables = await settingsOf(this.#directory);
    const open = async (): Promise<Core> => {
      this.#core ??= openCore(readConfig(variables), evenClocks(systemClock));
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

const systemClock: Clock = (): number => Date.now();

const settingsOf = async (directory: string): Promise<Variables> => ({
  CARDVAULT_DATA_DIR: directory,
  ...(await databaseSettings(directory)),
});

/** What a command is given beside its own. */
function toolsOf(variables: Variables, clock: Clock = systemClock): Omit<Surroundings, 'out' | 'err'> {
  const config = readConfig(variables);
  return {
    clock,
    paths: () => config,
    open: ({ databaseFile: file, make = false }) =>
      openCore(file === undefined ? config : { ...config, database: { kind: 'sqlite', file } }, evenClocks(clock), {
        make,
      }),
    openDatabase: (address) =>
      openDatabase(readConfig({ ...variables, CARDVAULT_DATABASE_URL: address }).database, clock, systemRandom()),
    unlockJournal: (opened) => unlockJournal(config, opened),
    start: () => Promise.reject(new Error('no command of this test serves')),
    untilStopped: () => Promise.resolve(),
    isTerminal: false,
  };
}

async function runLine(args: readonly string[], tools: Omit<Surroundings, 'out' | 'err'>): Promise<Ran> {
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
    out: streams.out,
    err: withoutOperator(streams.err),
    operatorLine: OPERATOR_LINE.exec(streams.err)?.[0].trimEnd(),
    get json() {
      return documentOf(streams.out);
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
export async function serveHere(
  directory: string,
  options: string[] = [],
  more: Variables = {},
  { isTerminal = false } = {},
): Promise<ServingHere> {
  const ports = { CARDVAULT_PRODUCTION_PORT: '0', CARDVAULT_SANDBOX_PORT: '0', CARDVAULT_CONSOLE_PORT: '0' };
  const variables = { ...(await settingsOf(directory)), CARDVAULT_RATE_LIMIT_PER_KEY: '0', ...ports, ...more };
  const config = readConfig(variables);
  const printed = Promise.withResolvers<string>();
  const stopped = Promise.withResolvers<void>();
  const ended = runCommandLine(['serve', ...options], {
    ...toolsOf(variables),
    start: () => startService(config, evenClocks(systemClock), openLog('error', { write: () => undefined })),
    untilStopped: () => stopped.promise,
    isTerminal,
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
