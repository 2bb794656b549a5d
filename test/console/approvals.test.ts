import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { routes } from '../../console/server/routes.ts';
import {
  approve,
  decline,
  executeApproval,
  listApprovals,
  setDualControl,
  showApproval,
  withdrawApproval,
} from '../../console/wire/approvals.ts';
import { createKey, editKey, listKeys, revokeKey, rotateKey } from '../../console/wire/keys.ts';
import { removeFromTeam } from '../../console/wire/team.ts';
import type { Fill } from '../../src/idempotency/transaction.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { CommitResult, UnitOfWork } from '../../src/storage/database.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { joinAccount, newPerson, signIn, type UserClient } from './console-client.ts';

let service: TestService;
let account: string;
let ana: UserClient;
let ben: UserClient;

const OPERATOR = { actor: { type: 'operator' } } as const;
const DAY = 86_400_000;
const TRAITS = { name: 'till', permissions: ['account:read'], allow_list: [{ cidr: '127.0.0.1' }] };

before(async () => {
  service = await startTestService();
  const first = await service.newAccount();
  ana = await newPerson(service, first, 'owner', 'Ana');
  ben = await newPerson(service, first, 'developer', 'Ben');
});
beforeEach(async () => {
  account = await service.newAccount();
  await joinAccount(ana, account, 'owner');
  await joinAccount(ben, account, 'developer');
  await run((transaction) => service.core.accounts.setDualControl(transaction, account, true));
});
after(() => service.stop());

const production = () => ({ account, environment: 'production' });
const of = (id: string) => ({ account, id });

const run = <Result>(fill: Fill<Result>): Promise<Result> => service.core.transactions.run({ origin: OPERATOR }, fill);

async function requestApproval(client: UserClient, body: object = TRAITS): Promise<string> {
  const response = await client.call(createKey, { params: production(), body });
  assert.equal(response.status, 200, response.text);
  assert.deepEqual([typeof response.json.approval, response.json.result], ['string', null]);
  return response.json.approval;
}

/** Commits what `first` fills just before the next unit that has this statement. */
async function beforeCommitTo<T>(statement: string, first: Fill<void>, act: () => Promise<T>): Promise<T> {
  const database = service.core.database as { commit(unit: UnitOfWork): Promise<CommitResult> };
  const commit = database.commit.bind(database);
  database.commit = async (unit) => {
    if (unit.writes.some(({ sql }) => sql.startsWith(statement))) {
      database.commit = commit;
      await run(first);
    }
    return commit(unit);
  };
  try {
    return await act();
  } finally {
    database.commit = commit;
  }
}

const listed = async (client: UserClient) => (await client.call(listApprovals, { params: { account } })).json.approvals;
const shownOne = async (client: UserClient, id: string) => {
  const response = await client.call(showApproval, { params: of(id) });
  assert.equal(response.status, 200, response.text);
  return response.json.approval;
};
const keysMade = async () => (await service.core.accounts.listKeys(account)).length;

