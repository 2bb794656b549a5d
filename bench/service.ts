import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { PERMISSIONS } from '../src/accounts/permission.ts';
import { parseConfig } from '../src/config.ts';
import { type OpenCore, openCore } from '../src/core.ts';
import { systemClocks } from '../test/fixtures/clock.ts';
import { freePort } from '../test/fixtures/postgres-server.ts';
import { cpuOf, cpuOfThreads, type Memory, memoryPartsOf, writtenBytesOf } from './processes.ts';
import type { AccountName } from './requests.ts';

/** The secrets of the keys of the two accounts. */
export type Secrets = Readonly<Record<AccountName, string>>;

const OPERATOR = { actor: { type: 'operator' as const, name: 'bench' } };
const ENVIRONMENT = 'sandbox';
const POLL_MS = 5;
const PATIENCE_MS = 60_000;
/** The default is a second: the timeout of a call is not what is measured on a busy machine. */
const SIMULATOR_SETTINGS = { 'timeout-ms': '30000' };
const PROXY_SETTINGS = {
  usual: {},
  plain: { 'jose.payload': 'plain', 'wssec.order': 'sign-encrypt' },
} as const satisfies Record<AccountName, object>;

/** Settings of a service to measure: a folder of its own, limits that are never reached, the log as in production. Others come from the caller's environment. */
export const settingsFor = (directory: string, database: string): NodeJS.ProcessEnv => ({
  ...process.env,
  CARDVAULT_DATA_DIR: directory,
  CARDVAULT_DATABASE_URL: database,
  CARDVAULT_HOST: '127.0.0.1',
  CARDVAULT_PRODUCTION_PORT: '0',
  CARDVAULT_SANDBOX_PORT: '0',
  CARDVAULT_CONSOLE_PORT: '0',
  CARDVAULT_CAPTURE_PORT: '0',
  // Figures of two machines with different cores compare the same thing, unless the caller sets another number.
  CARDVAULT_WORKERS: process.env['CARDVAULT_WORKERS'] ?? '1',
  // The highest: each request takes from its bucket and has the headers of the limit.
  CARDVAULT_RATE_LIMIT_PER_KEY: '1000000',
  CARDVAULT_RATE_LIMIT_FAILED_AUTHENTICATION: '1000000',
  CARDVAULT_LOG_LEVEL: 'info',
});

/** One pair for both sides: how long a signature takes does not depend on the key. */
const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

async function createAccount(core: OpenCore, name: AccountName): Promise<string> {
  const { accounts, activations, configurations, transactions } = core;
  const { id } = await transactions.run({ origin: OPERATOR }, (transaction) => accounts.create(transaction, name));
  const tenant = { account: id, environment: ENVIRONMENT } as const;
  const traits = {
    ...{ name: 'bench', description: '', permissions: PERMISSIONS, expiresAt: undefined },
    allowList: [{ cidr: '127.0.0.0/8', note: '' }],
  };
  const { secret } = await transactions.run({ origin: OPERATOR }, (transaction) =>
    accounts.createKey(transaction, id, ENVIRONMENT, traits),
  );
  await transactions.run({ origin: OPERATOR }, (transaction) =>
    activations.enable(transaction, tenant, { processor: 'simulator', settings: SIMULATOR_SETTINGS, force: false }),
  );
  const keys = {
    processorPublicKey: Buffer.from(publicKey),
    merchantPrivateKey: Buffer.from(privateKey),
  };
  await transactions.run({ origin: OPERATOR }, (transaction) =>
    configurations.configure(transaction, tenant, { ...keys, settings: PROXY_SETTINGS[name], overlapMinutes: 0 }),
  );
  return secret;
}

/** Creates a vault with two accounts, as the command line does before the first start. */
export async function createVault(settings: NodeJS.ProcessEnv): Promise<Secrets> {
  const core = await openCore(parseConfig(settings), systemClocks);
  try {
    return { usual: await createAccount(core, 'usual'), plain: await createAccount(core, 'plain') };
  } finally {
    await core.close();
  }
}

/** The certificate is not checked: its authority is not known yet. */
const isReady = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path: '/readyz', rejectUnauthorized: false, agent: false };
    const outgoing = request(options, (incoming) => {
      incoming.resume();
      resolve(incoming.statusCode === 200);
    });
    outgoing.on('error', () => resolve(false));
    outgoing.end();
  });

/** The service as an operator starts it, in a process of its own, over a vault with two accounts. */
export class Service {
  readonly directory: string;
  readonly port: number;
  readonly secrets: Secrets;
  /** Milliseconds from the start of the process to the first 200 of /readyz. */
  readonly startMs: number;
  readonly #process: ChildProcess;

  private constructor(directory: string, port: number, secrets: Secrets, startMs: number, process: ChildProcess) {
    this.directory = directory;
    this.port = port;
    this.secrets = secrets;
    this.startMs = startMs;
    this.#process = process;
  }

  /** `database`: its address; empty is SQLite in the folder. `variables`: settings of this service alone. */
  static async start(
    directory: string,
    database: string,
    variables: Readonly<Record<string, string>> = {},
  ): Promise<Service> {
    const settings = { ...settingsFor(directory, database), ...variables };
    const secrets = await createVault(settings);
    const port = await freePort();
    const program = join(import.meta.dirname, '..', 'bin', 'cardvault.mjs');
    const env = { ...settings, CARDVAULT_SANDBOX_PORT: String(port) };
    const start = performance.now();
    // The log goes where it costs a write and no disk.
    const child = spawn(process.execPath, [program, 'serve'], { env, stdio: 'ignore' });
    while (!(await isReady(port))) {
      if (child.exitCode !== null || performance.now() - start > PATIENCE_MS) {
        child.kill('SIGKILL');
        throw new Error('the service did not start');
      }
      await wait(POLL_MS);
    }
    return new Service(directory, port, secrets, performance.now() - start, child);
  }

  /** PEM of its certificate and key. */
  get pem(): string {
    return readFileSync(join(this.directory, 'tls', 'server.pem'), 'utf8');
  }

  /** CPU microseconds of all threads so far. */
  get cpu(): number {
    return cpuOf(this.#process.pid ?? 0);
  }

  /** CPU microseconds of the thread that writes to SQLite. */
  get writerCpu(): number {
    return cpuOfThreads(this.#process.pid ?? 0, 'sqlite-writer');
  }

  /** Bytes. */
  get memory(): number {
    return this.memoryParts.resident;
  }

  get memoryParts(): Memory {
    return memoryPartsOf(this.#process.pid ?? 0);
  }

  /** Bytes that it has written to files so far. */
  get writtenBytes(): number {
    return writtenBytesOf(this.#process.pid ?? 0);
  }

  /** Bytes of its SQLite database, those pages included that are still in the write-ahead log. */
  get databaseBytes(): number {
    const database = new DatabaseSync(this.#file, { readOnly: true });
    try {
      return Number(
        database.prepare('select page_count * page_size as bytes from pragma_page_count, pragma_page_size').get()?.[
          'bytes'
        ],
      );
    } finally {
      database.close();
    }
  }

  /** Bytes of the file of SQLite's write-ahead log. */
  get logBytes(): number {
    return statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Transactions of its SQLite database so far. Source: SQLite's "WAL-Index header", the counter after 8 bytes. */
  get transactions(): number {
    return readFileSync(`${this.#file}-shm`).readUInt32LE(8);
  }

  get #file(): string {
    return join(this.directory, 'cardvault.db');
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    await ended;
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }
}
