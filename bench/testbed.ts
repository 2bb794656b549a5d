import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EchoOrder, EchoReport } from './bare-echo.ts';
import { Child } from './child.ts';
import { DatabaseServer } from './database-server.ts';
import type { Load, LoadOrder, LoadReport } from './load.ts';
import { cpuOf } from './processes.ts';
import { type AccountName, FILLED_BY, type Pool, type Request } from './requests.ts';
import { createVault, type Secrets, Service, settingsFor } from './service.ts';
import type { SignerOrder, SignerReport } from './signer.ts';

/** A server that requests go to. */
export interface Target {
  readonly name: string;
  readonly port: number;
  readonly secrets: Secrets;
  /** CPU microseconds of the server so far. */
  cpu(): number;
  /** CPU microseconds so far of the database server that only this target uses. */
  databaseCpu(): number;
}

/** One round of one request at one target. CPU is microseconds for each request. */
export interface Round {
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The median of the 99th percentiles of all slices. */
  readonly usualP99: number;
  /** The server, all threads. */
  readonly cpu: number;
  readonly databaseCpu: number;
  /** The fraction of a core that the load took. */
  readonly loadShare: number;
}

interface RunOptions {
  readonly seconds: number;
  readonly perSecond?: number | undefined;
  /** Length of the slices of the usual 99th percentile; absent: 5. */
  readonly sliceSeconds?: number;
  readonly atMost?: number;
  readonly into?: Pool;
}

/** The options of Node with which bin/cardvault.mjs starts the service: servers that it is compared with have them too. */
export const SERVER_OPTIONS = ['--max-semi-space-size=16'];

export const NO_SECRETS: Secrets = { usual: '', plain: '' };
/** Enough time for any number of records: filling ends by their number. */
const FILLING_SECONDS = 600;
const TOLERATED_SHARE = 0.02;

