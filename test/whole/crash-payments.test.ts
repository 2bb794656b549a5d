import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { PAYMENTS, TRIGGERS } from '../chaos/payment-requests.ts';
import { runInProcess } from '../fixtures/command.ts';
import {
  newDirectory,
  type ProcessResponse,
  removeDirectory,
  type ServiceProcess,
  startProcess,
} from '../fixtures/service-process.ts';
import { inScope } from '../scope.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';

/** The service is ended at random moments while clients pay: afterwards it, its clients and the processor agree. */
const CRASHES = inScope({ usual: 2, long: 20 });
const CLIENTS = 24;
/** A crashed process keeps its keys for ten seconds at most; what it had sent is found out a second later. */
const RESOLVED_WITHIN_MS = 25_000;

const SETTINGS = { 'timeout-ms': '400', 'recovery-delay-ms': '400', 'recovery-max': '10s' };

type Kind = 'authorization' | 'payment' | 'capture' | 'payment_refund' | 'authorization_void';

interface Sent {
  readonly kind: Kind;
  readonly path: string;
  readonly reference: string;
  readonly idempotencyKey: string | undefined;
  readonly body: unknown;
  response: ProcessResponse | undefined;
}

const infoOf = (response: ProcessResponse) => response.json.data.transaction_info;
const headersOf = ({ idempotencyKey }: Sent): Record<string, string> =>
  idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };

/** Nothing about it can change any more by recovery. */
const isFinal = ({ json }: ProcessResponse): boolean =>
  json.message !== 'Outcome unknown, being resolved' && json.data.transaction_info?.status !== 'Opened';

async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const work = async (): Promise<void> => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) await act(item);
  };
  await Promise.all(Array.from({ length: CLIENTS }, work));
}

