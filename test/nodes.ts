import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Captures } from '../src/captures/captures.ts';
import type { Core } from '../src/cli/core.ts';
import { readConfig } from '../src/config.ts';
import { openCore } from '../src/core.ts';
import { MINUTE } from '../src/kernel/clock.ts';
import type { Row, Value } from '../src/storage/database.ts';
import { Vault } from '../src/vault/vault.ts';
import { systemClocks, trusting } from './clocks.ts';
import { BIN, runWith, withoutSettings } from './command.ts';
import { sharedPostgres } from './postgres.ts';
import { newDirectory, removeDirectory, runCommand, type Serving, serve } from './process.ts';

type Variables = Readonly<Record<string, string>>;

const OPERATOR = { actor: { type: 'operator' as const, name: 'test' } };

/** One vault in a PostgreSQL database, and the nodes that serve it: processes with data folders of their own. */
export class Nodes {
  readonly address: string;
  readonly folder = newDirectory();
  readonly #running: Serving[] = [];
  readonly #begun: ChildProcess[] = [];
  #core: Promise<Core> | undefined;
  readonly #drop: () => Promise<void>;
  #count = 0;

  /** `drop`: what becomes of the database at the end. */
  constructor(address: string, drop: () => Promise<void> = () => Promise.resolve()) {
    this.address = address;
    this.#drop = drop;
  }

  /** Over an empty database of the server that the tests share. */
  static async overShared(): Promise<Nodes> {
    const databases = await sharedPostgres();
    const address = await databases.newDatabase();
    return new Nodes(address, () => databases.dropDatabase(address));
  }

  /** The settings that all nodes and commands share. */
  get variables(): Record<string, string> {
    return { CARDVAULT_DATABASE_URL: this.address, CARDVAULT_ROOT_KEY_FILE: join(this.folder, 'root.key') };
  }

  /** A data folder that nobody has yet. */
  newFolder(): string {
    const folder = join(this.folder, `node-${++this.#count}`);
    mkdirSync(folder);
    return folder;
  }

  async start(variables: Variables = {}, folder = this.newFolder()): Promise<Serving> {
    return this.keep(await serve(folder, { ...this.variables, ...variables }));
  }

  /** A start with what it says from its beginning on, which may never come to its end. */
  begin(bin = BIN): { child: ChildProcess; said: { text: string } } {
    const ports = { CARDVAULT_PRODUCTION_PORT: '0', CARDVAULT_SANDBOX_PORT: '0', CARDVAULT_CONSOLE_PORT: '0' };
    const own = { ...ports, CARDVAULT_DATA_DIR: this.newFolder(), CARDVAULT_LOG_LEVEL: 'error' };
    const env = { ...withoutSettings(process.env), ...this.variables, ...own };
    const child = spawn(process.execPath, [bin, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#begun.push(child);
    const said = { text: '' };
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        said.text += chunk;
      });
    return { child, said };
  }

  /** Ended with the others at the end. */
  keep(serving: Serving): Serving {
    this.#running.push(serving);
    return serving;
  }

  /** One command as a process, with a data folder of its own too. */
  run(args: readonly string[], variables: Variables = {}): Promise<{ code: number | null; out: string; err: string }> {
    return runCommand(this.folder, args, { ...this.variables, ...variables });
  }

  /** One command in this process, which is none of the nodes. It succeeds; what it printed as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: documents of every shape
  async done(args: readonly string[], variables: Variables = {}): Promise<any> {
    const all = { CARDVAULT_DATA_DIR: this.folder, ...this.variables, ...variables };
    const { code, out, err } = await runWith(all, ...args, '--json');
    if (code !== 0) throw new Error(`${args.join(' ')}: ${code} ${out}${err}`);
    return JSON.parse(out);
  }

  /** The same vault in this process, for what tests prepare and look at. */
  core(): Promise<Core> {
    const config = readConfig({ CARDVAULT_DATA_DIR: this.folder, ...this.variables });
    this.#core ??= openCore(config, systemClocks);
    return this.#core;
  }

  /** Rows of any table. */
  async rows(sql: string, ...values: Value[]): Promise<Row[]> {
    return (await this.core()).database.read(sql, ...values);
  }

  /** A new account with a sandbox key that may do everything from here, and the simulator enabled. */
  async newCaller(): Promise<{ account: string; id: string; key: string }> {
    const { accounts, activations } = await this.core();
    const { id: account } = await accounts.create('Store', OPERATOR);
    const allowList = [{ cidr: '127.0.0.1', note: '' }];
    const traits = { name: 'till', description: '', permissions: [], allowList, expiresAt: undefined };
    const { key, secret } = await accounts.createKey(account, 'sandbox', traits, OPERATOR);
    // So that a slow machine brings no payment into doubt.
    const settings = { 'timeout-ms': '20000' };
    const request = { processor: 'simulator', settings, force: false };
    await activations.enable({ account, environment: 'sandbox' }, request, OPERATOR);
    return { account, id: key.id, key: secret };
  }

  /** Of a capture in the sandbox whose ttl ended a minute ago. */
  async newExpiredCapture(account: string): Promise<string> {
    const { database, keyring, sadKeys, random } = await this.core();
    const clock = (): number => Date.now() - 2 * MINUTE;
    const parts = { database, keyring, sadKeys, clock, time: trusting(clock), random };
    const vault = new Vault(parts);
    const captures = new Captures({ ...parts, vault });
    const card = { pan: undefined, name: 'Ana Lopez', expiry: undefined };
    const more = { sad: { cvv: '123', track2: undefined }, amount: 1, currency: 'USD', additionalInfo: {} };
    return captures.create(
      { account, environment: 'sandbox' },
      { ...card, ...more, ttlMinutes: 1 },
      { origin: OPERATOR },
    );
  }

  /** Ends all nodes without any warning, and removes their folders and database. */
  async end(): Promise<void> {
    const core = await this.#core?.catch(() => undefined);
    for (const child of this.#begun) child.kill('SIGKILL');
    await Promise.all([core?.close(), ...this.#running.map((each) => each.kill())]);
    removeDirectory(this.folder);
    await this.#drop();
  }
}

/** Connections that wait for a lock, so that a test knows that somebody is in the middle of something. */
export const BLOCKED = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;

/** Repeats until there is something, and tells how many milliseconds that took; throws with the last answer. */
export async function within<T>(
  milliseconds: number,
  ask: () => Promise<T>,
  isGood: (found: T) => boolean,
): Promise<{ found: T; took: number }> {
  for (const begun = performance.now(); ; await pause(50)) {
    const found = await ask();
    const took = performance.now() - begun;
    if (isGood(found)) return { found, took };
    if (took > milliseconds) throw new Error(`not within ${milliseconds} ms: ${JSON.stringify(found)}`);
  }
}

/** Everything that a node says on its log from now on. */
export function logOf({ child }: Serving): { text: string } {
  const log = { text: '' };
  child.stderr?.on('data', (chunk: string) => {
    log.text += chunk;
  });
  return log;
}
