import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Captures } from '../../src/captures/captures.ts';
import { parseConfig } from '../../src/config.ts';
import { type OpenCore, openCore } from '../../src/core.ts';
import { IdempotencyKeys } from '../../src/idempotency/idempotency-keys.ts';
import { MINUTE, SECOND } from '../../src/kernel/clock.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import type { Command } from '../../src/payments/commands.ts';
import type { PaymentSnapshot } from '../../src/payments/payment.ts';
import { PaymentActivations } from '../../src/payments/payment-activations.ts';
import { listInDoubtPayments } from '../../src/payments/payment-queries.ts';
import { PaymentRepository } from '../../src/payments/payment-repository.ts';
import { type Intent, Payments } from '../../src/payments/payments.ts';
import { ProcessorHosts } from '../../src/payments/processor-hosts.ts';
import { ProcessorNotifications } from '../../src/payments/processor-notifications.ts';
import { Koin } from '../../src/payments/processors/koin/koin.ts';
import { OutboundHttp } from '../../src/payments/processors/outbound-http.ts';
import { Recovery } from '../../src/payments/recovery.ts';
import { UnknownOutcomes } from '../../src/payments/unknown-outcomes.ts';
import { Placeholders } from '../../src/placeholders/placeholders.ts';
import { Vault } from '../../src/vault/vault.ts';
import { TestClock } from '../fixtures/clock.ts';
import { FakeKoin } from '../processors/fake-koin.ts';
import { CARD, ORDER } from '../processors/koin-fixture.ts';
import type { OrderEntry } from '../processors/koin-ledger.ts';

const ORIGIN = { actor: { type: 'operator', name: 'test' } } as const;
const RECOVERY_MAX = 10 * MINUTE;

