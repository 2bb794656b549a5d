import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { approve, decline, executeApproval, listApprovals, showApproval } from '../../console/wire/approvals.ts';
import { requestActivation, showOnboarding, withdrawActivationRequest } from '../../console/wire/onboarding.ts';
import { approveActivation, disablePayments, enablePayments } from '../../console/wire/operator.ts';
import { ApprovalRequired, ChangeControl, type Consent } from '../../src/accounts/change-control.ts';
import { keyFingerprint } from '../../src/crypto/rsa-keys.ts';
import type { Transaction } from '../../src/idempotency/transaction.ts';
import { formatSecret } from '../../src/webhooks/signature.ts';
import type { Endpoint } from '../../src/webhooks/webhook.ts';
import { type CommandResult, Shell } from '../fixtures/command.ts';
import { eventually } from '../fixtures/eventually.ts';
import { newKeyPair, privatePem } from '../fixtures/rsa-key-pairs.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { assertRefused, successData } from './account-user.ts';
import { joinAccount, newPerson, type UserClient } from './console-client.ts';

/** Under dual control of an account an operator alone changes none of its processor and proxy settings in production. */

const BY_TEST = { actor: { type: 'operator', name: 'test' } } as const;
const DAY = 86_400_000;
const PAIR = newKeyPair();

let service: TestService;
let shell: Shell;
let account: string;
let ana: UserClient;
let ben: UserClient;
let operator: UserClient;

/** Signs in users, who have no session after a day. */
async function signIn(): Promise<void> {
  const first = await service.newAccount();
  ana = await newPerson(service, first, 'owner', 'Ana');
  ben = await newPerson(service, first, 'developer', 'Ben');
  operator = await newPerson(service, '', 'operator', 'Olga');
}

before(async () => {
  service = await startTestService();
  shell = new Shell(service.directory, service.core);
  await signIn();
});
beforeEach(async () => {
  account = await service.newAccount();
  await joinAccount(ana, account, 'owner');
  await joinAccount(ben, account, 'developer');
  await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
    service.core.accounts.setDualControl(transaction, account, true),
  );
  for (const person of [ana, operator]) await person.stepUp();
});
after(async () => {
  await service.stop();
});

const tenant = () => ({ account, environment: 'production' }) as const;
const of = (id: string) => ({ params: { account, id } });
const where = () => ({ id: account, where: 'production' });
const isEnabled = async () => (await service.core.activations.show(tenant())).enabled;
const run = (...args: string[]): Promise<CommandResult> =>
  shell.run(...args, '--account', account, '--environment', 'production', '--json');
const SIMULATOR = ['payments', 'enable', '--processor', 'simulator', '--force'];

/** The id of the approval that a command waits for. */
async function waits(ran: Promise<CommandResult>): Promise<string> {
  const { code, out, err } = await ran;
  assert.deepEqual([code, out], [1, '']);
  const { approval_id: id } = JSON.parse(err);
  assert.deepEqual(JSON.parse(err), { error: 'approval required', approval_id: id });
  assert.match(id, /^approval_/);
  return id;
}

const removeOperator = ({ id }: UserClient): Promise<void> =>
  service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
    service.console.people.team.remove(transaction, '', id),
  );

const shown = async (id: string) => successData(await ana.call(showApproval, of(id))).approval;

async function isErased(id: string): Promise<boolean> {
  const [row] = await service.core.database.read('select call from approvals where id = ?', id);
  return row?.['call'] === null;
}

async function recorded(action: string) {
  const rows = await service.core.database.read('select record from journal where account = ?account', account);
  return rows.map((row) => JSON.parse(String(row['record']))).filter((record) => record.action === action);
}