describe('a change in production under dual control', () => {
  test('is requested by one user, approved by another, and executed once by the requester', async () => {
    const id = await requestApproval(ana);
    assert.equal(await keysMade(), 0);
    assert.equal((await ben.call(approve, { params: of(id) })).status, 200);
    assert.equal(await keysMade(), 0);
    const [first, second] = await Promise.all(
      [ana, ana].map((client) => client.call(executeApproval, { params: of(id) })),
    );
    const responses = [first, second].sort((one, other) => (one?.status ?? 0) - (other?.status ?? 0));
    assert.deepEqual(
      responses.map((response) => response?.status),
      [200, 409],
    );
    assert.equal(responses[0]?.json.action, 'key.create');
    const { key, secret } = responses[0]?.json.result ?? {};
    assert.equal(key.name, 'till');
    assert.equal((await service.call('GET', '/v1/account', { key: secret, environment: 'production' })).status, 200);
    assert.equal(await keysMade(), 1);
    assert.equal((await ana.call(executeApproval, { params: of(id) })).status, 409);
  });

  test('shows its effect to the users who may decide', async () => {
    await requestApproval(ana, { ...TRAITS, expires_at: '2099-01-01' });
    const [own] = await listed(ana);
    assert.deepEqual(own.summary, [
      { name: 'name', value: 'till' },
      { name: 'description', value: '' },
      { name: 'permissions', value: 'account:read' },
      { name: 'allow_list', value: '127.0.0.1' },
      { name: 'expires_at', value: '2099-01-01T00:00:00.000Z' },
    ]);
    assert.deepEqual(
      [own.action, own.environment, own.status, own.requested_by, own.is_yours, own.may_decide, own.decided_by],
      ['key.create', 'production', 'waiting', 'Ana', true, false, null],
    );
    const [theirs] = await listed(ben);
    assert.deepEqual([theirs.is_yours, theirs.may_decide], [false, true]);
    const analyst = await newPerson(service, account, 'analyst');
    assert.equal((await listed(analyst))[0].may_decide, false);
  });

  test('shows every address of the allow-list of a key, however many there are', async () => {
    const shownOf = async (allowList: readonly { cidr: string; note?: string }[]): Promise<string> => {
      const id = await requestApproval(ana, { ...TRAITS, expires_at: '2099-01-01', allow_list: allowList });
      const { summary, more_lines } = await shownOne(ben, id);
      assert.equal(more_lines, 0);
      const lines: { name: string; value: string }[] = summary;
      assert.equal(new Set(lines.map(({ name }) => name)).size, lines.length);
      assert.ok(lines.some(({ name }) => name === 'expires_at'));
      assert.ok(lines.every(({ value }) => value.length <= LIMITS.summaryCharacters && !value.includes('…')));
      return lines
        .filter(({ name }) => name.startsWith('allow_list'))
        .map(({ value }) => value)
        .join(', ');
    };
    const longest = Array.from({ length: LIMITS.allowListEntries }, (_, index) => ({
      cidr: `2001:db8:aaaa:bbbb:cccc:dddd:eeee:${(0xa000 + index).toString(16)}/128`,
      note: 'n'.repeat(100),
    }));
    assert.equal(await shownOf(longest), longest.map(({ cidr }) => cidr).join(', '));
    const noted = [...longest.slice(0, 20), { cidr: '0.0.0.0/0', note: 'the world' }];
    assert.equal(await shownOf(noted), noted.map(({ cidr, note }) => `${cidr} (${note})`).join(', '));
  });

  test('is rejected with more lines than an approver can be shown', async () => {
    const summary = Array.from({ length: LIMITS.summaryLines + 1 }, (_, index) => ({
      name: `line ${index}`,
      value: '',
    }));
    const tenant = { account, environment: 'production' } as const;
    const request = (lines: typeof summary) =>
      service.console.approvals.requestByOperator(
        tenant,
        { action: 'payments.disable', summary: lines, body: '{}' },
        OPERATOR,
      );
    await assert.rejects(request(summary), { code: 'not_possible', reason: 'approvalTooLarge' });
    const id = await request(summary.slice(1));
    assert.equal((await shownOne(ben, id)).summary.length, LIMITS.summaryLines);
  });

  test('is listed with its first lines and the number of the others, and shown completely in its details', async () => {
    const short = await requestApproval(ana);
    const allowList = Array.from({ length: LIMITS.allowListEntries }, (_, index) => ({
      cidr: `2001:db8:aaaa:bbbb:cccc:dddd:eeee:${(0xa000 + index).toString(16)}/128`,
    }));
    const long = await requestApproval(ana, { ...TRAITS, allow_list: allowList });
    for (const client of [ana, ben]) {
      const list = await listed(client);
      assert.deepEqual(
        list.map(({ id }: { id: string }) => id),
        [long, short],
      );
      const [first, second] = list;
      assert.equal(second.more_lines, 0);
      assert.deepEqual(await shownOne(client, short), second);
      const complete = await shownOne(client, long);
      assert.ok(first.more_lines > 0);
      assert.equal(first.summary.length + first.more_lines, complete.summary.length);
      assert.deepEqual(
        { ...complete, summary: complete.summary.slice(0, first.summary.length) },
        { ...first, more_lines: 0 },
      );
    }
    // Completed requests are listed in the same way, and remain complete.
    const before = (await shownOne(ben, long)).summary;
    await ben.call(decline, { params: of(long) });
    assert.ok((await listed(ben))[0].more_lines > 0);
    assert.deepEqual((await shownOne(ben, long)).summary, before);
  });

  test('is not shown to another account, nor under an unknown id', async () => {
    const id = await requestApproval(ana);
    const other = await service.newAccount();
    await joinAccount(ana, other, 'owner');
    for (const params of [{ account: other, id }, of('approval_00000000000000'), of('none')]) {
      const response = await ana.call(showApproval, { params });
      assert.deepEqual([response.status, response.json.code], [404, 'unknown_record']);
    }
  });

  test('is listed in a bounded number of bytes, however large the change is', async () => {
    const approvals = service.console.approvals;
    const value = '\u4e00'.repeat(LIMITS.summaryCharacters);
    const summary = Array.from({ length: 100 }, (_, line) => ({ name: `line ${line}`, value }));
    const call = { params: {}, body: '' };
    const request = { environment: 'production', action: 'key.create', summary, call } as const;
    let number = 0;
    const acting = { account, person: ana };
    for (; number < 25; number++) await run((transaction) => approvals.request(transaction, acting, request));
    const response = await ben.call(listApprovals, { params: { account } });
    assert.equal(response.json.approvals.length, number);
    const most = 3 * LIMITS.summaryCharactersListed + 1000;
    assert.ok(Buffer.byteLength(response.text) < number * most, `${Buffer.byteLength(response.text)}`);
    assert.ok(response.json.approvals.every(({ summary }: { summary: unknown[] }) => summary.length > 0));
  });

  test('is rejected immediately when it could not be executed', async () => {
    const body = { ...TRAITS, allow_list: [{ cidr: 'nowhere' }] };
    const response = await ana.call(createKey, { params: production(), body });
    assert.equal(response.json.field, 'allow_list[0].cidr');
    const params = { ...production(), id: 'key_00000000000000' };
    assert.equal((await ana.call(rotateKey, { params, body: { overlap_minutes: 1 } })).status, 404);
    assert.deepEqual(await listed(ana), []);
  });

  test('does not apply to the sandbox, to other accounts, or to the revocation of a key', async () => {
    const sandbox = await ana.call(createKey, { params: { account, environment: 'sandbox' }, body: TRAITS });
    assert.equal(sandbox.json.approval, null);
    const other = await newPerson(service, await service.newAccount(), 'owner');
    const [theirs] = await service.console.people.team.listMembershipsOf(other.id);
    const params = { account: theirs?.account ?? '', environment: 'production' };
    assert.equal((await other.call(createKey, { params, body: TRAITS })).json.approval, null);
    const { id } = await service.newKey(account, { environment: 'production' });
    assert.equal((await ana.call(revokeKey, { params: { ...production(), id } })).json.key.state, 'revoked');
  });

  test('is every call that is declared so', async () => {
    const dualControl = routes.map(({ dualControl }) => dualControl).filter((rule) => rule !== undefined);
    assert.deepEqual(dualControl.sort(), [
      'account.settings',
      'key.create',
      'key.edit',
      'key.rotate',
      'payment.capture',
      'payment.refund',
      'payment.resolve',
      'payment.void',
      'proxy.configure',
      'proxy.remove',
      'team.change-role',
      'team.invite',
      'team.reset',
      'token.delete',
      'webhook.create',
      'webhook.edit',
      'webhook.rotate',
    ]);
  });
});

