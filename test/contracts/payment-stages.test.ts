import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { AuditRecord } from '../../src/audit/audit.ts';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { Captures } from '../../src/captures/captures.ts';
import { parseConfig } from '../../src/config.ts';
import { type OpenCore, openCore } from '../../src/core.ts';
import type { KeyedRequest, StoredResponse } from '../../src/idempotency/idempotency-keys.ts';
import type { Fill, TransactionScope } from '../../src/idempotency/transaction.ts';
import { SECOND } from '../../src/kernel/clock.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { parseIdTime } from '../../src/kernel/ids.ts';
import { type Pan, parsePan } from '../../src/kernel/pan.ts';
import type { Command } from '../../src/payments/commands.ts';
import type { PaymentSnapshot } from '../../src/payments/payment.ts';
import { PaymentActivations } from '../../src/payments/payment-activations.ts';
import { PaymentRepository } from '../../src/payments/payment-repository.ts';
import { type ApiCaller, type Intent, type NewPayment, Payments, type Sent } from '../../src/payments/payments.ts';
import { type Outcome, type Processor, refused, unknown } from '../../src/payments/processor.ts';
import { ProcessorHosts } from '../../src/payments/processor-hosts.ts';
import { ProcessorNotifications } from '../../src/payments/processor-notifications.ts';
import { Placeholders } from '../../src/placeholders/placeholders.ts';
import { Vault } from '../../src/vault/vault.ts';
import { TestClock } from '../fixtures/clock.ts';
import { buildOrder } from '../fixtures/payment-fixtures.ts';

/** The stages of an operation: what is on disk after each, and what a repeat with the same key gets. */
const OPERATOR = { actor: { type: 'operator', name: 'test' } } as const;
const KEY = { actor: { type: 'key', id: 'key_1', name: 'shop' } } as const;
const PERMISSIONS = ['payments:write', 'tokens:detokenize'] as const;
const TIMEOUT_MS = 1000;
/** Settings are cached for two seconds. */
const CACHED_MS = 2000;
const APPROVED: Outcome = { kind: 'approved', details: { processorId: 'p-1', responseCode: '00' } };

const pan: Pan = parsePan('4111111111111111') ?? assert.fail('a card number');
const NEW: NewPayment = {
  card: {
    number: { literal: pan },
    expiry: { literal: { month: '12', year: '29' } },
    securityCode: { literal: '123' },
    holder: undefined,
  },
  order: buildOrder({ referenceCode: 'A-1' }),
};

