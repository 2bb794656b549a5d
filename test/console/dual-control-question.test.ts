import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { answerDualControlQuestion, setDualControl, showDualControlQuestion } from '../../console/wire/approvals.ts';
import type { Permission } from '../../src/accounts/permission.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { assertRefused, successData } from './account-user.ts';
import { joinAccount, newPerson, type UserClient } from './console-client.ts';

/**
 * Once a second user may approve changes, the owner is asked whether changes in production require two-person approval.
 */

let service: TestService;
let account: string;
let ana: UserClient;
let ben: UserClient;

before(async () => {
  service = await startTestService();
  const first = await service.newAccount();
  ana = await newPerson(service, first, 'owner', 'Ana');
  ben = await newPerson(service, first, 'developer', 'Ben');
});
beforeEach(async () => {
  account = await service.newAccount();
  await joinAccount(ana, account, 'owner');
  await ana.stepUp();
});
after(() => service.stop());

const params = () => ({ params: { account } });
const question = async () => successData(await ana.call(showDualControlQuestion, params()));
const response = (isOn: boolean) => ana.call(answerDualControlQuestion, { ...params(), body: { dual_control: isOn } });
const key = (...permissions: Permission[]) => service.newKey(account, { environment: 'production', permissions });
const isOn = async () => (await service.core.accounts.get(account)).dualControl;

async function edits() {
  const rows = await service.core.database.read('select record from journal where account = ?account', account);
  const records = rows.map((row) => JSON.parse(String(row['record'])));
  return records.filter(({ action }) => action === 'account.edited');
}

describe('the question about two-person approval in production', () => {
  test('is shown once a second user may approve, to owners only', async () => {
    assert.deepEqual(await question(), { is_asked: false, is_recommended: false });
    assertRefused(await response(true), 'changed_meanwhile');
    await joinAccount(ben, account, 'auditor');
    assert.equal((await question()).is_asked, false);
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.console.people.team.changeRole(transaction, account, ben.id, 'developer'),
    );
    assert.deepEqual(await question(), { is_asked: true, is_recommended: false });
    assertRefused(await ben.call(showDualControlQuestion, params()), 'not_allowed');
    assertRefused(
      await ben.call(answerDualControlQuestion, { ...params(), body: { dual_control: false } }),
      'not_allowed',
    );
  });

  test('recommends yes while a valid key may read cards', async () => {
    await joinAccount(ben, account, 'developer');
    await key('tokens:create', 'captures:inspect');
    assert.equal((await question()).is_recommended, false);
    const { id } = await key('tokens:detokenize');
    assert.equal((await question()).is_recommended, true);
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.core.accounts.revokeKey(transaction, id),
    );
    assert.equal((await question()).is_recommended, false);
    await key('captures:retrieve');
    assert.equal((await question()).is_recommended, true);
  });

  test('is answered with yes, recorded, and not repeated', async () => {
    await joinAccount(ben, account, 'owner');
    successData(await response(true));
    assert.equal(await isOn(), true);
    assert.deepEqual(await question(), { is_asked: false, is_recommended: false });
    const [record, ...others] = await edits();
    assert.deepEqual([record.actor.id, record.detail, others], [ana.id, { dual_control: 'yes' }, []]);
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.core.accounts.setDualControl(transaction, account, false),
    );
    assert.equal((await question()).is_asked, false);
  });

  test('is answered with no, recorded, and not repeated', async () => {
    await joinAccount(ben, account, 'owner');
    successData(await response(false));
    assert.equal(await isOn(), false);
    assert.equal((await question()).is_asked, false);
    assertRefused(await response(true), 'changed_meanwhile');
    const [record] = await edits();
    assert.deepEqual([record.actor.id, record.detail], [ana.id, { dual_control: 'no' }]);
  });

  test('is also answered by the setting', async () => {
    await joinAccount(ben, account, 'owner');
    successData(await ana.call(setDualControl, { ...params(), body: { dual_control: true } }));
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.core.accounts.setDualControl(transaction, account, false),
    );
    assert.equal((await question()).is_asked, false);
  });
});