describe('a decision', () => {
  test('is decided by another user than the requester', async () => {
    const id = await requestApproval(ana);
    for (const verdict of [approve, decline]) {
      const response = await ana.call(verdict, { params: of(id) });
      assert.deepEqual([response.status, response.json.code], [403, 'not_allowed']);
    }
    assert.equal((await listed(ana))[0].status, 'waiting');
  });

  test('is made once', async () => {
    const id = await requestApproval(ana);
    const responses = await Promise.all([approve, decline].map((verdict) => ben.call(verdict, { params: of(id) })));
    assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 409]);
  });

  test('is not made by a user who loses the right just before its commit', async () => {
    const id = await requestApproval(ana);
    const response = await beforeCommitTo(
      'update approvals',
      (transaction) => service.console.people.team.changeRole(transaction, account, ben.id, 'auditor'),
      () => ben.call(approve, { params: of(id) }),
    );
    assert.deepEqual([response.status, response.json.code], [403, 'not_allowed'], response.text);
    assert.equal((await listed(ana))[0].status, 'waiting');
  });

  test('that declines is final', async () => {
    const id = await requestApproval(ana);
    await ben.call(decline, { params: of(id) });
    const response = await ana.call(executeApproval, { params: of(id) });
    assert.deepEqual([response.status, response.json.code], [409, 'changed_meanwhile']);
    const [shown] = await listed(ana);
    assert.deepEqual([shown.status, shown.decided_by], ['declined', 'Ben']);
    assert.equal(await keysMade(), 0);
  });

  test('about a request of another account is unknown', async () => {
    const id = await requestApproval(ana);
    const stranger = await newPerson(service, await service.newAccount(), 'owner');
    const [theirs] = await service.console.people.team.listMembershipsOf(stranger.id);
    const params = { account: theirs?.account ?? '', id };
    for (const call of [approve, decline, withdrawApproval, executeApproval])
      assert.equal((await stranger.call(call, { params })).status, 404);
  });
});

