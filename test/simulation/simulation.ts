import { createSecretKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DigestKeys } from '../../src/crypto/digest-keys.ts';
import { paymentEvents } from '../../src/http/webhook-events.ts';
import { type Clock, HOUR } from '../../src/kernel/clock.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import type { Pan } from '../../src/kernel/pan.ts';
import { TimeGuard, type TrustedTime } from '../../src/kernel/time-guard.ts';
import type { LoadedPayment } from '../../src/payments/payment-store.ts';
import type { Driver } from '../../src/storage/database.ts';
import { insertEndpoint } from '../../src/webhooks/webhook-store.ts';
import { insertAccounts } from '../fixtures/accounts.ts';
import { trustedTime } from '../fixtures/clock.ts';
import { dropDatabase, openFolder } from '../fixtures/database.ts';
import { initializeJournal } from '../fixtures/journals.ts';
import { memoryFolder } from '../fixtures/postgres-server.ts';
import type { CorruptedResponse } from './acquirer.ts';
import { acquirerBackend, type Backend, type BackendParts, simulatorBackend } from './backend.ts';
import { Clients } from './clients.ts';
import { CrashableDatabase, Disk } from './disk.ts';
import { cyberSourceBackend, koinBackend } from './fake-backends.ts';
import { Machine, type MachineWebhooks } from './machine.ts';
import { DELAYS, endpointOf, RECEIVERS, Receivers } from './receivers.ts';
import { reconcile } from './reconcile.ts';
import { REACHABLE, reconcileEvents } from './reconcile-events.ts';
import { SeededRandom } from './seeded-random.ts';
import { Users } from './users.ts';
import { VirtualTime } from './virtual-time.ts';

/** Makes the processor of a simulation. */
export type BackendFactory = (parts: BackendParts) => Promise<Backend>;

export interface Plan {
  readonly seed: number;
  readonly processor: keyof typeof BACKENDS | BackendFactory;
  /** How many requests clients send. */
  readonly requests: number;
  /** The habits of the acquirer. */
  readonly spoilt?: CorruptedResponse;
  /** The clocks of both nodes jump by hours for seconds. `trusted`: the nodes do not notice. */
  readonly clockJumps?: 'noticed' | 'trusted';
  /** Users have processors inquired, and resolve outcomes manually. */
  readonly hasUsers?: boolean;
  /** Events are sent to servers of the merchant. `beside`: with a fault, they are written after the commit of what they tell. */
  readonly webhooks?: 'sent' | 'beside';
}

export interface Report {
  /** Violations; empty when the run is correct. */
  readonly faults: readonly string[];
  readonly trace: readonly string[];
  readonly crashes: number;
  readonly payments: number;
  /** Operations that have not ended. */
  readonly open: number;
  /** Payments that operators are shown. */
  readonly inDoubt: number;
  readonly acknowledged: number;
  /** Actions of users on unknown outcomes. */
  readonly checks: number;
  readonly resolutions: number;
  /** Events that were written, and requests to receivers that had them already. */
  readonly events: number;
  readonly duplicates: number;
}

const NODES = 2;
const CLIENTS = 8;
const CAPTURES = 30;
const TENANT: Tenant = { account: 'acc_1', environment: 'sandbox' };
const OPERATOR = { actor: { type: 'operator' as const, name: 'simulation' } };
/** Per thousand commits. */
const CRASHES = 12;
/** Per thousand steps. */
const HOLD_UPS = 4;
/** Per thousand steps. */
const CLOCK_JUMPS = 10;
const CLOCK_JUMPS_MS = [200, -200, 12, -12].map((hours) => hours * HOUR);
const REPEATS_IN_A_JUMP = 3;
/** Where the clock jumps no payment expires before the simulation is calm, unless the nodes go by the jump. */
const LONG_LIFETIMES = { 'opened-expiry': '12h', 'authorization-expiry': '7d' };
/** Looks at the clock until payments must have ended. */
const PATIENCE = 3000;
const NO_PATIENCE = 30;
/** The last notifications are sent, crashed nodes run again. */
const NEWS_WITHIN = 40_000;