/** All processes of a measurement, and a folder that is removed with them. */
export class Testbed {
  readonly directory: string;
  readonly #load = new Child<LoadOrder, LoadReport>('load.ts');
  readonly #children: Child<object, object>[] = [];
  readonly #services: Service[] = [];
  readonly #databases: DatabaseServer[] = [];
  /** Numbers of records in the pools of the load. */
  readonly #records = new Map<string, number>();
  readonly #onExit = (): void => this.#kill();

  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), 'cardvault-bench-'));
    process.on('exit', this.#onExit);
  }

  /** Starts the service over SQLite, or over the database of this address. `folder`: where its files are. */
  async startService(
    name: string,
    database?: { readonly address: string; readonly server: DatabaseServer },
    variables?: Readonly<Record<string, string>>,
    folder = this.directory,
  ) {
    const service = await Service.start(join(folder, name), database?.address ?? '', variables);
    this.#services.push(service);
    const target: Target = {
      ...{ name, port: service.port, secrets: service.secrets },
      cpu: () => service.cpu,
      databaseCpu: () => database?.server.cpu ?? 0,
    };
    return { service, target };
  }

  /** Starts a database server; returns undefined when there is no PostgreSQL. */
  async startDatabase(settings: Readonly<Record<string, string>> = {}): Promise<DatabaseServer | undefined> {
    const server = await DatabaseServer.start(settings);
    if (server !== undefined) this.#databases.push(server);
    return server;
  }

  /** Starts `node:https` alone, with a certificate of a service; with `signs` it signs each body before it responds. */
  async startBareEcho(pem: string, signs = false): Promise<Target> {
    const child = new Child<EchoOrder, EchoReport>('bare-echo.ts', undefined, SERVER_OPTIONS);
    this.#children.push(child as Child<object, object>);
    const { port } = await child.send({ pem, signs });
    return this.#targetOf(signs ? 'bare signing' : 'bare echo', port, NO_SECRETS, child.pid);
  }

  async startServiceEcho(): Promise<Target> {
    // Other threads than the main one have the endpoints of the product.
    const settings = { ...settingsFor(join(this.directory, 'service echo'), ''), CARDVAULT_WORKERS: '1' };
    const secrets = await createVault(settings);
    const child = new Child<object, EchoReport>('service-echo.ts', settings, SERVER_OPTIONS);
    this.#children.push(child as Child<object, object>);
    const { port } = await child.send({});
    return this.#targetOf('service echo', port, secrets, child.pid);
  }

  /** Starts the process of bare signatures; the function that it returns measures one round, with CPU for each signature. */
  startSigner(): (seconds: number) => Promise<{ readonly perSecond: number; readonly cpu: number }> {
    const child = new Child<SignerOrder, SignerReport>('signer.ts');
    this.#children.push(child as Child<object, object>);
    return async (seconds) => {
      const before = cpuOf(child.pid);
      const { signatures, seconds: took } = await child.send({ seconds });
      return { perSecond: signatures / took, cpu: (cpuOf(child.pid) - before) / signatures };
    };
  }

  /** A target that another program serves. */
  #targetOf(name: string, port: number, secrets: Secrets, pid: number): Target {
    return { name, port, secrets, cpu: () => cpuOf(pid), databaseCpu: () => 0 };
  }

  /** Opens this many connections to each of these targets and closes all others. */
  async connect(targets: readonly Target[], connections: number): Promise<void> {
    await this.#load.send({ kind: 'disconnect' });
    for (const { name: target, port } of targets) await this.#load.send({ kind: 'connect', target, port, connections });
  }

  /** Sends requests of one kind until the time is over. Throws when one fails: a refusal is quick, and would flatter. */
  async run(target: Target, request: Request, options: RunOptions): Promise<Round> {
    const account = request.account ?? 'usual';
    const before = { server: target.cpu(), database: target.databaseCpu() };
    const load = await this.#run(target, request, account, options);
    const after = { server: target.cpu(), database: target.databaseCpu() };
    return {
      ...{ perSecond: load.requests / load.seconds, p50: load.p50, p99: load.p99, usualP99: load.usualP99 },
      cpu: (after.server - before.server) / load.requests,
      databaseCpu: (after.database - before.database) / load.requests,
      loadShare: load.cpu / 1e6 / load.seconds,
    };
  }

  /** Creates records until a pool holds this many. */
  async fill(target: Target, pool: Pool, account: AccountName, records: number): Promise<void> {
    const request = FILLED_BY[pool];
    const wanted = Math.min(records, request.most ?? records);
    const missing = wanted - (this.#records.get(`${target.name} ${account} ${pool}`) ?? 0);
    const atMost = Math.ceil(missing / (request.cards ?? 1));
    if (atMost > 0) await this.#run(target, request, account, { seconds: FILLING_SECONDS, atMost, into: pool });
  }

  async #run(target: Target, request: Request, account: AccountName, options: RunOptions): Promise<Load> {
    const { perSecond, ...rest } = options;
    const open = perSecond === undefined ? {} : { perSecond };
    const order = { kind: 'run', target: target.name, secret: target.secrets[account], request: request.name } as const;
    const load = await this.#load.send({ ...order, ...rest, ...open });
    if (!('requests' in load)) throw new Error('the load did not run');
    const pool = options.into ?? request.uses;
    if (pool !== undefined) this.#records.set(`${target.name} ${account} ${pool}`, load.records);
    // Records that are only read or used up later need not all exist.
    const tolerated = options.into === undefined ? 0 : load.requests * TOLERATED_SHARE;
    if (load.failures > tolerated)
      throw new Error(
        `${request.name}: ${load.failures} of ${load.requests} requests failed; the first: ${load.failure}`,
      );
    return load;
  }

  /** Stops all services; others may be started then. */
  async stopServices(): Promise<void> {
    await this.#load.send({ kind: 'disconnect' });
    for (const service of this.#services.splice(0)) await service.stop();
  }

  async stop(): Promise<void> {
    await this.#load.stop();
    for (const child of this.#children) await child.stop();
    for (const service of this.#services) await service.stop();
    for (const database of this.#databases) await database.stop();
    this.#kill();
    process.off('exit', this.#onExit);
  }

  /** Ends what still runs; everything but the services ends with this process. */
  #kill(): void {
    for (const service of this.#services) service.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