describe('an execution', () => {
  test('requires the approval, and is only for the requester', async () => {
    const id = await requestApproval(ana);
    assert.equal((await ana.call(executeApproval, { params: of(id) })).status, 409);
    await ben.call(approve, { params: of(id) });
    const response = await ben.call(executeApproval, { params: of(id) });
    assert.deepEqual([response.status, response.json.code], [403, 'not_allowed']);
    assert.equal(await keysMade(), 0);
  });

  test('still requires the permission for the change itself', async () => {
    const id = await requestApproval(ben);
    await ana.call(approve, { params: of(id) });
    await run((transaction) => service.console.people.team.changeRole(transaction, account, ben.id, 'analyst'));
    assert.equal((await ben.call(executeApproval, { params: of(id) })).status, 403);
    await joinAccount(ben, await service.newAccount(), 'auditor');
    await run((transaction) => service.console.people.team.remove(transaction, account, ben.id));
    assert.equal((await ben.call(executeApproval, { params: of(id) })).status, 404);
    assert.equal(await keysMade(), 0);
  });

  test('is not valid with the approval of a user who may no longer approve', async () => {
    const id = await requestApproval(ana);
    await ben.call(approve, { params: of(id) });
    await run((transaction) => service.console.people.team.changeRole(transaction, account, ben.id, 'auditor'));
    assert.equal((await ana.call(executeApproval, { params: of(id) })).json.code, 'not_possible');
    assert.equal(await keysMade(), 0);
  });

  test('has no effect when the approver loses the right just before its commit', async () => {
    const id = await requestApproval(ana);
    await ben.call(approve, { params: of(id) });
    const response = await beforeCommitTo(
      'update approvals',
      (transaction) => service.console.people.team.changeRole(transaction, account, ben.id, 'auditor'),
      () => ana.call(executeApproval, { params: of(id) }),
    );
    assert.deepEqual([response.status, response.json.code], [400, 'not_possible'], response.text);
    assert.equal(await keysMade(), 0);
    assert.equal((await listed(ana))[0].status, 'done');
  });

  test('that fails is reported and final', async () => {
    const key = await service.newKey(account, { environment: 'production' });
    const params = { ...production(), id: key.id };
    const approval = await ana.call(editKey, { params, body: { ...TRAITS, revision: 1 } });
    const id = approval.json.approval;
    await ben.call(approve, { params: of(id) });
    await run((transaction) => service.core.accounts.editKey(transaction, key.id, { name: 'meanwhile' }));
    const response = await ana.call(executeApproval, { params: of(id) });
    assert.deepEqual([response.status, response.json.code], [409, 'changed_meanwhile']);
    assert.equal((await listed(ana))[0].status, 'done');
    assert.equal((await service.core.accounts.getKey(key.id)).name, 'meanwhile');
    const outcomes = (await recorded()).filter(({ action }) => action === 'approval.carried-out');
    assert.deepEqual(
      outcomes.map(({ outcome }) => outcome),
      ['changed_meanwhile'],
    );
  });

  test('of an edit applies and returns the approved change', async () => {
    const key = await service.newKey(account, { environment: 'production', name: 'old name' });
    const params = { ...production(), id: key.id };
    const body = { ...TRAITS, name: 'new name', allow_list: [{ cidr: '127.0.0.1' }], revision: 1 };
    const { json } = await ana.call(editKey, { params, body });
    const [shown] = await listed(ben);
    const lines = new Map(shown.summary.map(({ name, value }: { name: string; value: string }) => [name, value]));
    assert.deepEqual([lines.get('key'), lines.get('name')], ['old name', 'new name']);
    await ben.call(approve, { params: of(json.approval) });
    const response = await ana.call(executeApproval, { params: of(json.approval) });
    assert.equal(response.status, 200, response.text);
    assert.equal(response.json.result.key.name, 'new name');
    const list = await ana.call(listKeys, { params: production() });
    assert.equal(list.json.keys[0].name, 'new name');
  });
});