/** Something is still to be found out about it. */
const isUnsettled = ({ payment, reconciliation }: LoadedPayment): boolean =>
  payment.operationInProgress !== undefined ||
  reconciliation.recheckIds.length > 0 ||
  reconciliation.inDoubtSince !== undefined;

/** Taken before timers are put on virtual time. */
const laterInReality = setImmediate;
const QUIET_TURNS = 3;

const BACKENDS = {
  acquirer: acquirerBackend,
  simulator: simulatorBackend,
  koin: koinBackend,
  cybersource: cyberSourceBackend,
} as const;

type Three = [number, number, number];

interface Parts {
  readonly seeded: SeededRandom;
  readonly time: VirtualTime;
  readonly backend: Backend;
  readonly trace: string[];
  readonly directory: string;
  readonly real: Driver;
}

interface Node {
  readonly database: CrashableDatabase;
  readonly machine: Machine;
  stop(): void;
}

/**
 * Two nodes of the service over one database, clients, and a processor, all in one process and one thread, with a clock of
 * its own. One seed decides what is asked, what gets lost, which unit is committed next, and which process ends when: the
 * same seed does the same again.
 */
class Simulation {
  readonly #plan: Plan;
  readonly #time: VirtualTime;
  readonly #seeded: SeededRandom;
  readonly #trace: string[];
  readonly #backend: Backend;
  readonly #directory: string;
  readonly #real: Driver;
  readonly #disk: Disk;
  readonly #nodes: (Node | undefined)[] = [];
  readonly #root: ReturnType<typeof createSecretKey>;
  readonly #faults: string[] = [];
  readonly #users: Users | undefined;
  readonly #receivers: Receivers | undefined;
  #crashes = 0;
  #isCalm = false;
  /** The difference of the clocks of all nodes. */
  #wrongBy = 0;
  /** The difference that the nodes store in their database. */
  #lastTrusted: number;