/** Rows of the database file, read beside the running service. */
function rowsOf(directory: string, sql: string): Record<string, unknown>[] {
  const database = new DatabaseSync(join(directory, 'cardvault.db'), { readOnly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

/** A client with payments of its own, which it captures, gives back and voids in any order. */
class Client {
  readonly sent: Sent[] = [];
  readonly #seeded: SeededRandom;
  readonly #number: number;
  readonly #payments: string[] = [];

  constructor(number: number, seeded: SeededRandom) {
    this.#number = number;
    this.#seeded = seeded;
  }

  next(): Sent {
    const reference = `${this.#number}-${this.sent.length}`;
    const idempotencyKey = this.#seeded.percent(75) ? `key-${reference}` : undefined;
    const sent: Sent = { ...this.#request(reference), reference, idempotencyKey, response: undefined };
    this.sent.push(sent);
    return sent;
  }

  heard(sent: Sent, response: ProcessResponse): void {
    sent.response = response;
    if (sent.path === PAYMENTS) this.#payments.push(infoOf(response).transaction_id);
  }

  #request(reference: string): Pick<Sent, 'kind' | 'path' | 'body'> {
    const payment = this.#payments.at(-1 - this.#seeded.below(3));
    const moves: readonly Kind[] = ['capture', 'payment_refund', 'authorization_void', 'authorization_void'];
    const kinds: readonly Kind[] = [...moves, 'authorization', 'payment'];
    const kind = payment === undefined ? this.#seeded.pick(kinds.slice(-2)) : this.#seeded.pick(kinds);
    const transaction_info = { type: kind, reference_code: reference };
    if (kind === 'authorization' || kind === 'payment')
      return { kind, path: PAYMENTS, body: this.#payment(transaction_info) };
    if (kind === 'authorization_void') return { kind, path: `${PAYMENTS}/${payment}/void`, body: { transaction_info } };
    const part = this.#seeded.percent(50) ? { amount_details: { total_amount: this.#seeded.between(1, 40) } } : {};
    if (kind === 'capture')
      return { kind, path: `${PAYMENTS}/${payment}/capture`, body: { transaction_info, capture_info: part } };
    return { kind, path: `${PAYMENTS}/${payment}/refund`, body: { transaction_info, refund_info: part } };
  }

  #payment(transaction_info: object): object {
    const triggers = this.#seeded.percent(25) ? this.#seeded.pick(TRIGGERS) : '';
    // 65001 and more: booked, and never answered; 5001 and more: declined.
    const amount = this.#seeded.weighed({ '41.00': 77, '65001.00': 8, '6000.00': 15 });
    return {
      transaction_info,
      card: { number: '4111111111111111', expiration_date: '12/2029', security_code: '737', holder: 'Ana Lopez' },
      order_info: { amount_details: { total_amount: amount, currency: 'USD' } },
      cardholder_info: { first_name: 'Ana', email: `ana${triggers}@example.com` },
    };
  }
}

describe('payments after kill -9', { timeout: 180_000 }, () => {
  const seed = Number(process.env['CARDVAULT_TEST_SEED'] ?? Date.now() % 2 ** 31);
  const seeded = new SeededRandom(seed);

  test('every response is true, every idempotency key had one effect, and the processor agrees', async () => {
    const directory = newDirectory();
    let serving: ServiceProcess | undefined;
    try {
      await run(directory, (each) => {
        serving = each;
      });
    } catch (error) {
      throw new Error(`with the seed ${seed} (set CARDVAULT_TEST_SEED to repeat it)`, { cause: error });
    } finally {
      await serving?.kill();
      removeDirectory(directory);
    }
  });

  async function run(directory: string, starts: (serving: ServiceProcess) => void): Promise<void> {
    const clients = Array.from({ length: CLIENTS }, (_, number) => new Client(number, seeded.branch()));
    let serving = await startProcess(directory);
    starts(serving);
    const key = serving.demoKey ?? '';
    await enable(directory, serving, key);
    let interrupted = 0;
    for (let crash = 0; crash < CRASHES; crash++) {
      await workUntilKilled(serving, key, clients);
      interrupted += rowsOf(directory, 'select 1 from payments where operation_in_progress is not null').length;
      serving = await startProcess(directory);
      starts(serving);
    }
    const sent = clients.flatMap((client) => client.sent);
    const acknowledged = sent.filter(({ response }) => response !== undefined);
    assert.ok(acknowledged.length > 25 * CRASHES, `${acknowledged.length} acknowledged requests are too few`);
    assert.ok(interrupted > CRASHES, `crashes met ${interrupted} operations: the test has proved nothing about them`);

    await keysAreResolved(serving, key, sent);
    await everythingEnds(directory);
    await answersAreTrue(serving, key, acknowledged);
    await operationsAreUnique(directory, serving, key);
    await recordsAgree(directory, serving, key);
    assert.equal(await serving.stop(), 0);
    const verified = await runInProcess(directory, 'audit', 'verify', '--json');
    assert.equal(verified.code, 0, verified.out + verified.err);
  }

  async function enable(directory: string, serving: ServiceProcess, key: string): Promise<void> {
    const account = (await serving.call('GET', '/v1/account', { key })).json.data.id;
    const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['--setting', `${name}=${value}`]);
    const tenant = ['--account', account, '--environment', 'sandbox'];
    const enabled = await runInProcess(directory, 'payments', 'enable', ...tenant, ...settings);
    assert.equal(enabled.code, 0, enabled.err);
  }

  async function workUntilKilled(serving: ServiceProcess, key: string, clients: readonly Client[]): Promise<void> {
    let ended = false;
    // Not after a time, in which a slow machine would do too little.
    let missing = seeded.between(35, 70);
    const enough = Promise.withResolvers<void>();
    const working = Promise.all(
      clients.map(async (client) => {
        while (!ended) {
          const sent = client.next();
          try {
            const response = await serving.call('POST', sent.path, { key, body: sent.body, headers: headersOf(sent) });
            assert.ok([200, 400, 409].includes(response.status), response.text);
            if (response.status !== 200) continue;
            client.heard(sent, response);
            if (--missing === 0) enough.resolve();
          } catch (error) {
            if (!ended) throw error;
          }
        }
      }),
    );
    await Promise.race([enough.promise, working]);
    await pause(seeded.below(100));
    ended = true;
    await serving.kill();
    await working;
  }

  /** Every request that was sent under a key gets its response in the end, and a key without a request is free. */
  async function keysAreResolved(serving: ServiceProcess, key: string, all: readonly Sent[]): Promise<void> {
    const open = all.filter(({ response, idempotencyKey }) => response === undefined && idempotencyKey !== undefined);
    const startedAt = Date.now();
    await eachOf(open, async (sent) => {
      for (;;) {
        const response = await serving.call('POST', sent.path, { key, body: sent.body, headers: headersOf(sent) });
        if (response.status !== 409) {
          assert.ok(response.status === 200 || response.status === 400, response.text);
          if (response.status === 200) sent.response = response;
          return;
        }
        assert.ok(Date.now() - startedAt < RESOLVED_WITHIN_MS, `${sent.reference} is taken for ever: ${response.text}`);
        await pause(1000);
      }
    });
  }

  async function everythingEnds(directory: string): Promise<void> {
    const startedAt = Date.now();
    const sql = 'select id from payments where operation_in_progress is not null or in_doubt_since is not null';
    for (let open = rowsOf(directory, sql); open.length > 0; open = rowsOf(directory, sql)) {
      const ids = open.map(({ id }) => id).join(', ');
      assert.ok(Date.now() - startedAt < RESOLVED_WITHIN_MS, `still in progress: ${ids}`);
      await pause(200);
    }
    const { out } = await runInProcess(directory, 'payments', 'doubtful', '--json');
    assert.ok(!out.includes('transaction_id'), out);
  }

  /** A final answer is repeated as it was; others name the same operation, with its end. */
  async function answersAreTrue(serving: ServiceProcess, key: string, acknowledged: readonly Sent[]): Promise<void> {
    const keyed = acknowledged.filter(({ idempotencyKey }) => idempotencyKey !== undefined);
    assert.ok(keyed.length > 15 * CRASHES, `${keyed.length} requests with a key are too few`);
    await eachOf(keyed, async (sent) => {
      assert.ok(sent.response !== undefined);
      const again = await serving.call('POST', sent.path, { key, body: sent.body, headers: headersOf(sent) });
      assert.equal(again.status, 200, again.text);
      assert.equal(again.replayed, true);
      assert.equal(infoOf(again).transaction_id, infoOf(sent.response).transaction_id);
      if (isFinal(sent.response)) assert.equal(again.text, sent.response.text);
      else assert.notEqual(again.json.message, 'Outcome unknown, being resolved');
    });
    await eachOf(acknowledged, async ({ response, reference }) => {
      assert.ok(response !== undefined);
      const { transaction_id: id, status: reportedStatus } = infoOf(response);
      const { json } = await serving.call('GET', `${PAYMENTS}/transactions/${id}`, { key });
      const { status, operation_status: ended, reference_code } = json.data.transaction_info;
      assert.equal(reference_code, reference);
      assert.notEqual(ended, 'in_progress');
      if (isFinal(response))
        assert.equal(ended, response.json.status === 'success' ? 'succeeded' : 'failed', response.text);
      if (['Collected', 'Voided', 'Declined', 'Cancelled'].includes(reportedStatus))
        assert.equal(status, reportedStatus);
      if (reportedStatus === 'Authorized') assert.ok(['Authorized', 'Collected', 'Voided'].includes(status), status);
    });
  }

  async function operationsAreUnique(directory: string, serving: ServiceProcess, key: string): Promise<void> {
    const created = new Map<string, string>();
    await eachOf(
      rowsOf(directory, 'select id from payments union all select id from payment_operations'),
      async ({ id }) => {
        const { json } = await serving.call('GET', `${PAYMENTS}/transactions/${id}`, { key });
        const reference: string = json.data.transaction_info.reference_code;
        assert.equal(created.get(reference), undefined, `${reference} made ${id}, too`);
        created.set(reference, String(id));
      },
    );
    assert.ok(created.size > 25 * CRASHES);
  }

  /** The simulator's books, as they stand in the file. */
  async function recordsAgree(directory: string, serving: ServiceProcess, key: string): Promise<void> {
    const processorState = new Map(
      rowsOf(directory, 'select * from simulator_payments').map((row) => [row['operation_ref'], row]),
    );
    const payments = rowsOf(directory, 'select id from payments');
    assert.ok(payments.length > 10 * CRASHES);
    const seen = new Set<string>();
    await eachOf(payments, async ({ id }) => {
      const { json } = await serving.call('GET', `${PAYMENTS}/transactions/${id}`, { key });
      const { authorized_amount, collected_amount, refunded_amount } = json.data.order_info.amount_details;
      const { status } = json.data.transaction_info;
      const ours = [status, authorized_amount, collected_amount, refunded_amount].join(' ');
      assert.equal(ours, theirs(processorState.get(id)), `${id}`);
      seen.add(status);
    });
    for (const status of ['Authorized', 'Collected', 'Voided', 'Declined']) assert.ok(seen.has(status), status);
    for (const id of processorState.keys()) assert.ok(payments.some((payment) => payment['id'] === id));
  }

  function theirs(row: Record<string, unknown> | undefined): string {
    const units = (minor: unknown): string => String(Number(minor) / 100);
    if (row === undefined || row['outcome'] === 'closed') return 'ProcessorError 0 0 0';
    if (row['outcome'] === 'refused') return 'Declined 0 0 0';
    if (row['reversed'] === 1) return `Voided ${units(row['amount'])} 0 0`;
    const captured = row['captured'] ?? (row['sale'] === 1 ? row['amount'] : null);
    if (captured === null) return `Authorized ${units(row['amount'])} 0 0`;
    return `Collected ${units(row['amount'])} ${units(captured)} ${units(row['refunded'])}`;
  }
});