describe('a withdrawal', () => {
  test('is for the requester', async () => {
    const id = await requestApproval(ana);
    assert.equal((await ben.call(withdrawApproval, { params: of(id) })).status, 403);
    assert.equal((await ana.call(withdrawApproval, { params: of(id) })).status, 200);
    assert.equal((await ben.call(approve, { params: of(id) })).status, 404);
    assert.deepEqual(await listed(ana), []);
  });
});

describe('a stored request', () => {
  test('is sealed, and its change is erased once it is completed', async () => {
    const id = await requestApproval(ana, { ...TRAITS, name: 'a name that is sealed' });
    const storedRows = async () => {
      const [row] = await service.core.database.read('select record, call from approvals where id = ?', id);
      return [row?.['record'], row?.['call']].map((value) => (value ? Buffer.from(value as Uint8Array) : value));
    };
    for (const part of await storedRows()) assert.equal((part as Buffer).includes('a name that is sealed'), false);
    await ben.call(decline, { params: of(id) });
    assert.equal((await storedRows())[1], null);
  });

  test('applies to its change only, and nothing else is executed instead', async () => {
    const [id, other] = [await requestApproval(ana), await requestApproval(ana, { ...TRAITS, name: 'other' })];
    await ben.call(approve, { params: of(id) });
    const sql = 'update approvals set call = (select call from approvals where id = ?) where id = ?';
    await service.core.database.commit({ writes: [{ sql, rows: [[other, id]] }] });
    assert.equal((await ana.call(executeApproval, { params: of(id) })).status, 409);
    assert.equal(await keysMade(), 0);
  });

  test('counts toward a limit of bytes', async () => {
    const approvals = service.console.approvals;
    const call = { params: {}, body: 'x'.repeat(LIMITS.approvalCallCharacters) };
    const large = { environment: 'production', action: 'key.create', summary: [], call } as const;
    const acting = { account, person: ana };
    let count = 0;
    const one = async (): Promise<string> => {
      const id = await run((transaction) => approvals.request(transaction, acting, large));
      count++;
      return id;
    };
    const first = await one();
    const untilFull = async (): Promise<void> => {
      for (;;) await one();
    };
    await assert.rejects(untilFull(), { code: 'not_possible' });
    assert.equal(count, LIMITS.pendingApprovalBytesPerRequester / LIMITS.approvalCallCharacters);
    // Another user can still request.
    await run((transaction) => approvals.request(transaction, { account, person: ben }, large));
    await run((transaction) => approvals.withdraw(transaction, acting, first));
    await one();
  });

  test('cannot be approved by writing to the database', async () => {
    const id = await requestApproval(ana);
    const sql = "update approvals set status = 'approved', decided_by = ? where id = ?";
    await service.core.database.commit({ writes: [{ sql, rows: [[ben.id, id]] }] });
    assert.equal((await ana.call(executeApproval, { params: of(id) })).status, 404);
    assert.equal(await keysMade(), 0);
  });

  test('counts toward a limit of pending requests', async () => {
    for (const client of [ana, ben])
      for (let count = 0; count < LIMITS.pendingApprovals / 2; count++) await requestApproval(client);
    const cleo = await newPerson(service, account, 'owner', 'Cleo');
    const { status, json } = await cleo.call(createKey, { params: production(), body: TRAITS });
    assert.deepEqual([status, json.code], [400, 'not_possible']);
    assert.equal(json.message, 'Too many changes are waiting for approval.');
  });

  describe('of one user', () => {
    const call = { params: {}, body: '' };
    const refund = { environment: 'production', action: 'payment.refund', summary: [], call } as const;
    const requestRefund = (person: UserClient): Promise<string> =>
      run((transaction) => service.console.approvals.request(transaction, { account, person }, refund));

    test('counts toward a share of the pending requests, so that others can still request', async () => {
      const analyst = await newPerson(service, account, 'analyst');
      const first = await requestRefund(analyst);
      for (let count = 1; count < LIMITS.pendingApprovalsPerRequester; count++) await requestRefund(analyst);
      await assert.rejects(requestRefund(analyst), { code: 'not_possible', reason: 'tooManyOwnPendingApprovals' });
      await requestApproval(ana);
      await run((transaction) => service.console.approvals.withdraw(transaction, { account, person: analyst }, first));
      await requestRefund(analyst);
    });

    test('is withdrawn when the user is removed from the account', async () => {
      const analyst = await newPerson(service, account, 'analyst');
      const withdrawn = await requestRefund(analyst);
      const other = await requestApproval(ana);
      const removed = await ana.call(removeFromTeam, { params: { account, person: analyst.id } });
      assert.equal(removed.status, 200, removed.text);
      const ids = (await listed(ana)).map(({ id }: { id: string }) => id);
      assert.deepEqual(ids, [other]);
      const records = (await recorded()).filter(({ action }) => action === 'approval.withdrawn');
      assert.deepEqual(
        records.map(({ actor, targets }) => [actor.name, targets]),
        [['Ana', [`approval:${withdrawn}`]]],
      );
    });
  });

  test('counts toward a daily limit; all pending requests and the newest of the others are listed', async () => {
    const approvals = service.console.approvals;
    const acting = (person: UserClient) => ({ account, person });
    const request = () => run((transaction) => approvals.request(transaction, acting(ana), requested));
    const requested = {
      environment: 'production',
      action: 'key.create',
      summary: [],
      call: { params: {}, body: '' },
    } as const;
    const first = await request();
    for (let created = 1; created < LIMITS.approvalsPerDay; created++) {
      const id = await request();
      await run((transaction) => approvals.decide(transaction, acting(ben), id, 'declined'));
    }
    const response = await ana.call(createKey, { params: production(), body: TRAITS });
    assert.deepEqual([response.status, response.json.code], [429, 'rate_limited']);
    const shown: { id: string; status: string }[] = await listed(ana);
    assert.equal(shown.at(-1)?.id, first);
    assert.equal(shown.filter(({ status }) => status === 'declined').length, LIMITS.endedApprovalsListed);
  });

  test('contains the parsed members of the call, up to a number of characters', async () => {
    const size = async (): Promise<number> => {
      const rows = await service.core.database.read('select record from approvals where account = ?account', account);
      return rows.reduce((sum, { record }) => sum + (record as Uint8Array).length, 0);
    };
    const id = await requestApproval(ana, { ...TRAITS, junk: 'x'.repeat(100_000) });
    assert.ok((await size()) < 10_000);
    await ben.call(approve, { params: of(id) });
    assert.equal((await ana.call(executeApproval, { params: of(id) })).json.result.key.name, 'till');
    const note = 'n'.repeat(LIMITS.allowListNoteCharacters);
    const long = Array.from({ length: LIMITS.allowListEntries }, () => ({ cidr: '127.0.0.1', note }));
    const response = await ana.call(createKey, { params: production(), body: { ...TRAITS, allow_list: long } });
    assert.deepEqual([response.status, response.json.code], [400, 'not_possible']);
    assert.ok((await size()) < 10_000);
  });

  test('is in the audit log with each step', async () => {
    const id = await requestApproval(ana);
    await ben.call(approve, { params: of(id) });
    await ana.call(executeApproval, { params: of(id) });
    const steps = (await recorded()).filter(({ targets }) => targets?.includes(`approval:${id}`));
    assert.deepEqual(
      steps.map(({ action, actor, detail }) => [action, actor.name, detail.change]),
      [
        ['approval.requested', 'Ana', 'key.create'],
        ['approval.approved', 'Ben', 'key.create'],
        ['approval.carried-out', 'Ana', 'key.create'],
      ],
    );
  });
});