  private constructor(plan: Plan, parts: Parts) {
    const log = (line: string): void => this.#log(line);
    this.#plan = plan;
    this.#seeded = parts.seeded;
    this.#time = parts.time;
    this.#backend = parts.backend;
    this.#trace = parts.trace;
    this.#directory = parts.directory;
    this.#real = parts.real;
    this.#disk = new Disk(this.#real, this.#seeded.branch());
    this.#root = createSecretKey(this.#seeded.bytes(32));
    this.#lastTrusted = this.#time.now;
    const now = (): number => this.#time.now;
    const scene = { seed: plan.seed, tenant: TENANT, database: this.#real, backend: this.#backend, now };
    this.#users = plan.hasUsers === true ? new Users({ ...scene, log }) : undefined;
    // A generator of its own, so that a seed does the same without webhooks.
    const ofReceivers = { seeded: new SeededRandom(plan.seed + 2_000_003), time: this.#time, log };
    this.#receivers = plan.webhooks === undefined ? undefined : new Receivers(ofReceivers);
  }

  static async open(plan: Plan): Promise<Simulation> {
    const time = new VirtualTime();
    const seeded = new SeededRandom(plan.seed);
    const trace: string[] = [];
    const log = (line: string): number => trace.push(`${((time.now % 100_000_000) / 1000).toFixed(3)} ${line}`);
    const parts = { time, seeded: seeded.branch(), tenant: TENANT, log, spoilt: plan.spoilt };
    // Crashes of the machine are made up, too: no real disk has to keep anything.
    const directory = mkdtempSync(join(memoryFolder() ?? tmpdir(), 'cardvault-simulation-'));
    const real = await openFolder(directory);
    const { processor } = plan;
    const backend = await (typeof processor === 'function' ? processor : BACKENDS[processor])(parts);
    return new Simulation(plan, { seeded, time, backend, trace, directory, real });
  }

  async run(): Promise<Report> {
    const uninstall = this.#time.install();
    try {
      return await this.#run();
    } finally {
      for (const node of this.#nodes) if (node !== undefined) this.#end(node);
      uninstall();
      await this.#backend.close?.();
      await this.#real.close();
      rmSync(this.#directory, { recursive: true, force: true });
      await dropDatabase(this.#directory);
    }
  }

  async #run(): Promise<Report> {
    const desk = await this.#prepare();
    const clients = new Clients({
      seeded: this.#seeded.branch(),
      backend: this.#backend,
      captures: await this.#captures(desk),
      log: (line) => this.#log(line),
    });
    for (let node = 0; node < NODES; node++) this.#startNode(node);
    await this.#work(clients);
    await this.#calmDown(clients);
    const faults = await this.#reckon(desk, clients);
    const [counts] = await this.#real.read(
      'select count(*) as payments, count(operation_in_progress) as open, count(in_doubt_since) as in_doubt from payments',
    );
    const [payments, open, inDoubt] = ['payments', 'open', 'in_doubt'].map((name) => Number(counts?.[name])) as Three;
    const acknowledged = clients.requests.filter(({ responses }) => responses.length > 0).length;
    const { checks = 0, resolutions = 0 } = this.#users ?? {};
    const [written] = await this.#real.read('select count(*) as events from webhook_events');
    const sent = { events: Number(written?.['events']), duplicates: this.#receivers?.duplicates ?? 0 };
    const counted = { payments, open, inDoubt, acknowledged, crashes: this.#crashes, checks, resolutions, ...sent };
    return { faults, ...counted, trace: this.#trace };
  }

  /** A node without crashes, to prepare and to look at what there is. */
  async #prepare(): Promise<Machine> {
    const clock = () => this.#time.now;
    await this.#real.migrate(clock);
    await initializeJournal(this.#real, DigestKeys.of(createSecretKey(this.#seeded.bytes(32))));
    await insertAccounts(this.#real, [TENANT.account]);
    const process = { database: this.#real, clock, random: this.#seeded.branch(), isDead: () => false };
    const desk = this.#machine(process, clock, trustedTime(clock));
    const { name } = this.#backend;
    const settings = { ...this.#backend.settings, ...(this.#plan.clockJumps !== undefined && LONG_LIFETIMES) };
    await desk.transactions.run({ origin: OPERATOR }, (transaction) =>
      desk.activations.enable(transaction, TENANT, { processor: name, settings, force: false }),
    );
    if (this.#receivers !== undefined) await this.#createEndpoints(desk);
    return desk;
  }

  async #createEndpoints({ transactions, keyring }: Machine): Promise<void> {
    await transactions.run({ origin: OPERATOR }, async (transaction) => {
      for (const receiver of RECEIVERS)
        transaction.write(await insertEndpoint(keyring, TENANT, endpointOf(receiver, transaction.now)));
    });
  }

  async #captures(desk: Machine): Promise<string[]> {
    const ids: string[] = [];
    const card = { pan: '4111111111111111' as Pan, name: 'Ana Lopez', expiry: { month: '12', year: '29' } };
    const more = { amount: 100, currency: 'USD', additionalInfo: {}, ttlMinutes: 10_000 };
    const request = { ...card, ...more, sad: { cvv: '737', track2: undefined } };
    for (let count = 0; count < CAPTURES; count++)
      ids.push(
        await desk.transactions.run({ origin: OPERATOR }, (transaction) =>
          desk.captures.create(transaction, TENANT, request),
        ),
      );
    return ids;
  }

  /** `clock`: that of the node; the processor has one of its own, which is right. */
  #machine(process: Parameters<Backend['seenBy']>[0], clock: Clock, time: TrustedTime): Machine {
    const processors = { [this.#backend.name]: this.#backend.seenBy(process) };
    const { database, random } = process;
    const failed = (error: unknown): void => {
      this.#log(`recovery failed: ${error}`);
      this.#faults.push(`recovery failed: ${error instanceof Error ? error.stack : error}`);
    };
    const parts = { database, root: this.#root, clock, time, random, processors, tenant: TENANT, failed };
    return new Machine({ ...parts, webhooks: this.#webhooksOf(process) });
  }

  #webhooksOf(process: Parameters<Backend['seenBy']>[0]): MachineWebhooks | undefined {
    if (this.#receivers === undefined) return undefined;
    const spoil = this.#plan.webhooks === 'beside' ? writeBeside : undefined;
    return { sender: this.#receivers.seenBy(process), delays: DELAYS, spoil };
  }

  #startNode(at: number): void {
    const database = new CrashableDatabase(this.#disk);
    const skew = this.#seeded.between(-200, 200);
    const right = (): number => this.#time.now + skew;
    const clock = (): number => right() + this.#wrongBy;
    const guard = new TimeGuard({ clock, monotonic: () => this.#time.now });
    guard.begin(this.#lastTrusted);
    const process = { database, clock: right, random: this.#seeded.branch(), isDead: () => database.isDead };
    const machine = this.#machine(process, clock, this.#plan.clockJumps === 'trusted' ? trustedTime(clock) : guard);
    let running = false;
    const round = async (): Promise<void> => {
      if (running || database.isDead) return;
      running = true;
      this.#lastTrusted = guard.trustedNow() ?? this.#lastTrusted;
      await machine.round();
      if (this.#plan.clockJumps !== undefined) await machine.sweep();
      running = false;
    };
    const failed = (error: unknown): void => {
      running = false;
      this.#faults.push(`a round failed: ${error instanceof Error ? error.stack : error}`);
    };
    const stop = this.#time.every(1000, () => round().catch(failed));
    this.#nodes[at] = { database, machine, stop };
  }

  #crash(database: CrashableDatabase, clients: Clients): void {
    const at = this.#nodes.findIndex((node) => node?.database === database);
    const node = this.#nodes[at];
    // A unit that was handed over before an earlier crash.
    if (node === undefined) return;
    this.#crashes++;
    this.#log(`node ${at} crashes`);
    this.#end(node);
    this.#disk.abandon(database);
    clients.lost(node.machine);
    this.#nodes[at] = undefined;
    this.#time.after(this.#seeded.between(0, 5000), () => this.#startNode(at));
  }

  /** The other nodes do its work in the meantime. */
  #holdUp(): void {
    const at = this.#seeded.below(NODES);
    const database = this.#nodes[at]?.database;
    if (database === undefined || database.isHeldUp) return;
    const milliseconds = this.#seeded.between(500, 30_000);
    this.#log(`node ${at} is held up for ${milliseconds} ms`);
    database.isHeldUp = true;
    this.#time.after(milliseconds, () => {
      database.isHeldUp = false;
    });
  }

  /** Some requests are repeated before the clocks are right again. */
  #jumpClock(clients: Clients): void {
    const alive = this.#nodes.filter((node) => node !== undefined);
    if (this.#wrongBy !== 0 || alive.length === 0) return;
    this.#wrongBy = this.#seeded.pick(CLOCK_JUMPS_MS);
    this.#log(`clocks are wrong by ${this.#wrongBy / HOUR} hours`);
    const keyed = clients.requests.filter(
      ({ planned, responses }) => planned.key !== undefined && responses.length > 0,
    );
    for (let count = 0; count < REPEATS_IN_A_JUMP && keyed.length > 0; count++)
      clients.send(this.#seeded.pick(keyed), this.#seeded.pick(alive).machine);
    this.#time.after(this.#seeded.between(2000, 12_000), () => {
      this.#wrongBy = 0;
      this.#log('clocks are right');
    });
  }

  /** Nothing was due before the simulation is calm. */
  async #checkNothingDestroyed(): Promise<void> {
    const captures = await this.#real.read('select id from captures');
    if (captures.length < CAPTURES) this.#faults.push(`${CAPTURES - captures.length} captures were destroyed`);
    for (const { id } of await this.#real.read("select id from payment_operations where type = 'expiry'"))
      this.#faults.push(`expiry ${id} began early`);
  }

  #end(node: Node): void {
    node.database.isDead = true;
    node.stop();
  }

  async #work(clients: Clients): Promise<void> {
    let left = this.#plan.requests;
    while (left > 0 || clients.underWay > 0) {
      const alive = this.#nodes.filter((node) => node !== undefined);
      const mayStart = left > 0 && alive.length > 0 && clients.underWay < CLIENTS;
      if (mayStart && this.#seeded.percent(12)) {
        // Often at the same moment, and about the same payment.
        const size = this.#seeded.weighed({ 1: 6, 2: 3, 3: 1 });
        const senders = Array.from({ length: Number(size) }, () => this.#seeded.pick(alive).machine);
        left -= senders.length;
        clients.start(senders);
        await this.#quiet();
      } else await this.#step(clients);
    }
  }

  /** Everything that needs no commit and no clock has happened. Calls over a network go while all else is quiet. */
  async #quiet(): Promise<void> {
    do
      for (let quiet = 0; quiet < QUIET_TURNS; quiet = this.#disk.reading > 0 ? 0 : quiet + 1)
        await new Promise<void>((resolve) => laterInReality(resolve));
    while (await this.#backend.reach?.());
  }

  /** Commits one unit, or advances the time. */
  async #step(clients: Clients): Promise<void> {
    await this.#quiet();
    await this.#users?.act(this.#nodes.flatMap((node) => node?.machine ?? []));
    if (!this.#isCalm && this.#seeded.below(1000) < HOLD_UPS) this.#holdUp();
    if (this.#plan.clockJumps !== undefined && !this.#isCalm && this.#seeded.below(1000) < CLOCK_JUMPS)
      this.#jumpClock(clients);
    if (this.#disk.ready > 0 && this.#seeded.percent(this.#isCalm ? 95 : 85)) {
      const isLast = !this.#isCalm && this.#seeded.below(1000) < CRASHES;
      await this.#disk.step(isLast ? (owner) => this.#crash(owner as CrashableDatabase, clients) : undefined);
    } else if (!this.#isCalm && this.#seeded.below(2000) === 0) {
      this.#time.jumpTo(this.#time.now + this.#seeded.pick([2000, 20_000, 200_000]));
      this.#log('time jumps');
    } else if (this.#seeded.percent(20)) this.#time.jumpTo(this.#time.now + this.#seeded.between(1, 100));
    else this.#time.fire();
    await this.#quiet();
  }

  /** No more crashes, no more accidents: until nothing is on its way. */
  async #calmDown(clients: Clients): Promise<void> {
    this.#isCalm = true;
    this.#backend.calmDown();
    if (this.#receivers !== undefined) this.#receivers.isCalm = true;
    this.#log('calm');
    await this.#pass(NEWS_WITHIN, clients);
    if (this.#plan.clockJumps !== undefined) await this.#checkNothingDestroyed();
  }

  /** Advances the time by this much, and then until nothing is on its way. */
  async #pass(milliseconds: number, clients: Clients): Promise<void> {
    const until = this.#time.now + milliseconds;
    do await this.#step(clients);
    while (this.#time.now < until || this.#disk.waiting > 0 || this.#backend.isBusy() || clients.underWay > 0);
  }

  async #reckon(desk: Machine, clients: Clients): Promise<string[]> {
    const faults = [...this.#faults];
    const endState = { desk, clients, backend: this.#backend, database: this.#real, tenant: TENANT };
    const complete = () => this.#settle(clients, () => this.#nextDue(desk, isUnsettled, this.#backend.nextTurn()));
    const stuck = await complete();
    // A payment that was opened while the clock was ahead takes longer to resolve than an Idempotency-Key is stored.
    if (this.#plan.clockJumps === undefined) await this.#repeat(clients);
    const stuckAgain = await complete();
    faults.push(...[stuck, stuckAgain].filter((each) => each !== undefined));
    faults.push(...(await reconcile({ ...endState, isOver: false })));
    const open = await this.#settle(clients, () => this.#nextDue(desk, () => true));
    if (open !== undefined) faults.push(open);
    if (this.#receivers !== undefined) faults.push(...(await this.#reckonEvents(desk, clients, this.#receivers)));
    faults.push(...(await reconcile({ ...endState, isOver: true })), ...this.#faults.slice(faults.length));
    return [...new Set(faults)];
  }

  async #reckonEvents(desk: Machine, clients: Clients, receivers: Receivers): Promise<string[]> {
    const waiting = await this.#settle(clients, () => this.#nextDelivery());
    const faults = await reconcileEvents({ desk, receivers, database: this.#real, tenant: TENANT });
    return waiting === undefined ? faults : ['deliveries wait without end', ...faults];
  }

  /** Time of the next attempt to reach a receiver that can be reached; undefined when none waits. */
  async #nextDelivery(): Promise<number | undefined> {
    const rows = await this.#real.read(
      'select endpoint, next_attempt_at from webhook_deliveries where next_attempt_at is not null',
    );
    const dues = rows
      .filter((row) => REACHABLE.some((receiver) => row['endpoint'] === `wh_${receiver}`))
      .map((row) => Number(row['next_attempt_at']));
    return dues.length === 0 ? undefined : Math.min(...dues);
  }

  /** Time at which the next of these payments is due; undefined when none is. */
  async #nextDue(
    desk: Machine,
    which: (loaded: LoadedPayment) => boolean,
    nextChange?: number,
  ): Promise<number | undefined> {
    const dues = nextChange === undefined ? [] : [nextChange];
    for (const row of await this.#real.read('select id from payments where due_at is not null')) {
      const loaded = await desk.repository.load(TENANT, String(row['id']));
      if (loaded?.reconciliation.dueAt !== undefined && which(loaded)) dues.push(loaded.reconciliation.dueAt);
    }
    return dues.length === 0 ? undefined : Math.min(...dues);
  }

  /** It is made to fail, so there is no end to wait for. */
  get #isFaulty(): boolean {
    return this.#plan.spoilt !== undefined || this.#plan.clockJumps === 'trusted';
  }

  /** Advances the time until nothing is left to wait for. */
  async #settle(clients: Clients, next: () => Promise<number | undefined>): Promise<string | undefined> {
    for (let attempts = 0; attempts < (this.#isFaulty ? NO_PATIENCE : PATIENCE); attempts++) {
      const due = await next();
      if (due === undefined) return undefined;
      this.#time.jumpTo(due);
      await this.#pass(1500, clients);
    }
    const rows = await this.#real.read('select id from payments where due_at is not null');
    return `no end of ${rows.map(({ id }) => id).join(', ')}`;
  }

  /** Sends every request with an Idempotency-Key and a response once more. */
  async #repeat(clients: Clients): Promise<void> {
    const [node] = this.#nodes.filter((each) => each !== undefined);
    if (node === undefined) return;
    const keyed = clients.requests.filter(
      ({ planned, responses }) => planned.key !== undefined && responses.length > 0,
    );
    for (const request of keyed) {
      clients.send(request, node.machine);
      await this.#pass(0, clients);
    }
  }

  #log(line: string): void {
    this.#trace.push(`${((this.#time.now % 100_000_000) / 1000).toFixed(3)} ${line}`);
  }
}

/** The fault of a notification that is sent beside the commit: a crash in between loses it. */
const writeBeside: NonNullable<MachineWebhooks['spoil']> =
  (outbox, transactions) => async (transaction, tenant, change) => {
    const [write, context] = [paymentEvents(outbox), { origin: transaction.origin, account: tenant.account }];
    transaction.afterCommit(() => transactions.run(context, (later) => write(later, tenant, change)));
  };

export const simulate = async (plan: Plan): Promise<Report> => (await Simulation.open(plan)).run();
