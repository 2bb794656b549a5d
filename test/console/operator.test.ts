import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { OPERATOR } from '../../console/people/roles.ts';
import { listAudit, listServiceAudit } from '../../console/wire/audit.ts';
import {
  createAccount,
  disablePayments,
  enablePayments,
  listAccounts,
  listProcessors,
  resumeAccount,
  sealAccount,
  showAccount,
  showHealth,
  showKeyring,
  suspendAccount,
} from '../../console/wire/operator.ts';
import { listTokens } from '../../console/wire/records.ts';
import { showSession } from '../../console/wire/session.ts';
import { joinAccount } from '../../console/wire/team.ts';
import { commitOrThrow, write } from '../../src/storage/database.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { newPerson, type UserClient } from './console-client.ts';

let service: TestService;
let operator: UserClient;

before(async () => {
  service = await startTestService();
  operator = await newPerson(service, '', 'operator', 'Olga');
});
after(() => service.stop());

const CYBERSOURCE = [
  { name: 'merchant-id', value: 'merchant' },
  { name: 'key-id', value: '3f1a9c58-0000-4000-8000-000000000000' },
  { name: 'shared-secret', value: 'c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldCE=' },
];

describe('accounts', () => {
  test('that were altered in the database are reported, and restored under the confirmed name', async () => {
    const id = await service.newAccount('Shop');
    const sql = 'update accounts set name = ?, dual_control = 1 where id = ?';
    await commitOrThrow(service.core.database, { writes: [write(sql, ['Other', id], 1)] });
    const shown = async () => (await operator.call(showAccount, { params: { id } })).json.account;
    const before = await shown();
    assert.deepEqual([before.is_altered, before.status], [true, 'suspended']);
    const { accounts } = (await operator.call(listAccounts)).json;
    assert.equal(accounts.find((each: { id: string }) => each.id === id).is_altered, true);
    const { checks } = (await operator.call(showHealth)).json;
    const check = checks.find(({ finding }: { finding: string }) => finding === 'rows-altered');
    assert.deepEqual([check.state, check.count], ['bad', 1]);
    await operator.stepUp();
    for (const call of [resumeAccount, suspendAccount])
      assert.equal((await operator.call(call, { params: { id } })).json.code, 'not_possible');
    assert.equal((await operator.call(sealAccount, { params: { id }, body: { name: 'Shop' } })).status, 200);
    const after = await shown();
    assert.deepEqual([after.is_altered, after.status, after.name], [false, 'suspended', 'Shop']);
    assert.equal((await operator.call(resumeAccount, { params: { id } })).status, 200);
    assert.equal(
      (await operator.call(sealAccount, { params: { id }, body: { name: 'Shop' } })).json.code,
      'not_possible',
    );
  });

  test('that are sealed again have no pending invitation, which would bring in the second person', async () => {
    const id = await service.newAccount('Shop');
    const { invitations } = service.console.people;
    const to = { account: id, role: 'owner', email: 'second@example.com' } as const;
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      invitations.invite(transaction, to, OPERATOR),
    );
    const [pending] = await invitations.list(id);
    const sql = 'update accounts set dual_control = 1 where id = ?';
    await commitOrThrow(service.core.database, { writes: [write(sql, [id], 1)] });
    await operator.stepUp();
    assert.equal((await operator.call(sealAccount, { params: { id }, body: { name: 'Shop' } })).status, 200);
    assert.equal((await service.core.accounts.find(id))?.dualControl, true);
    assert.deepEqual(await invitations.list(id), []);
    const body = { account: id, action: 'invitation.revoked' };
    const { records } = (await operator.call(listServiceAudit, { body })).json;
    assert.deepEqual(
      records.map(({ targets }: { targets: string[] }) => targets),
      [[`invitation:${pending?.id}`]],
    );
  });

  test('without users and production keys are joined as owner, and no others', async () => {
    const join = (id: string) => operator.call(joinAccount, { params: { id } });
    const id = await service.newAccount('Demo');
    const { secret: key } = await service.newKey(id);
    const chd = [{ card: '4111111111111111', name: 'Ana', exp: '12/29' }];
    const created = await service.call('POST', '/v1/tokenization/simple', { key, body: { chd, tags: [], scheme: 1 } });
    assert.equal(created.status, 200, created.text);
    await operator.stepUp();
    const joined = await join(id);
    assert.equal(joined.status, 200, joined.text);
    const { account, role } = joined.json.memberships.find((each: { account: string }) => each.account === id);
    assert.deepEqual([account, role], [id, 'owner']);
    assert.deepEqual((await operator.call(showSession)).json.session.memberships, joined.json.memberships);
    const { tokens } = (await operator.call(listTokens, { params: { account: id, environment: 'sandbox' }, body: {} }))
      .json;
    assert.equal(tokens.length, 1);
    const log = (await operator.call(listAudit, { params: { account: id }, body: { action: 'person.joined' } })).json;
    assert.deepEqual([log.records[0].actor_name, log.records.length], ['Olga', 1]);
    assert.equal((await join(id)).json.code, 'not_possible');
    const used = await service.newAccount('Used');
    await newPerson(service, used, 'owner');
    assert.equal((await join(used)).json.code, 'not_possible');
    const live = await service.newAccount('Live');
    await service.newKey(live, { environment: 'production' });
    assert.equal((await join(live)).json.code, 'not_possible');
    assert.equal((await join('acct_none')).status, 404);
    for (const each of [used, live])
      assert.equal((await operator.call(listAudit, { params: { account: each }, body: {} })).status, 404);
  });

  test('are created with an invitation for their owner, or not at all', async () => {
    const body = { name: 'Zapatos', owner_email: 'owner@example.com' };
    const created = await operator.call(createAccount, { body });
    assert.equal(created.status, 200, created.text);
    assert.match(created.json.invitation.url, /^https:\/\/localhost:\d+\/join#[\w-]{43}$/);
    const before = (await service.core.accounts.list()).length;
    const wrong = await operator.call(createAccount, { body: { ...body, owner_email: 'no address' } });
    assert.deepEqual([wrong.status, wrong.json.field], [400, 'owner_email']);
    assert.ok(!wrong.text.includes('no address'));
    assert.equal((await service.core.accounts.list()).length, before);
    assert.equal((await operator.call(createAccount, { body: { name: 'Plain' } })).json.invitation, null);
  });

  test('are listed, the newest first, with their figures', async () => {
    // Two accounts of one millisecond are listed by id.
    service.advance(1);
    const id = await service.newAccount('Counted');
    await newPerson(service, id, 'owner');
    await service.newKey(id);
    const revoked = await service.newKey(id, { environment: 'production' });
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.core.accounts.revokeKey(transaction, revoked.id),
    );
    await service.enablePayments(id);
    const { accounts } = (await operator.call(listAccounts)).json;
    assert.deepEqual(
      { ...accounts[0], created_at: '' },
      {
        id,
        name: 'Counted',
        // Live with the first call in production, not with the key.
        status: 'sandbox',
        is_altered: false,
        created_at: '',
        people: 1,
        sandbox_keys: 1,
        production_keys: 0,
        open_requests: 0,
        sandbox_processor: 'simulator',
        production_processor: null,
      },
    );
  });

  test('are suspended, and resumed', async () => {
    const id = await service.newAccount();
    await operator.stepUp();
    assert.equal((await operator.call(suspendAccount, { params: { id } })).status, 200);
    assert.equal((await operator.call(showAccount, { params: { id } })).json.account.status, 'suspended');
    assert.equal((await operator.call(suspendAccount, { params: { id } })).json.code, 'not_possible');
    assert.equal((await operator.call(resumeAccount, { params: { id } })).status, 200);
    for (const call of [showAccount, suspendAccount, resumeAccount])
      assert.equal((await operator.call(call, { params: { id: 'acct_0000000000' } })).status, 404);
  });
});

