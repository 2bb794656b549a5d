import { spawn } from 'node:child_process';
import { join } from 'node:path';

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

export function runCommand(
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
  node = process.execPath,
): Promise<Finished> {
  const env: NodeJS.ProcessEnv = { ...withoutSettings(process.env), ...variables };
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
