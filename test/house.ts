import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AllowedNetwork } from '../src/accounts/allow-list.ts';
import type { Permission } from '../src/accounts/permission.ts';
import { startService } from '../src/app.ts';
import type { Core } from '../src/cli/core.ts';
import { readConfig } from '../src/config.ts';
import { openLog } from '../src/http/log.ts';
import type { Environment } from '../src/kernel/environment.ts';
import { databaseSettings, dropDatabase } from './database.ts';

/** A whole service in this process, on free ports and a folder of its own, with a clock that tests can advance. */
export interface House {
  readonly core: Core;
  readonly directory: string;
  readonly ports: { readonly production: number; readonly sandbox: number; readonly console: number };
  readonly authority: string;
  /** Every line logged so far. */
  readonly log: readonly string[];
  /** So much time passes. */
  advance(milliseconds: number): void;
  /** Sets the wall clock, while no time passes. */
  jump(milliseconds: number): void;
  now(): number;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  newAccount(name?: string): Promise<string>;
  newKey(account: string, options?: KeyOptions): Promise<{ id: string; secret: string }>;
  enablePayments(account: string, settings?: Readonly<Record<string, string>>, processor?: string): Promise<void>;
  /** Stops, and removes the folder and its database unless it was given. */
  stop(): Promise<void>;
}

export interface CallOptions {
  readonly key?: string;
  readonly environment?: Environment | 'console';
  /** Objects are sent as JSON, strings and bytes as they are. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Local address to call from. */
  readonly from?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body read as JSON; undefined when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

export interface KeyOptions {
  readonly environment?: Environment;
  readonly name?: string;
  readonly permissions?: readonly Permission[];
  readonly allow?: readonly string[];
  readonly expiresAt?: number;
}

const LOCAL = ['127.0.0.0/8', '::1'];
const OPERATOR = { actor: { type: 'operator' as const, name: 'test' } };

export async function startHouse(
  options: { variables?: Record<string, string>; directory?: string; authority?: string } = {},
): Promise<House> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  const log: string[] = [];
  let passed = 0;
  let jumped = 0;
  const clock = (): number => Date.now() + passed + jumped;
  const clocks = { clock, monotonic: () => performance.now() + passed };
  const variables = {
    CARDVAULT_DATA_DIR: directory,
    CARDVAULT_PRODUCTION_PORT: '0',
    CARDVAULT_SANDBOX_PORT: '0',
    CARDVAULT_CONSOLE_PORT: '0',
    CARDVAULT_RATE_LIMIT_PER_KEY: '0',
    CARDVAULT_RATE_LIMIT_FAILED_AUTHENTICATION: '0',
    CARDVAULT_DRAIN_SECONDS: '2',
    ...(await databaseSettings(directory)),
    // The one that tests advance.
    CARDVAULT_CLOCK: 'system',
    ...options.variables,
  };
  const running = await startService(
    readConfig(variables),
    clocks,
    openLog('debug', { write: (line) => log.push(line) }),
  );
  const { core, ports } = running;
  const authority = options.authority ?? readFileSync(running.authorityFile ?? '', 'utf8');
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });

  const call = (method: string, path: string, options: CallOptions = {}): Promise<Answer> => {
    const { key, environment = 'sandbox', body, from } = options;
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const payload =
      body === undefined ? undefined : isRaw ? Buffer.from(body as string) : Buffer.from(JSON.stringify(body));
    const headers = {
      ...(key !== undefined && { 'x-api-key': key }),
      ...(payload !== undefined && { 'content-type': 'application/json', 'content-length': String(payload.length) }),
      ...options.headers,
    };
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          host: '127.0.0.1',
          servername: 'localhost',
          port: ports[environment],
          method,
          path,
          headers,
          ca: authority,
          agent: from === undefined ? agent : new Agent(),
          ...(from !== undefined && { localAddress: from }),
        },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json: readJson(text) });
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(payload);
    });
  };

  return {
    core,
    directory,
    ports,
    authority,
    log,
    advance: (milliseconds) => {
      passed += milliseconds;
    },
    jump: (milliseconds) => {
      jumped += milliseconds;
    },
    now: clock,
    call,
    enablePayments: async (account, settings = {}, processor = 'simulator') => {
      const request = { processor, settings, force: false };
      await core.activations.enable({ account, environment: 'sandbox' }, request, OPERATOR);
    },
    newAccount: async (name = 'Test') => (await core.accounts.create(name, OPERATOR)).id,
    newKey: async (
      account,
      { environment = 'sandbox', name = 'test', permissions = [], allow = LOCAL, expiresAt } = {},
    ) => {
      const allowList: AllowedNetwork[] = allow.map((cidr) => ({ cidr, note: '' }));
      const traits = { name, description: '', permissions, allowList, expiresAt };
      const { key, secret } = await core.accounts.createKey(account, environment, traits, OPERATOR);
      return { id: key.id, secret };
    },
    stop: async () => {
      agent.destroy();
      await running.stop();
      if (options.directory !== undefined) return;
      rmSync(directory, { recursive: true, force: true });
      await dropDatabase(directory);
    },
  };
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A card number that passes the Luhn check: the digits given, random ones, and a check digit. */
export function luhnPan(prefix: string, length = 16): string {
  let digits = prefix;
  while (digits.length < length - 1) digits += Math.floor(Math.random() * 10);
  for (let check = 0; check < 10; check++) {
    const pan = digits + check;
    let sum = 0;
    for (let index = 0; index < pan.length; index++) {
      const digit = Number(pan[pan.length - 1 - index]) * (index % 2 === 0 ? 1 : 2);
      sum += digit > 9 ? digit - 9 : digit;
    }
    if (sum % 10 === 0) return pan;
  }
  throw new Error('no check digit fits');
}