describe('the setting of dual control', () => {
  const set = (client: UserClient, isOn: boolean) =>
    client.call(setDualControl, { params: { account }, body: { dual_control: isOn } });

  test('is disabled under dual control', async () => {
    const approval = await set(ana, false);
    assert.deepEqual([typeof approval.json.approval, approval.json.result], ['string', null]);
    assert.equal((await service.core.accounts.get(account)).dualControl, true);
    await ben.call(approve, { params: of(approval.json.approval) });
    const response = await ana.call(executeApproval, { params: of(approval.json.approval) });
    assert.deepEqual(response.json, { action: 'account.settings', result: { dual_control: false } });
    assert.equal((await service.core.accounts.get(account)).dualControl, false);
    const [event] = (await recorded()).filter(({ action }) => action === 'account.edited').slice(-1);
    assert.deepEqual([event?.actor.name, event?.detail], ['Ana', { dual_control: 'no' }]);
  });

  test('is enabled immediately, when two users can decide', async () => {
    await run((transaction) => service.core.accounts.setDualControl(transaction, account, false));
    await run((transaction) => service.console.people.team.changeRole(transaction, account, ben.id, 'analyst'));
    const alone = await set(ana, true);
    assert.deepEqual([alone.status, alone.json.code], [400, 'not_possible']);
    await run((transaction) => service.console.people.team.changeRole(transaction, account, ben.id, 'developer'));
    assert.deepEqual((await set(ana, true)).json, { approval: null, result: { dual_control: true } });
    assert.equal((await service.core.accounts.get(account)).dualControl, true);
  });
});