describe('a command of an operator', () => {
  test('enables payments after a member approved it, and reports the approval that it awaits', async () => {
    const id = await waits(run(...SIMULATOR, '--setting', 'payment-scheme=3'));
    assert.equal(await isEnabled(), false);
    const { by_operator, may_decide, action, status, summary } = await shown(id);
    assert.deepEqual([by_operator, may_decide, action, status], [true, true, 'payments.enable', 'waiting']);
    assert.deepEqual(summary, [
      { name: 'processor', value: 'simulator' },
      { name: 'payment-scheme', value: '3' },
      { name: 'forced', value: 'yes' },
    ]);
    assert.deepEqual(successData(await ana.call(approve, of(id))), { executed: true });
    assert.equal((await service.core.activations.show(tenant())).settings['payment-scheme'], '3');
    const [record] = await recorded('payments.enabled');
    assert.deepEqual([record.actor.type, record.targets], ['operator', [`approval:${id}`]]);
    assert.deepEqual(record.detail.new_values, ['payment-scheme=3']);
    const [approved] = await recorded('approval.approved');
    assert.equal(approved.actor.id, ana.id);
    assert.equal(await isErased(id), true);
    assert.equal((await shown(id)).status, 'done');
    assertRefused(await ana.call(approve, of(id)), 'changed_meanwhile');
  });

  test("that enables a processor again shows the processor's earlier settings", async () => {
    successData(await ana.call(approve, of(await waits(run(...SIMULATOR, '--setting', 'payment-scheme=3')))));
    const { summary } = await shown(await waits(run(...SIMULATOR, '--setting', 'timeout-ms=500')));
    const names = (lines: readonly { readonly name: string }[]) => lines.map(({ name }) => name);
    assert.deepEqual(names(summary), ['processor', 'timeout-ms', 'forced'], 'unchanged settings are not listed');
    successData(await ana.call(approve, of(await waits(run('payments', 'disable')))));
    const again = await shown(await waits(run(...SIMULATOR, '--setting', 'timeout-ms=500')));
    assert.deepEqual(again.summary, [
      { name: 'processor', value: 'simulator' },
      { name: 'payment-scheme', value: '3' },
      { name: 'timeout-ms', value: '500' },
      { name: 'forced', value: 'yes' },
    ]);
  });

  test('prints the next step', async () => {
    const { code, err } = await shell.run(...SIMULATOR, '--account', account, '--environment', 'production');
    assert.equal(code, 1);
    assert.match(err, /^cardvault: approval required\n {2}- approval_id: approval_[a-z0-9]+\nA member of the account /);
  });

  test('disables payments, configures and removes the proxy in the same way', async () => {
    successData(await ana.call(approve, of(await waits(run(...SIMULATOR)))));
    const disabling = await waits(run('payments', 'disable'));
    assert.equal(await isEnabled(), true);
    successData(await ana.call(approve, of(disabling)));
    assert.equal(await isEnabled(), false);

    const file = join(service.directory, 'merchant.pem');
    writeFileSync(file, privatePem(PAIR));
    const configuring = await waits(
      run('proxy', 'configure', '--merchant-private-key', file, '--setting', 'jose.payload=plain'),
    );
    const { configurations } = service.core;
    assert.equal((await configurations.get(tenant())).merchant, undefined);
    assert.deepEqual((await shown(configuring)).summary, [
      { name: 'merchant_private_key', value: keyFingerprint(PAIR.publicKey) },
      { name: 'jose.payload', value: 'plain' },
      { name: 'overlap_minutes', value: '0' },
    ]);
    successData(await ana.call(approve, of(configuring)));
    const { merchant, settings } = await configurations.get(tenant());
    assert.ok(merchant?.current.key.equals(PAIR.privateKey));
    assert.deepEqual(settings, { 'jose.payload': 'plain' });
    assert.equal(await isErased(configuring), true);

    const removing = await waits(run('proxy', 'remove', '--force'));
    successData(await ana.call(approve, of(removing)));
    assert.equal((await configurations.get(tenant())).merchant, undefined);
  });

  describe('webhook', () => {
    const URL = 'https://shop.example/cardvault';
    const EVENTS = ['--event', '*'];
    const stored = async () => (await service.core.webhooks.list(tenant())).map(({ endpoint }) => endpoint);
    /** Runs a command that prints the secret which is valid after its approval. */
    async function waitsWithSecret(...args: string[]) {
      const { code, err, json } = await run('webhook', ...args);
      assert.equal(code, 1);
      const { approval_id: approval, ...rest } = JSON.parse(err);
      assert.deepEqual(rest, { error: 'approval required' });
      return { approval, ...json } as { approval: string; id: string; secret: string };
    }
    const secretsOf = ({ secrets }: Endpoint) => secrets.map(({ bytes }) => formatSecret(bytes));

    test('create, update and rotate wait, and take effect with the secret that the operator got', async () => {
      const { approval, id, secret } = await waitsWithSecret('create', '--url', URL, ...EVENTS);
      assert.deepEqual(await stored(), []);
      assert.deepEqual((await shown(approval)).summary, [
        { name: 'url', value: URL },
        { name: 'events', value: '*' },
      ]);
      const approved = await ana.call(approve, of(approval));
      assert.deepEqual(successData(approved), { executed: true });
      const [created] = await stored();
      assert.ok(created !== undefined);
      assert.deepEqual([created.id, created.url, secretsOf(created)], [id, URL, [secret]]);
      assert.equal(await isErased(approval), true);
      const [record] = await recorded('webhook.created');
      assert.deepEqual([record.actor.type, record.targets], ['operator', [`webhook:${id}`, `approval:${approval}`]]);

      const rotation = await waitsWithSecret('rotate', id, '--overlap', '5');
      assert.equal(rotation.id, id);
      assert.deepEqual(await stored(), [created]);
      successData(await ana.call(approve, of(rotation.approval)));
      const [rotated] = await stored();
      assert.deepEqual(rotated && secretsOf(rotated), [rotation.secret, secret]);

      const updating = await waits(run('webhook', 'update', id, '--url', 'https://evil.example/', '--disable'));
      assert.deepEqual((await shown(updating)).summary, [
        { name: 'url', value: 'https://evil.example/' },
        { name: 'events', value: '*' },
        { name: 'state', value: 'disabled' },
      ]);
      successData(await ben.call(decline, of(updating)));
      assert.deepEqual(await stored(), [rotated]);
    });

    test('update changes nothing when the webhook is another one at its approval; delete needs none', async () => {
      const { approval, id } = await waitsWithSecret('create', '--url', URL, ...EVENTS);
      successData(await ana.call(approve, of(approval)));
      const [first, second] = [
        await waits(run('webhook', 'update', id, '--event', 'token.deleted')),
        await waits(run('webhook', 'update', id, '--url', 'https://shop.example/other')),
      ];
      successData(await ana.call(approve, of(first)));
      assertRefused(await ana.call(approve, of(second)), 'changed_meanwhile');
      assert.deepEqual(
        (await stored()).map(({ url, events }) => [url, events]),
        [[URL, ['token.deleted']]],
      );
      assert.equal((await run('webhook', 'delete', id)).code, 0);
      assert.deepEqual(await stored(), []);
    });
  });

  test('has no effect when it is declined, and its private key is erased; in the sandbox it needs no approval', async () => {
    const file = join(service.directory, 'merchant.pem');
    writeFileSync(file, privatePem(PAIR));
    const id = await waits(run('proxy', 'configure', '--merchant-private-key', file));
    assert.equal(await isErased(id), false);
    successData(await ben.call(decline, of(id)));
    assert.equal(await isErased(id), true);
    assert.equal((await service.core.configurations.get(tenant())).merchant, undefined);
    const sandbox = ['--account', account, '--environment', 'sandbox', '--json'];
    assert.equal((await shell.run('payments', 'enable', ...sandbox)).code, 0);
  });

  test('with an error is rejected before an approval is requested, and where no user may approve', async () => {
    const wrong = await run('payments', 'enable', '--processor', 'koin', '--setting', 'base-url=https://evil.example');
    assert.equal(wrong.code, 2);
    const { team } = service.console.people;
    await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      team.changeRole(transaction, account, ben.id, 'auditor'),
    );
    successData(await ana.call(approve, of(await waits(run(...SIMULATOR)))));
    const lonely = await service.newAccount();
    await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      service.core.accounts.setDualControl(transaction, lonely, true),
    );
    const ran = await shell.run(...SIMULATOR, '--account', lonely, '--environment', 'production', '--json');
    assert.equal(ran.code, 1);
    const error = 'No other user of this account can approve this. An operator can invite an owner.';
    assert.deepEqual(JSON.parse(ran.err), { error });
    assert.deepEqual(await service.console.approvals.list(lonely), []);
  });
});

