import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { listAudit } from '../../console/wire/audit.ts';
import { deleteCapture, listCaptures, showCapture } from '../../console/wire/records.ts';
import { MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { CAPTURES, capture, dataOf, newCaller, TIME, VISA } from '../interface/vault-requests.ts';
import { type AccountUser, assertRefused, assertUnknown, newAccountUser, successData } from './account-user.ts';

describe('captures in the console', { timeout: 120_000 }, () => {
  let service: TestService;
  let desk: AccountUser;
  let id: string;

  /** Sent as text, so that numbers come as they are written here. */
  const INFO = `{"order":12345678901234567890,"price":10.50,"note":"card ${VISA}"}`;

  before(async () => {
    service = await startTestService();
    const caller = await newCaller(service);
    desk = await newAccountUser(service, caller.account);
    const body = JSON.stringify(capture()).replace('"additional_info":{}', `"additional_info":${INFO}`);
    id = dataOf(await caller.send('POST', CAPTURES, body)).id;
  });
  after(() => service.stop());

  const all = async (of: AccountUser): Promise<string[]> =>
    successData(await of.call(listCaptures, { body: {} })).captures.map((each: { id: string }) => each.id);

  test('a capture is shown without its card number and security code', async () => {
    const { captures, next } = successData(await desk.call(listCaptures, { body: {} }));
    assert.equal(next, null);
    const [{ created_at, expires_at, ...rest }] = captures;
    assert.match(created_at, TIME);
    assert.equal(Date.parse(expires_at) - Date.parse(created_at), 60 * MINUTE);
    const expected = { id, card: '411111******1111', has_sad: true, amount: 12500, currency: 'USD' };
    assert.deepEqual(rest, { ...expected, is_altered: false });
  });

  test('additional information of the merchant is shown as it was sent, with card numbers truncated', async () => {
    const response = await desk.call(showCapture, { params: { id } });
    const { additional_info: text } = successData(response);
    const lines = [
      '{',
      '  "order": 12345678901234567890,',
      '  "price": 10.50,',
      '  "note": "card 411111******1111"',
      '}',
    ];
    assert.equal(text, lines.join('\n'));
    assert.ok(!response.text.includes(VISA));
  });

  test('captures are found by id, currency, time, last four and status, and an invalid filter names its field', async () => {
    const found = async (body: object): Promise<string[]> =>
      successData(await desk.call(listCaptures, { body })).captures.map((each: { id: string }) => each.id);
    const later = new Date(service.now() + MINUTE).toISOString();
    for (const body of [{ id }, { currency: 'usd' }, { last_four: '1111' }, { status: 'with-sad' }, { to: later }])
      assert.deepEqual(await found(body), [id], JSON.stringify(body));
    for (const body of [
      { id: VISA },
      { currency: 'EUR' },
      { last_four: '4242' },
      { status: 'altered' },
      { from: later },
    ])
      assert.deepEqual(await found(body), [], JSON.stringify(body));
    for (const [field, sent] of [
      ['status', VISA],
      ['last_four', VISA],
      ['from', '31.12.2026'],
    ] as const)
      assertRefused(await desk.call(listCaptures, { body: { [field]: sent } }), 'invalid_field', field, sent);
  });

  test('a capture without additional information has none', async () => {
    const caller = await newCaller(service);
    const other = await newAccountUser(service, caller.account);
    const shown = successData(await other.call(showCapture, { params: { id: await caller.capture() } }));
    assert.equal(shown.additional_info, null);
  });

  test('an expired capture is not found', async () => {
    const caller = await newCaller(service);
    const other = await newAccountUser(service, caller.account);
    const short = await caller.capture({ ttl: 1 });
    assert.deepEqual(await all(other), [short]);
    service.advance(MINUTE);
    assert.deepEqual(await all(other), []);
    assertUnknown(await other.call(showCapture, { params: { id: short } }));
  });

  test('a record that was changed in the database is listed as altered, cannot be shown, and can be deleted', async () => {
    const caller = await newCaller(service);
    const other = await newAccountUser(service, caller.account);
    const damaged = await caller.capture();
    await service.core.database.commit({
      writes: [{ sql: 'update captures set amount = 1 where account = ?account', rows: [[caller.account]] }],
    });
    const [shown] = successData(await other.call(listCaptures, { body: {} })).captures;
    assert.deepEqual([shown.is_altered, shown.card], [true, null]);
    assertRefused(await other.call(showCapture, { params: { id: damaged } }), 'not_possible');
    successData(await other.call(deleteCapture, { params: { id: damaged } }));
    assert.deepEqual(await all(other), []);
  });

  test('a capture of another account, of the other environment, or that never existed is unknown, and remains', async () => {
    const stranger = await newAccountUser(service, await service.newAccount());
    for (const definition of [showCapture, deleteCapture]) {
      assertUnknown(
        await stranger.call(definition, { params: { id } }),
        await stranger.call(definition, { params: { id, account: desk.account } }),
        await desk.call(definition, { params: { id, environment: 'production' } }),
        await desk.call(definition, { params: { id: VISA } }),
      );
    }
    assert.ok((await all(desk)).includes(id));
  });

  test('deletion requires the second factor, and is audited with the user', async () => {
    const caller = await newCaller(service);
    const other = await newAccountUser(service, caller.account);
    const own = await caller.capture();
    service.advance(6 * MINUTE);
    assertRefused(await other.call(deleteCapture, { params: { id: own } }), 'step_up_required');
    await other.person.stepUp();
    assert.deepEqual(successData(await other.call(deleteCapture, { params: { id: own } })), { done: true });
    assertUnknown(await other.call(deleteCapture, { params: { id: own } }));
    const { records } = successData(
      await other.call(listAudit, { body: { target: `capture:${own}`, outcome: 'success' } }),
    );
    assert.deepEqual(
      records.map(({ action, actor_id }: { action: string; actor_id: string }) => [action, actor_id]),
      [['capture.deleted', other.person.id]],
    );
  });

  test('the oldest are listed first on request, page by page', async () => {
    const caller = await newCaller(service);
    const other = await newAccountUser(service, caller.account);
    const created: string[] = [];
    for (let count = 0; count < LIMITS.recordsPerPage + 5; count++) {
      created.push(await caller.capture());
      service.advance(1);
    }
    const list = async (body: object) => successData(await other.call(listCaptures, { body }));
    const idsIn = (page: { captures: { id: string }[] }) => page.captures.map((each) => each.id);
    const first = await list({ order: 'oldest' });
    const second = await list({ order: 'oldest', cursor: first.next });
    assert.deepEqual([first.count, second.next], [{ number: LIMITS.recordsPerPage + 5, is_more: false }, null]);
    assert.deepEqual([...idsIn(first), ...idsIn(second)], created);
    const newest = await list({ order: 'newest' });
    assert.deepEqual(idsIn(newest), created.toReversed().slice(0, LIMITS.recordsPerPage));
    assertRefused(await other.call(listCaptures, { body: { order: VISA } }), 'invalid_field', 'order', VISA);
  });

  test('a malformed cursor is reported with its field', async () => {
    assertRefused(await desk.call(listCaptures, { body: { cursor: VISA } }), 'invalid_field', 'cursor', VISA);
  });
});
