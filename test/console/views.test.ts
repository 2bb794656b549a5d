import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { removeFromTeam } from '../../console/wire/team.ts';
import { deleteView, listViews, renameView, saveView } from '../../console/wire/views.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { VISA } from '../interface/vault-requests.ts';
import { type AccountUser, assertRefused, assertUnknown, newAccountUser, successData } from './account-user.ts';
import { joinAccount, signIn } from './console-client.ts';

describe('saved views', { timeout: 120_000 }, () => {
  let service: TestService;
  let account: string;
  let owner: AccountUser;
  before(async () => {
    service = await startTestService();
    account = await service.newAccount();
    owner = await newAccountUser(service, account);
  });
  after(() => service.stop());

  const REFERENCE = 'order-of-somebody';
  const view = (name: string, list = 'payments') => ({
    body: {
      list,
      name,
      filters: [
        { name: 'status', value: 'Declined' },
        { name: 'reference_code', value: REFERENCE },
      ],
    },
  });
  const saved = async (of: AccountUser, name: string, list?: string) =>
    successData(await of.call(saveView, view(name, list))).view;
  const viewsOf = async (of: AccountUser) => successData(await of.call(listViews)).views;
  const stored = () => service.core.database.read('select * from saved_views where account = ?account', account);

  test('a view is found on another device, is renamed and deleted, and belongs to one member', async () => {
    const auditor = await newAccountUser(service, account, { role: 'auditor' });
    const own = await saved(auditor, 'Rechazos de ñandú');
    assert.deepEqual(await viewsOf(auditor), [own]);
    assert.deepEqual({ ...own, id: '' }, { id: '', ...view('Rechazos de ñandú').body });
    const device = await signIn(auditor.person);
    assert.deepEqual(successData(await device.call(listViews, { params: { account } })).views, [own]);
    const params = { id: own.id };
    assert.deepEqual(await viewsOf(owner), []);
    assertUnknown(
      await owner.call(renameView, { params, body: { name: 'x' } }),
      await owner.call(deleteView, { params }),
      await auditor.call(deleteView, { params: { id: 'view_none' } }),
    );
    const renamed = successData(await auditor.call(renameView, { params, body: { name: 'Declines' } })).view;
    assert.deepEqual(renamed, { ...own, name: 'Declines' });
    successData(await auditor.call(deleteView, { params }));
    assert.deepEqual(await viewsOf(auditor), []);
    assertUnknown(await auditor.call(deleteView, { params }));
  });

  test('what a view contains is sealed, and a view that was changed in the database is left out', async () => {
    const member = await newAccountUser(service, account);
    const [one, two] = [await saved(member, 'one view'), await saved(member, 'two')];
    assert.ok(!JSON.stringify(await stored()).includes(REFERENCE));
    for (const { record } of await stored())
      for (const text of [REFERENCE, 'one view']) assert.ok(!Buffer.from(record as Uint8Array).includes(text));
    const rows = [[one.id]];
    const swap =
      'update saved_views set record = (select record from saved_views other where other.id = ?) where id = ?';
    await service.core.database.commit({ writes: [{ sql: swap, rows: [[two.id, one.id]] }] });
    assert.deepEqual(await viewsOf(member), [two]);
    await service.core.database.commit({ writes: [{ sql: 'delete from saved_views where id = ?', rows }] });
  });

  test('names are unique in a list, and hold no card number, as filters', async () => {
    const member = await newAccountUser(service, account);
    const { id } = await saved(member, 'Mine');
    await saved(member, 'Mine', 'captures');
    assertRefused(await member.call(saveView, view('Mine')), 'invalid_field', 'name', 'Mine');
    await saved(member, 'Other');
    assertRefused(await member.call(renameView, { params: { id }, body: { name: 'Other' } }), 'invalid_field', 'name');
    assertRefused(await member.call(saveView, view(VISA)), 'invalid_field', 'name', VISA);
    const body = { list: 'payments', name: 'card', filters: [{ name: 'id', value: VISA }] };
    assertRefused(await member.call(saveView, { body }), 'invalid_field', 'filters[0].value', VISA);
    const named = { list: 'payments', name: 'card', filters: [{ name: VISA, value: 'x' }] };
    assertRefused(await member.call(saveView, { body: named }), 'invalid_field', 'filters[0].name', VISA);
    assertRefused(await member.call(saveView, view('x', 'nothing')), 'invalid_field', 'list');
  });

  test('a member has a limited number of views, whatever arrives at once', async () => {
    const member = await newAccountUser(service, account);
    for (let count = 0; count < LIMITS.savedViewsPerMember - 2; count++) await saved(member, `view ${count}`);
    const names = ['a', 'b', 'c', 'd'];
    const statuses = await Promise.all(names.map(async (name) => (await member.call(saveView, view(name))).status));
    assert.deepEqual(statuses.toSorted(), [200, 200, 400, 400]);
    assert.equal((await viewsOf(member)).length, LIMITS.savedViewsPerMember);
    await saved(owner, 'of another member');
  });

  test('views end with the membership', async () => {
    const member = await newAccountUser(service, account, { role: 'analyst' });
    const other = await service.newAccount();
    await joinAccount(member.person, other, 'analyst');
    await saved(member, 'here');
    successData(await member.call(saveView, { params: { account: other }, ...view('there') }));
    successData(await owner.call(removeFromTeam, { params: { person: member.person.id } }));
    assert.ok((await stored()).every(({ person }) => person !== member.person.id));
    const there = successData(await member.call(listViews, { params: { account: other } })).views;
    assert.deepEqual(
      there.map(({ name }: { name: string }) => name),
      ['there'],
    );
    assertUnknown(await member.call(listViews), await member.call(saveView, view('again')));
  });
});
