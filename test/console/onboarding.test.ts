import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ActivationRequests } from '../../console/server/activation-requests.ts';
import {
  listActivationRequests,
  requestActivation,
  showOnboarding,
  withdrawActivationRequest,
} from '../../console/wire/onboarding.ts';
import { approveActivation, declineActivation, enablePayments, listAccounts } from '../../console/wire/operator.ts';
import { showSession } from '../../console/wire/session.ts';
import { recordLastUses } from '../../src/accounts/api-key-store.ts';
import { Usage } from '../../src/accounts/usage.ts';
import { getAccount, showAccount } from '../../src/http/endpoints/show-account.ts';
import { successCounter } from '../../src/http/request-counters.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newPerson, type UserClient } from './console-client.ts';

let service: TestService;
let operator: UserClient;

before(async () => {
  service = await startTestService();
  operator = await newPerson(service, '', 'operator', 'Olga');
});
after(() => service.stop());

async function merchant(): Promise<{ account: string; owner: UserClient }> {
  const account = await service.newAccount('Tienda');
  return { account, owner: await newPerson(service, account, 'owner', 'Ana') };
}

const onboarding = async (owner: UserClient, account: string) =>
  (await owner.call(showOnboarding, { params: { account } })).json;
const stepsOf = async (owner: UserClient, account: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await onboarding(owner, account)).steps.map(({ step, state }: { step: string; state: string }) => [step, state]),
  );

/** Counts successful calls in production, as a node does. */
async function addCounters(account: string, endpoints: readonly { readonly operationId: string }[]): Promise<void> {
  const usage = new Usage({ database: service.core.database, clock: service.now });
  for (const { operationId } of endpoints)
    usage.note({ account, environment: 'production' }, successCounter(operationId));
  await usage.flush();
}

const WANTED = { production: 'koin', note: 'We open in March' };

async function submitRequest(owner: UserClient, account: string, request: object = WANTED): Promise<string> {
  const response = await owner.call(requestActivation, { params: { account }, body: request });
  assert.equal(response.status, 200, response.text);
  return response.json.production ?? response.json.sandbox;
}

describe('onboarding', () => {
  test('continues from step to step with the state of the account', async () => {
    const { account, owner } = await merchant();
    assert.deepEqual(await stepsOf(owner, account), {
      account_configured: 'done',
      sandbox_key: 'open',
      production_key: 'open',
      activation_requested: 'open',
      sandbox_tested: 'open',
      live: 'open',
    });
    const sandbox = await service.newKey(account);
    const production = await service.newKey(account, { environment: 'production' });
    const body = { chd: [{ card: '4111111111111111', name: 'Ana', exp: '12/29' }], tags: [], scheme: 1 };
    const tokenized = await service.call('POST', '/v1/tokenization/simple', { key: sandbox.secret, body });
    assert.equal(tokenized.status, 200, tokenized.text);
    assert.equal((await onboarding(owner, account)).account.status, 'sandbox');
    const called = await service.call('GET', '/v1/account', { key: production.secret, environment: 'production' });
    assert.equal(called.status, 200);
    // Runs the periodic work of the service.
    const uses = [sandbox, production].map(({ id }) => ({ account, id, at: service.now() }));
    await service.core.database.commit({ writes: [recordLastUses(uses)] });
    await addCounters(account, [showAccount, getAccount]);
    assert.equal((await stepsOf(owner, account))['live'], 'open', 'reading the account only tests the key');
    assert.equal((await onboarding(owner, account)).account.status, 'sandbox');
    const live = { key: production.secret, environment: 'production', body } as const;
    assert.equal((await service.call('POST', '/v1/tokenization/simple', live)).status, 200);
    await eventually(async () => (await stepsOf(owner, account))['live'] === 'done');
    // Totals are counted again periodically.
    service.advance(60_000);
    const steps = await stepsOf(owner, account);
    assert.deepEqual(
      [steps['sandbox_key'], steps['production_key'], steps['sandbox_tested'], steps['live']],
      ['done', 'done', 'done', 'done'],
    );
    const { tried, account: shown } = await onboarding(owner, account);
    assert.deepEqual([tried.call, tried.token, tried.payment, shown.status], [true, true, false, 'live']);
    const { memberships } = (await owner.call(showSession)).json.session;
    assert.equal(memberships[0].status, 'live');
    const { accounts } = (await operator.call(listAccounts)).json;
    assert.equal(accounts.find(({ id }: { id: string }) => id === account).status, 'live');
    // Payments that are enabled afterwards undo nothing.
    await service.enablePayments(account);
    assert.equal((await stepsOf(owner, account))['sandbox_tested'], 'done');
  });

  test('lists the available processors', async () => {
    const { account, owner } = await merchant();
    const { processors } = await onboarding(owner, account);
    assert.deepEqual(processors, [
      { name: 'simulator', is_simulator: true },
      { name: 'cybersource', is_simulator: false },
      { name: 'koin', is_simulator: false },
    ]);
  });
});