describe('an approval request after a day', () => {
  test('has expired, and its change is erased', async () => {
    const id = await requestApproval(ana);
    await ben.call(approve, { params: of(id) });
    const isForgotten = async (): Promise<boolean> => {
      const [row] = await service.core.database.read('select call from approvals where id = ?', id);
      return row?.['call'] === null;
    };
    assert.equal(await isForgotten(), false);
    service.advance(DAY);
    const late = await signIn(ana);
    const shown = async () => (await late.call(listApprovals, { params: { account } })).json.approvals[0];
    assert.equal((await shown()).status, 'expired');
    assert.equal((await late.call(executeApproval, { params: of(id) })).status, 409);
    assert.equal((await late.call(withdrawApproval, { params: of(id) })).status, 409);
    const approvals = service.console.approvals;
    while ((await approvals.sweep(service.now())) > 0);
    assert.equal((await shown()).status, 'expired');
    assert.equal(await isForgotten(), true);
    assert.equal(await keysMade(), 0);
    service.advance(90 * DAY);
    while ((await approvals.sweep(service.now())) > 0);
    assert.deepEqual(await service.core.database.read('select id from approvals'), []);
  });
});

async function recorded() {
  const rows = await service.core.database.read(
    'select record from journal where account = ?account order by lane, sequence',
    account,
  );
  // biome-ignore lint/suspicious/noExplicitAny: records of every shape
  return rows.map((row) => JSON.parse(String(row['record'])) as any);
}
