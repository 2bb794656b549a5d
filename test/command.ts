import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { runCommandLine } from '../src/cli/cli.ts';
import { readConfig } from '../src/config.ts';
import { openCore } from '../src/core.ts';
import { systemRandom } from '../src/crypto/random.ts';
import { openDatabase } from '../src/storage/open.ts';
import { databaseSettings } from './database.ts';

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
  variables: Readonly<Record<string, string>>,
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
  const streams = { out: '', err: '' };
  const clock = (): number => Date.now();
  const config = readConfig({ CARDVAULT_DATA_DIR: directory, ...(await databaseSettings(directory)) });
  const code = await runCommandLine(args, {
    clock,
    paths: () => config,
    open: ({ databaseFile: file, make = false }) =>
      openCore(file === undefined ? config : { ...config, database: { kind: 'sqlite', file } }, clock, { make }),
    openDatabase: (address) =>
      openDatabase(
        readConfig({ CARDVAULT_DATA_DIR: directory, CARDVAULT_DATABASE_URL: address }).database,
        clock,
        systemRandom(),
      ),
    start: () => Promise.reject(new Error('no command of this test serves')),
    untilStopped: () => Promise.resolve(),
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