describe('a request for activation', () => {
  test('is pending until the operator enables payments', async () => {
    const { account, owner } = await merchant();
    const request = { sandbox: 'simulator', note: 'Please' };
    const id = await submitRequest(owner, account, request);
    assert.equal((await stepsOf(owner, account))['activation_requested'], 'waiting');
    const { requests } = (await operator.call(listActivationRequests)).json;
    const own = requests.find(({ account: whose }: { account: string }) => whose === account);
    assert.deepEqual(
      [own.account_name, own.request.note, own.request.requested_by, own.request.status],
      ['Tienda', 'Please', 'Ana', 'requested'],
    );
    const params = { id: account, request: id };
    await operator.stepUp();
    const body = { processor: 'simulator', decision_note: 'Go' };
    const approved = await operator.call(approveActivation, { params, body });
    assert.equal(approved.status, 200, approved.text);
    const { requests: seen, payments } = await onboarding(owner, account);
    assert.deepEqual([seen[0].status, seen[0].decision_note, seen[0].decided_by], ['approved', 'Go', 'Olga']);
    assert.deepEqual(payments[1], { environment: 'sandbox', enabled: true, processor: 'simulator' });
    assert.equal((await stepsOf(owner, account))['activation_requested'], 'done');
    const again = await operator.call(approveActivation, { params, body });
    assert.deepEqual([again.status, again.json.code], [409, 'changed_meanwhile']);
  });

  test('remains pending when payments cannot be enabled', async () => {
    const { account, owner } = await merchant();
    const id = await submitRequest(owner, account);
    const params = { id: account, request: id };
    await operator.stepUp();
    const refused = await operator.call(approveActivation, { params, body: { processor: 'koin' } });
    assert.deepEqual([refused.status, refused.json.field], [400, 'settings']);
    const secret = 'a private key of koin';
    const settings = [{ name: 'no-such-setting', value: secret }];
    const wrong = await operator.call(approveActivation, { params, body: { processor: 'koin', settings } });
    assert.equal(wrong.status, 400);
    assert.ok(!wrong.text.includes(secret));
    assert.equal((await onboarding(owner, account)).requests[0].status, 'requested');
    const forced = { processor: 'simulator', force: true };
    assert.equal((await operator.call(approveActivation, { params, body: forced })).status, 200);
  });

  test('is approved with its content, or not at all: a withdrawn request enables nothing', async () => {
    const { account, owner } = await merchant();
    const id = await submitRequest(owner, account, { sandbox: 'simulator' });
    const { core } = service;
    const requests = new ActivationRequests({ ...core, processors: core.activations.processors });
    const request = await requests.getPending(account, id);
    const acting = { person: { id: operator.id, name: 'Olga' }, origin: { actor: { type: 'operator' } } } as const;
    assert.equal((await owner.call(withdrawActivationRequest, { params: { account, id } })).status, 200);
    const enabling = { processor: 'simulator', settings: {}, force: false };
    const tenant = { account, environment: 'sandbox' } as const;
    await assert.rejects(
      core.transactions.run({ origin: acting.origin }, async (transaction) => {
        await core.activations.enable(transaction, tenant, enabling);
        await requests.decide(transaction, request, 'approved', '', acting);
      }),
      (error) => error instanceof Failure && error.code === 'changed_meanwhile',
    );
    assert.equal(await core.activations.enabledProcessor(tenant), undefined);
    const rows = await core.database.read('select record from journal where account = ?account', account);
    const actions = rows.map((row) => JSON.parse(String(row['record'])).action);
    assert.ok(!actions.includes('payments.enabled') && !actions.includes('activation.approved'));
  });

  test('is approved, declined or withdrawn, whichever of concurrent decisions is first', async () => {
    await operator.stepUp();
    for (let round = 0; round < 6; round++) {
      const { account, owner } = await merchant();
      const id = await submitRequest(owner, account, { sandbox: 'simulator' });
      const params = { id: account, request: id };
      const approving = () => operator.call(approveActivation, { params, body: { processor: 'simulator' } });
      const declining = () => operator.call(declineActivation, { params, body: { decision_note: 'no' } });
      const withdrawing = () => owner.call(withdrawActivationRequest, { params: { account, id } });
      const all = [approving, declining, withdrawing];
      // Each of them starts first in some rounds.
      const responses = await Promise.all([...all.slice(round % 3), ...all.slice(0, round % 3)].map((act) => act()));
      assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 409, 409]);
      const { requests, payments } = await onboarding(owner, account);
      const [{ status }] = requests;
      assert.equal(payments[1].enabled, status === 'approved', status);
    }
  });

  test('is declined with a reason, withdrawn, and submitted again; one is pending at a time', async () => {
    const { account, owner } = await merchant();
    const first = await submitRequest(owner, account);
    const second = await owner.call(requestActivation, { params: { account }, body: WANTED });
    assert.deepEqual([second.status, second.json.code], [400, 'not_possible']);
    const params = { id: account, request: first };
    const nothing = await operator.call(declineActivation, { params, body: {} });
    assert.deepEqual([nothing.status, nothing.json.field], [400, 'decision_note']);
    assert.equal(
      (await operator.call(declineActivation, { params, body: { decision_note: 'Papers missing' } })).status,
      200,
    );
    const next = await submitRequest(owner, account);
    assert.equal((await owner.call(withdrawActivationRequest, { params: { account, id: next } })).status, 200);
    assert.equal((await owner.call(withdrawActivationRequest, { params: { account, id: next } })).status, 409);
    const { requests } = await onboarding(owner, account);
    assert.deepEqual(
      requests
        .map(({ status, decision_note }: { status: string; decision_note: string }) => [status, decision_note])
        .sort(),
      [
        ['declined', 'Papers missing'],
        ['withdrawn', ''],
      ],
    );
    const rows = await service.core.database.read('select record from journal where account = ?account', account);
    const actions = rows.map((row) => JSON.parse(String(row['record'])).action);
    assert.deepEqual(actions.filter((action: string) => action.startsWith('activation.')).sort(), [
      'activation.declined',
      'activation.requested',
      'activation.requested',
      'activation.withdrawn',
    ]);
  });

  test('is submitted for both environments together, or for neither', async () => {
    const { account, owner } = await merchant();
    const submit = (body: object) => owner.call(requestActivation, { params: { account }, body });
    const both = { sandbox: 'simulator', production: 'koin', note: 'Contract 7' };
    const nothing = await submit({ note: 'Contract 7' });
    assert.deepEqual([nothing.status, nothing.json.field], [400, 'production']);
    const wrong = await submit({ ...both, production: 'bank-of-nowhere' });
    assert.deepEqual([wrong.status, wrong.json.field], [400, 'production']);
    assert.deepEqual((await onboarding(owner, account)).requests, []);
    const ids = (await submit(both)).json;
    const { requests } = await onboarding(owner, account);
    const listed = requests.map((each: Record<string, string>) => [each['environment'], each['id'], each['note']]);
    const expected = [
      ['production', ids.production, 'Contract 7'],
      ['sandbox', ids.sandbox, 'Contract 7'],
    ];
    assert.deepEqual(listed.sort(), expected);
    await owner.call(withdrawActivationRequest, { params: { account, id: ids.sandbox } });
    // One is still pending, so the other one is not submitted either.
    assert.equal((await submit(both)).json.code, 'not_possible');
    assert.equal((await onboarding(owner, account)).requests.length, 2);
  });

  test('has a daily limit', async () => {
    const { account, owner } = await merchant();
    const params = { account };
    for (let created = 0; created < LIMITS.activationRequestsPerDay; created++) {
      const id = await submitRequest(owner, account);
      assert.equal((await owner.call(withdrawActivationRequest, { params: { account, id } })).status, 200);
    }
    const refused = await owner.call(requestActivation, { params, body: WANTED });
    assert.deepEqual([refused.status, refused.json.code], [429, 'rate_limited']);
    assert.equal((await onboarding(owner, account)).requests.length, LIMITS.activationRequestsPerDay);
  });

  test('is for an existing processor, and belongs to its account', async () => {
    const { account, owner } = await merchant();
    const body = { sandbox: 'bank-of-nowhere' };
    const wrong = await owner.call(requestActivation, { params: { account }, body });
    assert.deepEqual([wrong.status, wrong.json.field, wrong.text.includes('nowhere')], [400, 'sandbox', false]);
    const id = await submitRequest(owner, account);
    const elsewhere = await merchant();
    const stolen = { params: { account: elsewhere.account, id } };
    assert.equal((await elsewhere.owner.call(withdrawActivationRequest, stolen)).status, 404);
    const params = { id: elsewhere.account, request: id };
    assert.equal((await operator.call(declineActivation, { params, body: { decision_note: 'no' } })).status, 404);
    assert.equal((await onboarding(owner, account)).requests[0].status, 'requested');
  });

  test('is sealed in the database', async () => {
    const { account, owner } = await merchant();
    await submitRequest(owner, account);
    const [row] = await service.core.database.read(
      'select record from activation_requests where account = ?account',
      account,
    );
    assert.ok(!Buffer.from(row?.['record'] as Uint8Array).includes('We open in March'));
    await service.core.database.commit({
      writes: [
        { sql: "update activation_requests set status = 'approved' where account = ?account", rows: [[account]] },
      ],
    });
    assert.deepEqual((await onboarding(owner, account)).requests, []);
  });
});

describe('payments of an account', () => {
  test('accept the simulator in production with force only', async () => {
    const { account } = await merchant();
    await operator.stepUp();
    const params = { id: account, where: 'production' };
    const refused = await operator.call(enablePayments, { params, body: { processor: 'simulator' } });
    assert.deepEqual([refused.status, refused.json.code], [400, 'not_possible']);
    const forced = await operator.call(enablePayments, { params, body: { processor: 'simulator', force: true } });
    assert.equal(forced.json.result.payments.enabled, true);
  });
});