describe('an operator in the console', () => {
  test('needs the approval of a member as a command does', async () => {
    const body = { processor: 'simulator', force: true };
    const { approval, result } = successData(await operator.call(enablePayments, { params: where(), body }));
    assert.deepEqual([typeof approval, result], ['string', null]);
    assert.equal((await shown(approval)).requested_by, 'Olga');
    successData(await ana.call(approve, of(approval)));
    assert.equal(await isEnabled(), true);
    const [record] = await recorded('payments.enabled');
    assert.equal(record.actor.id, operator.id);
    const disabling = successData(await operator.call(disablePayments, { params: where() }));
    assert.equal(await isEnabled(), true);
    successData(await ana.call(approve, of(disabling.approval)));
    assert.equal(await isEnabled(), false);
  });

  test('cannot approve their own request, whatever their roles, nor execute it', async () => {
    await joinAccount(operator, account, 'owner');
    await operator.stepUp();
    const body = { processor: 'simulator', force: true };
    const { approval } = successData(await operator.call(enablePayments, { params: where(), body }));
    assertRefused(await operator.call(approve, of(approval)), 'not_allowed');
    assertRefused(await operator.call(executeApproval, of(approval)), 'not_possible');
    assert.equal(await isEnabled(), false);
    await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      service.console.people.team.remove(transaction, account, operator.id),
    );
  });

  test('who is no longer an operator when a member approves the request changes nothing', async () => {
    const former = await newPerson(service, '', 'operator', 'Former');
    const body = { processor: 'simulator', force: true };
    const { approval } = successData(await former.call(enablePayments, { params: where(), body }));
    await removeOperator(former);
    const response = await ana.call(approve, of(approval));
    assertRefused(response, 'not_possible');
    assert.match(response.json.message, /^The operator who requested this is no longer an operator/);
    assert.deepEqual([(await shown(approval)).status, await isEnabled()], ['waiting', false]);
    successData(await ana.call(decline, of(approval)));
  });

  test('decides an activation request when a member has approved the settings, and not before', async () => {
    const request = { production: 'simulator' };
    const { production: id } = successData(await ana.call(requestActivation, { params: { account }, body: request }));
    const body = { processor: 'simulator', force: true, decision_note: 'Welcome' };
    const params = { id: account, request: id };
    const first = successData(await operator.call(approveActivation, { params, body }));
    const status = async () => successData(await ana.call(showOnboarding, { params: { account } })).requests[0].status;
    assert.equal(await status(), 'requested');
    successData(await ana.call(approve, of(first.approval)));
    assert.deepEqual([await status(), await isEnabled()], ['approved', true]);
  });

  test('changes nothing when the activation request was withdrawn; the approval is still pending', async () => {
    const request = { production: 'simulator' };
    const { production: id } = successData(await ana.call(requestActivation, { params: { account }, body: request }));
    const body = { processor: 'simulator', force: true };
    const { approval } = successData(
      await operator.call(approveActivation, { params: { id: account, request: id }, body }),
    );
    successData(await ana.call(withdrawActivationRequest, of(id)));
    assertRefused(await ana.call(approve, of(approval)), 'changed_meanwhile');
    assert.deepEqual([(await shown(approval)).status, await isEnabled()], ['waiting', false]);
  });
});