describe('payments of an account', () => {
  test('are enabled with settings, whose secrets are never shown, and disabled', async () => {
    const id = await service.newAccount();
    const params = { id, where: 'sandbox' };
    await operator.stepUp();
    const settings = await goodSettings('cybersource');
    const enabled = await operator.call(enablePayments, { params, body: { processor: 'cybersource', settings } });
    assert.equal(enabled.status, 200, enabled.text);
    const shown = await operator.call(showAccount, { params: { id } });
    const [, sandbox] = shown.json.payments;
    assert.deepEqual([sandbox.environment, sandbox.enabled, sandbox.processor], ['sandbox', true, 'cybersource']);
    const secrets = sandbox.settings.filter(({ is_secret }: { is_secret: boolean }) => is_secret);
    assert.ok(secrets.length > 0);
    for (const { value, is_set } of secrets) assert.deepEqual([value, is_set], [null, true]);
    for (const { value } of CYBERSOURCE.slice(2)) assert.ok(!shown.text.includes(value));
    const merged = [{ name: 'timeout-ms', value: '1234' }];
    const again = await operator.call(enablePayments, { params, body: { processor: 'cybersource', settings: merged } });
    const timeout = again.json.result.payments.settings.find(({ name }: { name: string }) => name === 'timeout-ms');
    assert.deepEqual([timeout.value, timeout.is_set], ['1234', true]);
    assert.equal((await operator.call(disablePayments, { params })).status, 200);
    assert.equal((await operator.call(disablePayments, { params })).json.code, 'not_possible');
  });

  test('are rejected with the name of the field, without the value', async () => {
    const id = await service.newAccount();
    await operator.stepUp();
    const params = { id, where: 'sandbox' };
    for (const [field, settings] of [
      ['settings', [{ name: 'timeout-ms', value: 'ages and ages' }]],
      [
        'settings[1].name',
        [
          { name: 'timeout-ms', value: '1000' },
          { name: 'timeout-ms', value: '2000' },
        ],
      ],
    ] as const) {
      const response = await operator.call(enablePayments, { params, body: { processor: 'simulator', settings } });
      assert.deepEqual([response.status, response.json.field], [400, field], response.text);
      assert.ok(!response.text.includes('ages and ages'));
    }
    const production = { id, where: 'production' };
    const keeps = { processor: 'simulator', force: true, settings: [{ name: 'erase-sad', value: 'false' }] };
    const refused = await operator.call(enablePayments, { params: production, body: keeps });
    assert.deepEqual([refused.status, refused.json.field], [400, 'settings'], refused.text);
    const elsewhere = { params: { id, where: 'moon' }, body: { processor: 'simulator' } };
    assert.equal((await operator.call(enablePayments, elsewhere)).status, 404);
  });
});

