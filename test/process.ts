import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { databaseSettings } from './database.ts';

/** The real service and its command line, each in a process of its own. */
const COMMAND = join(import.meta.dirname, '..', 'bin', 'cardvault.mjs');
const STARTS_WITHIN_MS = 60_000;

export const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'cardvault-test-'));
export const removeDirectory = (directory: string): void => rmSync(directory, { recursive: true, force: true });

type Variables = Readonly<Record<string, string>>;

export interface Answered {
  readonly status: number;
  readonly replayed: boolean;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

export interface Call {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Serving {
  readonly child: ChildProcess;
  /** What the start printed. */
  readonly screen: string;
  readonly ports: { readonly production: number; readonly sandbox: number; readonly console: number };
  readonly authority: string;
  /** Of the first start. */
  readonly demoKey: string | undefined;
  /** Calls the sandbox. */
  call(method: string, path: string, options?: Call): Promise<Answered>;
  /** Ends it without any warning. */
  kill(): Promise<void>;
  /** Asks it to end; returns its exit code. */
  stop(): Promise<number | null>;
}

const environmentOf = async (directory: string, variables: Variables): Promise<NodeJS.ProcessEnv> => {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('CARDVAULT_'));
  return {
    ...Object.fromEntries(inherited),
    CARDVAULT_DATA_DIR: directory,
    CARDVAULT_HOST: '127.0.0.1',
    CARDVAULT_PRODUCTION_PORT: '0',
    CARDVAULT_SANDBOX_PORT: '0',
    CARDVAULT_CONSOLE_PORT: '0',
    CARDVAULT_RATE_LIMIT_PER_KEY: '0',
    ...(await databaseSettings(directory)),
    ...variables,
  };
};

interface Spawned {
  readonly child: ChildProcess;
  readonly out: { text: string };
  readonly err: { text: string };
}

async function spawnCommand(directory: string, args: readonly string[], variables: Variables): Promise<Spawned> {
  const env = await environmentOf(directory, variables);
  const child = spawn(process.execPath, [COMMAND, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const out = { text: '' };
  const err = { text: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out.text += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err.text += chunk;
  });
  return { child, out, err };
}

/** Runs one command to its end. */
export async function runCommand(
  directory: string,
  args: readonly string[],
  variables: Variables = {},
): Promise<{ code: number | null; out: string; err: string }> {
  const { child, out, err } = await spawnCommand(directory, args, variables);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out: out.text, err: err.text };
}

/** Starts the service on free ports and waits until it says that it runs. */
export async function serve(directory: string, variables: Variables = {}): Promise<Serving> {
  const { child, out, err } = await spawnCommand(directory, ['serve'], { CARDVAULT_LOG_LEVEL: 'error', ...variables });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const started = new Promise<void>((resolve, reject) => {
    const told = (what: string): Error => new Error(`${what}: ${out.text}${err.text}`);
    setTimeout(() => reject(told('the service did not start')), STARTS_WITHIN_MS).unref();
    child.stdout?.on('data', () => {
      if (out.text.includes('Stop with Ctrl-C')) resolve();
    });
    closed.then(() => reject(told('the service ended')));
  });
  try {
    await started;
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  const [production, sandbox, console] = ['production', 'sandbox', 'console'].map((name) => portOf(out.text, name));
  const ports = { production: production ?? 0, sandbox: sandbox ?? 0, console: console ?? 0 };
  const authority = readFileSync(join(directory, 'tls', 'ca.pem'), 'utf8');
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  return {
    child,
    screen: out.text,
    ports,
    authority,
    demoKey: /^ {2}(cv_sandbox_\S+)$/m.exec(out.text)?.[1],
    call: (method, path, options = {}) => call({ port: ports.sandbox, authority, agent }, method, path, options),
    kill: async () => {
      child.kill('SIGKILL');
      await closed;
      agent.destroy();
    },
    stop: async () => {
      agent.destroy();
      child.kill('SIGTERM');
      return (await closed)[0];
    },
  };
}

const portOf = (screen: string, listener: string): number =>
  Number(new RegExp(`^ {2}${listener} +https://localhost:([0-9]+)`, 'm').exec(screen)?.[1] ?? 0);

function call(
  { port, authority, agent }: { port: number; authority: string; agent: Agent },
  method: string,
  path: string,
  { key, body, headers }: Call,
): Promise<Answered> {
  const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const sent = {
    ...(key !== undefined && { 'x-api-key': key }),
    ...(payload !== undefined && { 'content-type': 'application/json', 'content-length': String(payload.length) }),
    ...headers,
  };
  const options = {
    host: '127.0.0.1',
    servername: 'localhost',
    port,
    method,
    path,
    headers: sent,
    ca: authority,
    agent,
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(options, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('aborted', () => reject(new Error('the answer was cut off')));
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const replayed = incoming.headers['idempotent-replayed'] === 'true';
        resolve({ status: incoming.statusCode ?? 0, replayed, text, json: readJson(text) });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(payload);
  });
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