describe('the use cases themselves', () => {
  const request = { processor: 'simulator', settings: {}, force: true };

  test('are rejected without consent, with a forged one, and with one of another change', async () => {
    const { activations, configurations } = service.core;
    const { approvals } = service.console;
    await assert.rejects(
      service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
        activations.enable(transaction, tenant(), request),
      ),
      ApprovalRequired,
    );
    await assert.rejects(
      service.core.transactions.run({ origin: BY_TEST }, (transaction) => configurations.remove(transaction, tenant())),
      /no such configuration/,
    );
    const changes = { settings: { 'jose.payload': 'plain' }, overlapMinutes: 0 };
    await assert.rejects(
      service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
        configurations.configure(transaction, tenant(), changes, { isMember: true }),
      ),
      {
        code: 'changed_meanwhile',
      },
    );
    const [waiting] = await approvals.list(account);
    const { transactions } = service.core;
    const approved = (act: (transaction: Transaction, consent: Consent) => Promise<unknown>): Promise<unknown> =>
      transactions.run({ origin: BY_TEST }, async (transaction) => {
        const execution = await approvals.decide(transaction, { account, person: ana }, waiting?.id ?? '', 'approved');
        assert.ok(execution !== undefined);
        return act(transaction, execution.consent);
      });
    const enable = (transaction: Transaction, consent: Consent) =>
      activations.enable(transaction, tenant(), request, { consent });
    const rejectedChanges: Parameters<typeof approved>[0][] = [
      (transaction, consent) => enable(transaction, { ...consent }),
      (transaction, consent) => configurations.configure(transaction, tenant(), changes, { consent }),
      (_, consent) => transactions.run({ origin: BY_TEST }, (other) => enable(other, consent)),
      async (transaction, consent) => {
        await enable(transaction, consent);
        await enable(transaction, consent);
      },
    ];
    for (const change of rejectedChanges) await assert.rejects(approved(change), { code: 'changed_meanwhile' });
    assert.equal(await isEnabled(), false);
    await approved(enable);
    assert.equal(await isEnabled(), true);
  });

  test('change nothing when dual control is enabled concurrently', async () => {
    const { accounts, transactions } = service.core;
    const before = { ...(await accounts.get(account)), dualControl: false };
    const stale = Object.assign(Object.create(accounts), { find: () => Promise.resolve(before) });
    const change = { action: 'payments.disable', summary: [], body: '{}' } as const;
    const changing = transactions.run({ origin: BY_TEST }, (transaction) =>
      new ChangeControl(stale).permit(transaction, tenant(), change, {}),
    );
    await assert.rejects(changing, { code: 'changed_meanwhile' });
  });

  test('find no request of a user who is no longer an operator, also after its approval', async () => {
    const { approvals } = service.console;
    const former = await newPerson(service, '', 'operator', 'Former');
    const [approved, pending] = ['all', 'tokens'].map((value) => {
      return { action: 'account.export', summary: [{ name: 'content', value }], body: '{}' } as const;
    });
    assert.ok(approved !== undefined && pending !== undefined);
    const origin = { actor: { type: 'person', id: former.id, name: former.name } } as const;
    const id = await approvals.requestByOperator(tenant(), approved, origin);
    const other = await approvals.requestByOperator(tenant(), pending, origin);
    successData(await ana.call(approve, of(id)));
    const find = () =>
      Promise.all([approved, pending].map((change) => approvals.findOperatorRequest(tenant(), change)));
    assert.deepEqual(await find(), [
      { id, isApproved: true },
      { id: other, isApproved: false },
    ]);
    await removeOperator(former);
    assert.deepEqual(await find(), [undefined, undefined]);
  });

  test('execute one approval once, however many users approve it concurrently', async () => {
    const id = await waits(run(...SIMULATOR));
    await ben.stepUp();
    const responses = await Promise.all([ana, ben, ana].map((person) => person.call(approve, of(id))));
    assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 409, 409]);
    assert.equal((await recorded('payments.enabled')).length, 1);
  });
});