/** The settings that a processor needs, with values that fit. */
async function goodSettings(name: string): Promise<{ name: string; value: string }[]> {
  const { processors } = (await operator.call(listProcessors)).json;
  const processor = processors.find((each: { name: string }) => each.name === name);
  return processor.settings
    .filter(({ is_required }: { is_required: boolean }) => is_required)
    .map((setting: { name: string }) => CYBERSOURCE.find((each) => each.name === setting.name));
}

describe('the service', () => {
  test('lists its processors with their settings, and the number of accounts that use each', async () => {
    const id = await service.newAccount();
    await service.enablePayments(id);
    const { processors, in_doubt: inDoubt } = (await operator.call(listProcessors)).json;
    const [simulator] = processors;
    assert.deepEqual([simulator.name, simulator.is_simulator], ['simulator', true]);
    assert.ok(simulator.sandbox_accounts >= 1 && simulator.production_accounts === 0);
    assert.ok(simulator.settings.every(({ value }: { value: unknown }) => value === null));
    assert.deepEqual(inDoubt, []);
  });

  test('lists its keys, each with its newest version', async () => {
    const { keys } = (await operator.call(showKeyring)).json;
    const names = keys.map(
      (key: Record<string, string>) => `${key['environment']}/${key['account']}/${key['purpose']}`,
    );
    assert.equal(new Set(names).size, names.length);
    assert.ok(names.includes('service//people'));
    for (const { versions, used, limit } of keys) assert.ok(versions >= 1 && used <= limit);
  });

  test('is healthy, and lists the checks', async () => {
    // The periodic work of the service writes at times.
    const json = await untilPasses(async () => {
      const response = await operator.call(showHealth);
      assert.equal(response.json.waiting_writes, 0);
      return response.json;
    });
    assert.deepEqual([json.ready, json.in_doubt_payments, json.node], [true, 0, process.version]);
    assert.ok(json.schema >= 1 && json.memory_mib > 10);
    assert.ok(Math.abs(Date.parse(json.now) - service.now()) < 60_000);
    assert.ok(Date.parse(json.certificate_expires_at) > service.now());
    // The state of core dumps depends on the process that started the tests.
    const checks = json.checks.filter(({ finding }: { finding: string }) => !finding.startsWith('dumps-'));
    const states = checks.map(({ state }: { state: string }) => state);
    assert.deepEqual(
      states,
      checks.map(() => 'good'),
    );
    assert.ok(json.checks.length === checks.length + (process.platform === 'linux' ? 1 : 0));
    const reported = json.checks.find(({ finding }: { finding: string }) => finding === 'certificate-ends');
    assert.equal(reported.expires_at, json.certificate_expires_at);
  });

  test('reports its health when the certificate cannot be read', async () => {
    const file = join(service.directory, 'tls', 'server.pem');
    const certificate = readFileSync(file);
    writeFileSync(file, 'no certificate');
    const { status, json } = await operator.call(showHealth);
    writeFileSync(file, certificate);
    assert.deepEqual([status, json.certificate_expires_at], [200, null]);
    assert.ok(json.checks.some(({ state }: { state: string }) => state === 'warning'));
  });

  test('reports that the audit log was changed', async () => {
    const seals = await service.core.database.read('select lane, seal from journal_heads where account = 0');
    const put = (seal: Uint8Array | undefined) =>
      service.core.database.commit({
        writes: seals.map(({ lane = 0, seal: own = null }) => ({
          sql: 'update journal_heads set seal = ? where account = 0 and lane = ?',
          rows: [[seal ?? own, lane]],
        })),
      });
    await put(new Uint8Array(32));
    const { checks } = (await operator.call(showHealth)).json;
    await put(undefined);
    assert.equal(checks.find(({ finding }: { finding: string }) => finding === 'log-broken').state, 'bad');
  });
});