describe('the recovery of payments at a processor that names no request in its records', () => {
  const clocks = new TestClock();
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-recovery-'));
  const outboundHttp = new OutboundHttp(new ProcessorHosts());
  const fake = new FakeKoin();
  const otherFake = new FakeKoin({ account: 'OTHER' });
  let core: OpenCore;
  let activations: PaymentActivations;
  let payments: Payments;
  let recovery: Recovery;
  let unknownOutcomes: UnknownOutcomes;
  let tenant: Tenant;
  let otherUrl: string;

  before(async () => {
    const { url } = await fake.start();
    otherUrl = (await otherFake.start()).url;
    clocks.stop();
    core = await openCore(parseConfig({ CARDVAULT_DATA_DIR: directory, CARDVAULT_CLOCK: 'system' }), clocks);
    core.time.accept(core.time.read());
    const { transactions } = core;
    const processors = { koin: new Koin({ outboundHttp }) };
    activations = new PaymentActivations({ ...core, processors, hosts: new ProcessorHosts() });
    const onChange = async (): Promise<void> => undefined;
    const repository = new PaymentRepository({ ...core, onOutcome: () => undefined, onChange });
    const vault = new Vault(core);
    const captures = new Captures({ ...core, vault });
    const notifications = new ProcessorNotifications({ ...core, processors, activations, repository });
    const placeholders = new Placeholders({ vault, captures });
    payments = new Payments({ ...core, vault, placeholders, activations, repository, notifications });
    const failed = (error: unknown) => assert.fail(String(error));
    const idempotency = new IdempotencyKeys(core);
    recovery = new Recovery({ ...core, activations, repository, payments, failed, idempotency });
    const changeControl = { permit: async () => undefined };
    unknownOutcomes = new UnknownOutcomes({ ...core, activations, repository, idempotency, changeControl });
    const { id: account } = await transactions.run({ origin: ORIGIN }, (transaction) =>
      core.accounts.create(transaction, 'Shop'),
    );
    tenant = { account, environment: 'sandbox' };
    const times = { 'timeout-ms': '20000', 'recovery-delay-ms': '1000', 'recovery-max': `${RECOVERY_MAX / SECOND}s` };
    await enable({ ...times, 'base-url': url, 'private-key': 'sk_test', account: 'ACC' });
  });
  after(async () => {
    await core.close();
    outboundHttp.close();
    await fake.stop();
    await otherFake.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const enable = (settings: Readonly<Record<string, string>>) =>
    core.transactions.run({ origin: ORIGIN }, (transaction) =>
      activations.enable(transaction, tenant, { processor: 'koin', settings, force: false }),
    );
  const conclude = async (intent: Intent): Promise<PaymentSnapshot> => {
    const sent = await payments.send(intent);
    return core.transactions.run({ origin: ORIGIN, account: tenant.account }, (transaction) =>
      payments.conclude(transaction, intent, sent),
    );
  };
  const operate = async (id: string, command: Command): Promise<PaymentSnapshot> =>
    conclude(
      await core.transactions.run({ origin: ORIGIN, account: tenant.account }, (transaction) =>
        payments.intendOperation(transaction, tenant, id, command, undefined),
      ),
    );
  async function authorize(expected = 'Authorized'): Promise<string> {
    const { pan, ...card } = CARD;
    const request = {
      card: {
        number: { literal: pan },
        expiry: { literal: card.expiry },
        securityCode: { literal: card.securityCode ?? '' },
        holder: { literal: card.holder ?? '' },
      },
      order: ORDER,
    };
    const caller = { tenant, permissions: [], key: { id: 'key_1', name: 'shop' } };
    const intent = await core.transactions.run({ origin: ORIGIN, account: tenant.account }, (transaction) =>
      payments.intend(transaction, caller, request),
    );
    const { payment } = await conclude(intent);
    assert.equal(payment.status, expected);
    return payment.id;
  }
  /** KOIN knows an order by the reference of the merchant, followed by the id of the payment. */
  const orderOf = (id: string): OrderEntry =>
    [...fake.ledger.orders].find(([reference]) => reference.endsWith(id))?.[1] ?? assert.fail('no order');
  const watched = async (id: string): Promise<number> =>
    (await payments.lookup(tenant, id)).reconciliation.recheckIds.length;
  const recoverFor = async (minutes: number): Promise<void> => {
    for (let minute = 0; minute < minutes; minute++) {
      clocks.advance(MINUTE);
      await recovery.runOnce();
      await recovery.idle();
    }
  };
  /** Recovery runs once a minute, until it has this result. */
  async function recoverUntil(isReached: () => Promise<boolean>): Promise<void> {
    for (let minutes = 0; !(await isReached()); minutes++) {
      assert.ok(minutes < (4 * RECOVERY_MAX) / MINUTE, 'recovery reaches no result');
      clocks.advance(MINUTE);
      await recovery.runOnce();
      await recovery.idle();
    }
  }
  /** An operation whose request is lost, which recovery refuses in the end. */
  async function lose(id: string, on: 'capture' | 'refund', command: Command): Promise<string> {
    fake.inject({ on, do: 'drop-before' });
    const { operation } = await operate(id, command);
    assert.equal(operation.state, 'in_progress');
    await recoverUntil(async () => (await payments.lookup(tenant, operation.id)).operation.state === 'refused');
    return operation.id;
  }
  const CAPTURE: Command = { type: 'capture', amount: undefined };
  const refundOf = (text: string): Command => ({ type: 'payment_refund', amount: { text, currency: undefined } });

  test('ends for a lost capture after another one succeeded', async () => {
    const id = await authorize();
    const lost = await lose(id, 'capture', CAPTURE);
    const { operation } = await operate(id, CAPTURE);
    assert.deepEqual([operation.state, await watched(id)], ['accepted', 1]);
    await recoverUntil(async () => (await watched(id)) === 0);
    const after = await payments.lookup(tenant, lost);
    assert.deepEqual([after.operation.state, after.payment.status], ['refused', 'Collected']);
    assert.equal(after.reconciliation.inDoubtSince, undefined);
    assert.equal(orderOf(id).captures, 1);
  });

  test('ends for a lost capture that arrives late, and that the refusal of a void reports first', async () => {
    const id = await authorize();
    const lost = await lose(id, 'capture', CAPTURE);
    assert.ok(fake.ledger.capture(orderOf(id)));
    const { operation, payment } = await operate(id, { type: 'authorization_void' });
    assert.deepEqual([operation.state, payment.status], ['refused', 'Collected']);
    await recoverUntil(async () => (await watched(id)) === 0);
    const after = await payments.lookup(tenant, lost);
    assert.deepEqual([after.operation.state, after.operation.failure], ['accepted', undefined]);
    assert.deepEqual([after.payment.status, after.payment.collected], ['Collected', ORDER.amount.minor]);
    assert.equal(after.reconciliation.inDoubtSince, undefined);
  });

  test('refuses nothing that another account at the processor does not know', async () => {
    const cancels = (): number => fake.requests.filter((kind) => kind === 'cancel').length;
    const before = cancels();
    const own = (await activations.show(tenant)).settings['base-url'] ?? '';
    fake.inject({ on: 'create', do: 'drop-after' });
    const lost = await authorize('Opened');
    const order = orderOf(lost);
    clocks.advance(MINUTE);
    // Another key of the same account changes nothing for it.
    await enable({ 'private-key': 'sk_test' });
    await enable({ 'base-url': otherUrl, account: 'OTHER' });
    await recoverFor((3 * RECOVERY_MAX) / MINUTE);
    const { payment, operation, reconciliation } = await payments.lookup(tenant, lost);
    assert.deepEqual([payment.status, operation.state], ['Opened', 'in_progress']);
    assert.equal(reconciliation.lastProblem, 'account-changed');
    assert.ok(!otherFake.requests.includes('cancel') && order.status !== 'Cancelled');

    // The other account resolves the operations that were sent to it.
    const later = await authorize();
    otherFake.inject({ on: 'capture', do: 'drop-before' });
    const { operation: capture } = await operate(later, CAPTURE);
    await recoverUntil(async () => (await payments.lookup(tenant, capture.id)).operation.state === 'refused');

    await enable({ 'base-url': own, account: 'ACC' });
    await recoverUntil(async () => (await payments.lookup(tenant, lost)).payment.status === 'Authorized');
    assert.equal(cancels(), before);
  });

  test('records a refund that arrives late once, when two of its amount are rechecked', async () => {
    const id = await authorize();
    await operate(id, CAPTURE);
    const lost = [await lose(id, 'refund', refundOf('5')), await lose(id, 'refund', refundOf('5'))];
    assert.equal(await watched(id), 2);
    // The second request arrives, and the records of the processor do not show which of the two it was.
    fake.ledger.refund(orderOf(id), lost[1] ?? '', 50_000n, 'Refunded');
    await recoverUntil(async () => (await watched(id)) === 0);
    const states = await Promise.all(lost.map(async (each) => (await payments.lookup(tenant, each)).operation.state));
    assert.deepEqual(states.sort(), ['accepted', 'refused']);
    assert.equal((await payments.lookup(tenant, id)).payment.refunded, 500n);
  });

  test('keeps a capture of a voided payment in doubt, whatever fails later or is not found elsewhere, until the processor refuses it', async () => {
    // The settings were changed before, and the operations from now on are of the account that they name.
    clocks.advance(10 * MINUTE);
    const id = await authorize();
    const lost = await lose(id, 'capture', CAPTURE);
    await operate(id, { type: 'authorization_void' });
    const order = orderOf(id);
    order.status = 'Collected';
    const doubtOf = async (): Promise<unknown> => {
      const { operation, reconciliation } = await payments.lookup(tenant, lost);
      const { inDoubtSince, contradictoryIds, recheckIds, lastProblem } = reconciliation;
      assert.deepEqual([operation.state, recheckIds, contradictoryIds], ['refused', [lost], [lost]]);
      assert.equal(lastProblem, 'contradiction');
      return inDoubtSince;
    };
    await recoverUntil(async () => (await payments.lookup(tenant, lost)).reconciliation.inDoubtSince !== undefined);
    const since = await doubtOf();
    fake.inject({ on: 'find', do: 'drop-before' });
    fake.inject({ on: 'get', do: 'drop-before' });
    await recoverFor((3 * RECOVERY_MAX) / MINUTE);
    assert.equal(await doubtOf(), since);
    const own = (await activations.show(tenant)).settings['base-url'] ?? '';
    await enable({ 'base-url': otherUrl, account: 'OTHER' });
    await recoverFor((3 * RECOVERY_MAX) / MINUTE);
    assert.equal(await doubtOf(), since);
    await enable({ 'base-url': own, account: 'ACC' });
    order.status = 'Voided';
    await recoverUntil(async () => (await watched(id)) === 0);
    const { payment, reconciliation } = await payments.lookup(tenant, lost);
    assert.deepEqual([payment.status, reconciliation.inDoubtSince], ['Voided', undefined]);
  });

  test('lists the contradictory operation, and a user ends the doubt about that one only', async () => {
    const id = await authorize();
    const [lost, other] = [await lose(id, 'capture', CAPTURE), await lose(id, 'capture', CAPTURE)];
    await operate(id, { type: 'authorization_void' });
    orderOf(id).status = 'Collected';
    await recoverUntil(async () => (await payments.lookup(tenant, id)).reconciliation.contradictoryIds.length === 2);
    const listed = await listInDoubtPayments(core.database, core.keyring);
    const { contradictoryIds, inDoubtSince } = (await payments.lookup(tenant, id)).reconciliation;
    assert.equal(listed.items.find((item) => item.id === id)?.operationId, contradictoryIds[0]);
    const resolve = (transactionId: string) =>
      core.transactions.run({ origin: ORIGIN, account: tenant.account }, (transaction) =>
        unknownOutcomes.resolve(transaction, tenant, { transactionId, outcome: 'refused', reason: 'Refunded there' }),
      );
    await assert.rejects(resolve(id), /another transaction of the payment is in doubt|no such transaction in doubt/);
    const one = await resolve(lost);
    assert.deepEqual([one.reconciliation.contradictoryIds, one.reconciliation.recheckIds], [[other], [other]]);
    assert.equal(one.reconciliation.inDoubtSince, inDoubtSince);
    await assert.rejects(resolve(lost), /another transaction of the payment is in doubt|no such transaction in doubt/);
    const both = await resolve(other);
    assert.deepEqual([both.payment.status, both.reconciliation.inDoubtSince], ['Voided', undefined]);
    assert.equal(await watched(id), 0);
  });

  test('rechecks a few operations in one job, and the others in the next one', async () => {
    const id = await authorize();
    await operate(id, CAPTURE);
    for (let count = 0; count < 7; count++) await lose(id, 'refund', refundOf(`${count + 1}`));
    const watchedBefore = (await payments.lookup(tenant, id)).reconciliation.recheckIds;
    assert.equal(watchedBefore.length, 7);
    const before = fake.requests.length;
    assert.ok(await recovery.runNow(tenant, id));
    assert.equal(fake.requests.length - before, 5);
    const { recheckIds } = (await payments.lookup(tenant, id)).reconciliation;
    assert.deepEqual(recheckIds.slice(0, 2), watchedBefore.slice(5));
  });
});