describe('an approval that was changed in the database', () => {
  const CHANGES = [
    "status = 'approved'",
    "requested_by = 'person_00000000000000'",
    "decided_by = 'person_00000000000000'",
    'created_at = created_at - 1',
    'expires_at = expires_at + 1000000000',
    'environment = 1',
    "record = (select record from approvals where id = 'other')",
  ];

  test('is never approved, executed or authenticated again, whatever column was changed', async () => {
    const other = await waits(run('payments', 'enable', '--processor', 'simulator', '--force'));
    for (const change of CHANGES) {
      const id = await waits(run(...SIMULATOR));
      const sql = `update approvals set ${change.replace("'other'", '?')} where id = ?`;
      await service.core.database.commit({
        writes: [{ sql, rows: [change.includes("'other'") ? [other, id] : [id]] }],
      });
      const [row] = await service.core.database.read('select record from approvals where id = ?', id);
      for (const verdict of [approve, decline]) assertRefused(await ana.call(verdict, of(id)), 'unknown_record');
      const [after] = await service.core.database.read('select record from approvals where id = ?', id);
      assert.deepEqual(after, row, change);
      const { approvals } = successData(await ana.call(listApprovals, { params: { account } }));
      assert.ok(!approvals.some((each: { id: string }) => each.id === id), change);
    }
    assert.equal(await isEnabled(), false);
  });

  test('is deleted with its content when it expires, audited, and does not block others', async () => {
    const [changed, intact] = [await waits(run(...SIMULATOR)), await waits(run(...SIMULATOR))];
    const sql = "update approvals set status = 'approved' where id = ?";
    await service.core.database.commit({ writes: [{ sql, rows: [[changed]] }] });
    service.advance(DAY + 1);
    const found = () => service.core.database.read('select id from approvals where id = ?', changed);
    await eventually(async () => (await found()).length === 0 && (await isErased(intact)));
    const rows = await service.core.database.read('select record from journal where account = 0');
    const records = rows.map((row) => JSON.parse(String(row['record'])));
    const tampered = records.filter(({ action }) => action === 'record.altered');
    assert.deepEqual(tampered.filter(({ targets }) => targets.includes(`approval:${changed}`)).length, 1);
  });
});