describe('the stages of a payment', () => {
  const clocks = new TestClock();
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-stages-'));
  let core: OpenCore;
  let activations: PaymentActivations;
  let repository: PaymentRepository;
  let payments: Payments;
  let vault: Vault;
  let tenant: Tenant;
  let caller: ApiCaller;
  let numbers = 0;
  /** The calls of the processor, each with the number of operations in progress on disk at that moment. */
  const calls: string[] = [];
  const outcomes: string[] = [];
  let respond: (name: string) => Outcome = () => APPROVED;

  const calling = (name: string) => async (): Promise<never> => {
    const sql = 'select 1 as one from payments where account = ?account and operation_in_progress is not null';
    const rows = await core.database.read(sql, tenant.account);
    calls.push(`${name} ${rows.length}`);
    return respond(name) as never;
  };
  const processor: Processor = {
    capabilities: { sale: true, partialCapture: true, notFoundThreshold: 1 },
    settings: {},
    check: ({ installments }) => {
      if (installments === 99) throw new Failure('invalid_field', { field: 'installments' });
    },
    authorize: calling('authorize'),
    capture: calling('capture'),
    refund: calling('refund'),
    void: calling('void'),
    inquire: calling('inquire'),
    reverse: calling('reverse'),
  };

  before(async () => {
    clocks.stop();
    core = await openCore(parseConfig({ CARDVAULT_DATA_DIR: directory, CARDVAULT_CLOCK: 'system' }), clocks);
    core.time.accept(core.time.read());
    const { sadKeys, time, random } = core;
    const processors = { simulator: processor };
    activations = new PaymentActivations({ ...core, processors, hosts: new ProcessorHosts() });
    repository = new PaymentRepository({
      ...core,
      onOutcome: (...details) => outcomes.push(details.join(' ')),
      onChange: async () => undefined,
    });
    vault = new Vault({ ...core, time, random });
    const captures = new Captures({ ...core, sadKeys, vault });
    payments = new Payments({
      ...core,
      vault,
      placeholders: new Placeholders({ vault, captures }),
      activations,
      repository,
      notifications: new ProcessorNotifications({ ...core, processors, activations, repository }),
    });
  });
  after(async () => {
    await core.close();
    rmSync(directory, { recursive: true, force: true });
  });
  beforeEach(async () => {
    const { id } = await byOperator((transaction) => core.accounts.create(transaction, 'Shop'));
    tenant = { account: id, environment: 'sandbox' };
    caller = { tenant, permissions: PERMISSIONS, key: { id: 'key_1', name: 'shop' } };
    const settings = { 'timeout-ms': `${TIMEOUT_MS}`, 'recovery-delay-ms': '0', 'payment-scheme': '3' };
    const request = { processor: 'simulator', settings, force: false };
    await byOperator((transaction) => activations.enable(transaction, tenant, request));
    respond = () => APPROVED;
    calls.length = 0;
    outcomes.length = 0;
  });

  const byOperator = <R>(fill: Fill<R>): Promise<R> => core.transactions.run({ origin: OPERATOR }, fill);
  const newRequest = (): KeyedRequest => ({
    tenant,
    method: 'POST',
    path: '/v1/payments',
    key: `key-${++numbers}`,
    content: Buffer.from('content'),
  });
  const context = () => ({ account: tenant.account, origin: KEY });
  const begin = async (request?: KeyedRequest): Promise<TransactionScope> => {
    const started = await core.transactions.begin(context(), request);
    return 'scope' in started ? started.scope : assert.fail(JSON.stringify(started));
  };
  const again = (request: KeyedRequest) => core.transactions.begin(context(), request);
  const intendNew = (scope: TransactionScope, changes: Partial<NewPayment> = {}): Promise<Intent> =>
    scope.stage((transaction) => payments.intend(transaction, caller, { ...NEW, ...changes }));
  const intendOn = (scope: TransactionScope, id: string, command: Command): Promise<Intent> =>
    scope.stage((transaction) => payments.intendOperation(transaction, tenant, id, command, 'A-2'));
  const render = ({ payment, operation }: PaymentSnapshot): StoredResponse => ({
    status: 200,
    body: `${operation.type} ${operation.state} ${payment.status} ${payment.collected} ${payment.refunded}`,
  });
  const conclude = async (scope: TransactionScope, intent: Intent, sent: Sent): Promise<string> =>
    (await scope.finish((transaction) => payments.conclude(transaction, intent, sent), render)).body;
  /** All stages of a new payment. */
  async function pay(capture = false): Promise<string> {
    const scope = await begin();
    const intent = await intendNew(scope, { order: { ...NEW.order, capture } });
    const captured = capture ? { captured: intent.authorization?.order.amount } : {};
    await conclude(scope, intent, { outcome: { ...APPROVED, ...captured } as Outcome });
    return intent.loaded.payment.id;
  }
  /** All stages of an operation, without an Idempotency-Key. */
  async function operate(id: string, command: Command, referenceCode?: string): Promise<PaymentSnapshot> {
    const scope = await begin();
    const intent = await scope.stage((transaction) =>
      payments.intendOperation(transaction, tenant, id, command, referenceCode),
    );
    const sent = await payments.send(intent);
    return scope.stage((transaction) => payments.conclude(transaction, intent, sent));
  }
  const recorded = async (): Promise<string[]> =>
    (await Array.fromAsync(exportJournal(core.database)))
      .filter(({ account }) => account === tenant.account)
      .map(({ record }) => JSON.parse(record) as AuditRecord)
      .filter(({ action }) => /^payment\.|^access/.test(action))
      .map(({ action, outcome, actor }) => `${action} ${outcome} ${actor.type}`);
  const lastRecord = async (action: string): Promise<AuditRecord> =>
    (await Array.fromAsync(exportJournal(core.database)))
      .map(({ record }) => JSON.parse(record) as AuditRecord)
      .findLast((record) => record.action === action) ?? assert.fail(`no record of ${action}`);
  const show = async (id: string): Promise<string> => render(await payments.lookup(tenant, id)).body;
  const isCode = (code: string) => (error: unknown) => error instanceof Failure && error.code === code;
  const capture: Command = { type: 'capture', amount: undefined };
  const refund = (text: string): Command => ({ type: 'payment_refund', amount: { text, currency: undefined } });

  test('nothing is sent before the intent is stored, and the result is stored with the response', async () => {
    const request = newRequest();
    const scope = await begin(request);
    const intent = await intendNew(scope);
    assert.deepEqual([calls, await recorded()], [[], ['payment.requested success key']]);
    const { id } = intent.loaded.operation;
    const { targets, detail } = await lastRecord('payment.requested');
    assert.deepEqual([targets, detail], [[`payment:${id}`], { operation: 'authorization', transaction: id }]);
    assert.equal(parseIdTime(id), clocks.clock());
    assert.deepEqual(await again(request), { boundTo: id });
    assert.equal(await payments.replay(tenant, id), undefined);
    const sent = await payments.send(intent);
    assert.deepEqual(calls, ['authorize 1']);
    const body = await conclude(scope, intent, sent);
    assert.equal(body, 'authorization accepted Authorized 0 0');
    assert.deepEqual(await again(request), { replay: { status: 200, body } });
    assert.equal(render((await payments.replay(tenant, id)) ?? assert.fail()).body, body);
    assert.deepEqual(outcomes, ['sandbox simulator authorization Authorized']);
    assert.deepEqual(await recorded(), ['payment.requested success key']);
  });

  test('a payment stores the token of a card in clear with its intent, an authorization does not', async () => {
    const tokens = async () => {
      const rows = await core.database.read('select 1 as one from tokens');
      return rows.length;
    };
    const before = await tokens();
    const authorization = await intendNew(await begin());
    assert.deepEqual([authorization.loaded.payment.card.token, await tokens()], [undefined, before]);
    const { loaded } = await intendNew(await begin(), { order: { ...NEW.order, capture: true } });
    assert.equal(loaded.payment.card.token?.scheme, 3);
    assert.match(loaded.payment.card.token?.token ?? '', /^411111[0-9A-Za-z]{6}1111$/);
    assert.equal(await tokens(), before + 1);
    assert.deepEqual((await payments.lookup(tenant, loaded.payment.id)).payment.card, loaded.payment.card);
    const again = await intendNew(await begin(), { order: { ...NEW.order, capture: true } });
    assert.deepEqual([again.loaded.payment.card, await tokens()], [loaded.payment.card, before + 1]);
    assert.deepEqual((await vault.inspect(tenant, loaded.payment.card.token?.token ?? '')).tags, []);
  });

  test('a card of a token is read with a permitted key, and the read is audited with its purpose', async () => {
    const stored = await intendNew(await begin(), { order: { ...NEW.order, capture: true } });
    const token = stored.loaded.payment.card.token?.token ?? assert.fail();
    const placeholder = { token, source: 'detokenize', part: 'card', date: undefined, encrypt: false } as const;
    const card = { ...NEW.card, number: { placeholder } };
    for (const capture of [false, true]) {
      const { loaded } = await intendNew(await begin(), { card, order: { ...NEW.order, capture } });
      assert.equal(loaded.payment.card.token, undefined);
      const { outcome, detail } = await lastRecord('token.detokenized');
      assert.deepEqual([outcome, detail], ['success', { use: capture ? 'payment' : 'authorization' }]);
    }
    caller = { ...caller, permissions: ['payments:write'] };
    await assert.rejects(intendNew(await begin(), { card }), isCode('access_denied'));
  });

  test('a request that the processor rejects, or that is not enabled, stores no intent', async () => {
    const scope = await begin();
    const order = { ...NEW.order, installments: 99 };
    await assert.rejects(intendNew(scope, { order }), isCode('invalid_field'));
    await byOperator((transaction) => activations.disable(transaction, tenant));
    clocks.advance(CACHED_MS);
    await assert.rejects(intendNew(scope), isCode('access_denied'));
    await scope.fail();
    assert.deepEqual(await recorded(), ['access.denied payments_not_enabled key']);
    const id = 'a'.repeat(25);
    await assert.rejects(intendOn(await begin(), id, capture), isCode('access_denied'));
  });

  test('an operation refers to its payment; a refund may refer to the capture', async () => {
    const id = await pay();
    const isUnknown = (error: unknown) => isCode('unknown_payment')(error) && (error as Failure).field === 'id';
    await assert.rejects(intendOn(await begin(), 'a'.repeat(25), capture), isUnknown);
    await assert.rejects(payments.lookup(tenant, 'a'.repeat(25)), isUnknown);
    // The id of the processor finds a payment, and is no name for an operation on it.
    assert.equal((await payments.lookup(tenant, 'p-1')).payment.id, id);
    await assert.rejects(intendOn(await begin(), 'p-1', capture), isUnknown);
    const captured = await operate(id, capture);
    assert.equal(render(captured).body, 'capture accepted Collected 10000 0');
    assert.deepEqual((await recorded()).slice(1), ['payment.requested success key']);
    const captureId = captured.operation.id;
    await assert.rejects(intendOn(await begin(), captureId, { type: 'authorization_void' }), isCode('unknown_payment'));
    const refunded = await operate(captureId, refund('10'), 'A-3');
    assert.deepEqual(
      [render(refunded).body, refunded.operation.referenceCode],
      ['payment_refund accepted Collected 10000 1000', 'A-3'],
    );
    await assert.rejects(intendOn(await begin(), refunded.operation.id, refund('1')), isCode('unknown_payment'));
    assert.deepEqual(calls, ['capture 1', 'refund 1']);
  });

  test('a refused operation inquires about the state of the payment; a refused refund does not', async () => {
    const id = await pay();
    respond = (name) => (name === 'inquire' ? { ...APPROVED, captured: buildOrder().amount } : refused('Rejected'));
    const captured = await operate(id, capture);
    assert.deepEqual(calls, ['capture 1', 'inquire 1']);
    assert.equal(render(captured).body, 'capture refused Collected 10000 0');
    await operate(id, refund('1'));
    assert.deepEqual(calls.slice(2), ['refund 1']);
  });

  test('an unknown outcome stores no response, and the idempotency key waits for the result', async () => {
    const request = newRequest();
    const scope = await begin(request);
    const intent = await intendNew(scope);
    const body = await conclude(scope, intent, { outcome: unknown('timeout') });
    assert.equal(body, 'authorization in_progress Opened 0 0');
    const { id } = intent.loaded.operation;
    assert.deepEqual([await again(request), await payments.replay(tenant, id)], [{ boundTo: id }, undefined]);
    assert.notEqual((await payments.lookup(tenant, id)).reconciliation.inDoubtSince, undefined);
  });

  test('a conclusion that is late leaves the result to recovery', async () => {
    const request = newRequest();
    const scope = await begin(request);
    const intent = await intendNew(scope);
    clocks.advance(TIMEOUT_MS);
    assert.equal(await conclude(scope, intent, { outcome: APPROVED }), 'authorization in_progress Opened 0 0');
    assert.deepEqual(await again(request), { boundTo: intent.loaded.operation.id });
    const { reconciliation } = await payments.lookup(tenant, intent.loaded.operation.id);
    assert.equal(reconciliation.lastProblem, 'timeout');
    clocks.advance(SECOND);
    assert.deepEqual((await payments.send(intent)).outcome, { kind: 'not-sent' }, 'nor is anything sent any more');
  });

  test('a result that another process stored is the response, late or not, also on replay', async () => {
    for (const advance of [0, TIMEOUT_MS]) {
      const request = newRequest();
      const scope = await begin(request);
      const intent = await intendNew(scope);
      await core.transactions.run(context(), (transaction) =>
        payments.conclude(transaction, intent, { outcome: refused('Rejected') }),
      );
      clocks.advance(advance);
      const body = await conclude(scope, intent, { outcome: unknown('timeout') });
      assert.equal(body, 'authorization refused Declined 0 0');
      assert.deepEqual(await again(request), { replay: { status: 200, body } });
    }
  });

  test('an approval of an operation that recovery has refused is rechecked', async () => {
    const scope = await begin();
    const intent = await intendNew(scope);
    await core.transactions.run(context(), (transaction) =>
      payments.conclude(transaction, intent, { outcome: refused('Rejected') }),
    );
    clocks.advance(TIMEOUT_MS);
    await conclude(scope, intent, { outcome: APPROVED });
    const { reconciliation } = await payments.lookup(tenant, intent.loaded.operation.id);
    assert.deepEqual(reconciliation.recheckIds, [intent.loaded.operation.id]);
  });

  test('a conclusion with a conflict loads the payment again', async () => {
    const scope = await begin();
    const intent = await intendNew(scope);
    const configured = await activations.configuredProcessor(tenant, 'simulator');
    await core.transactions.run(context(), async (transaction) => {
      await repository.apply(transaction, intent.loaded, { type: 'taken-over' }, configured);
    });
    // From then on a response completes nothing.
    assert.equal(await conclude(scope, intent, { outcome: APPROVED }), 'authorization in_progress Opened 0 0');
    assert.equal((await payments.lookup(tenant, intent.loaded.operation.id)).reconciliation.isTakenOver, true);
  });

  test('the result is that of the completion, whatever happened later', async () => {
    const id = await pay();
    await operate(id, capture);
    assert.equal(
      render((await payments.replay(tenant, id)) ?? assert.fail()).body,
      'authorization accepted Authorized 0 0',
    );
    assert.equal(await show(id), 'authorization accepted Collected 10000 0');
  });

  test('one of twenty refunds with the same expected number of operations is executed', async () => {
    const id = await pay(true);
    const seen = (operations: number): Command => ({ ...refund('1'), expectedOperations: operations });
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => operate(id, seen(1))));
    const refusals = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    assert.equal(refusals.length, 19);
    for (const reason of refusals) assert.ok(isCode('changed_meanwhile')(reason), `${reason}`);
    // A repeat after a response that was lost.
    await assert.rejects(operate(id, seen(1)), isCode('changed_meanwhile'));
    assert.deepEqual([calls, await show(id)], [['refund 1'], 'payment accepted Collected 10000 100']);
    // A user who viewed the payment again may.
    await operate(id, seen(2));
    assert.equal(await show(id), 'payment accepted Collected 10000 200');
  });

  test('an operation of the service is audited with the service as actor, and not started on a changed payment', async () => {
    const id = await pay();
    const configured = await activations.configuredProcessor(tenant, 'simulator');
    const loaded = (await repository.load(tenant, id)) ?? assert.fail();
    await payments.runInternal(loaded, configured, { type: 'expiry' });
    assert.deepEqual(calls, ['void 1']);
    assert.equal(await show(id), 'authorization accepted Voided 0 0');
    assert.deepEqual((await recorded()).slice(1), ['payment.expired success service']);
    await payments.runInternal(loaded, configured, { type: 'expiry' });
    assert.deepEqual([calls.length, (await recorded()).length], [1, 2]);
    const other = (await repository.load(tenant, await pay())) ?? assert.fail();
    await payments.runInternal(other, configured, capture);
    assert.deepEqual((await recorded()).slice(3), ['payment.requested success service']);
    const { operation } = await payments.lookup(tenant, other.payment.id);
    assert.equal(operation.referenceCode, 'A-1');
  });
});