describe('an export of an account', () => {
  const RECIPIENT = 'age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj';
  let other: string;
  let exports = 0;
  const exportTo = (recipient: string, ...more: string[]): Promise<CommandResult> =>
    run('export', '--recipient', recipient, '--output', join(service.directory, `export-${++exports}`), ...more);

  before(async () => {
    other = await identityToRecipient(await generateX25519Identity());
    await signIn();
  });
  beforeEach(() =>
    service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      service.core.accounts.setDualControl(transaction, account, false),
    ),
  );

  test('needs the approval of a member in production, also without dual control', async () => {
    const id = await waits(exportTo(RECIPIENT));
    assert.equal(await waits(exportTo(RECIPIENT)), id, 'the same request waits');
    const { action, summary } = await shown(id);
    assert.equal(action, 'account.export');
    assert.deepEqual(
      summary.map(({ name }: { name: string }) => name),
      ['content', 'recipients', 'fingerprint'],
    );
    assert.equal(summary[1].value, RECIPIENT);
    assert.deepEqual(successData(await ana.call(approve, of(id))), { executed: true });
    const done = await exportTo(RECIPIENT);
    assert.deepEqual([done.code, done.err], [0, '']);
    assert.ok(existsSync(done.json.file));
    const [started] = await recorded('account.exported');
    assert.deepEqual([started.actor.type, started.targets], ['operator', [`account:${account}`, `approval:${id}`]]);
    assert.equal((await recorded('account.export-ended')).length, 1);
  });

  test('is approved for these recipients alone', async () => {
    const id = await waits(exportTo(RECIPIENT));
    successData(await ana.call(approve, of(id)));
    const different = await waits(exportTo(other));
    assert.notEqual(different, id);
    assert.notEqual(await waits(exportTo(RECIPIENT, '--recipient', other)), different);
    successData(await ana.call(decline, of(different)));
    assert.notEqual(await waits(exportTo(other)), different);
  });

  test('is not possible when it was declined, or when the approver may no longer approve', async () => {
    const declined = await waits(exportTo(RECIPIENT));
    successData(await ana.call(decline, of(declined)));
    const id = await waits(exportTo(RECIPIENT));
    assert.notEqual(id, declined);
    await ben.stepUp();
    successData(await ben.call(approve, of(id)));
    const { team } = service.console.people;
    await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      team.changeRole(transaction, account, ben.id, 'auditor'),
    );
    assert.notEqual(await waits(exportTo(RECIPIENT)), id);
  });

  test('needs no approval in the sandbox', async () => {
    const sandbox = ['--account', account, '--environment', 'sandbox', '--json'];
    const output = ['--recipient', RECIPIENT, '--output', join(service.directory, 'sandbox')];
    assert.equal((await shell.run('export', ...output, ...sandbox)).code, 0);
  });

  test('may be repeated until 24 hours after its request', async () => {
    const id = await waits(exportTo(RECIPIENT));
    successData(await ana.call(approve, of(id)));
    assert.equal((await exportTo(RECIPIENT)).code, 0);
    assert.equal((await exportTo(RECIPIENT)).code, 0);
    service.advance(DAY);
    assert.notEqual(await waits(exportTo(RECIPIENT)), id);
  });
});
