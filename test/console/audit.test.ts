import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { acquireAuditRead, withVerificationLock } from '../../console/server/audit-read-limit.ts';
import {
  exportAudit,
  exportServiceAudit,
  listAudit,
  listServiceAudit,
  verifyAudit,
  verifyServiceAudit,
} from '../../console/wire/audit.ts';
import { showSession } from '../../console/wire/session.ts';
import { CheckpointWriter } from '../../src/audit/checkpoints.ts';
import { formatExportedRecord } from '../../src/audit/export-format.ts';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { HOUR, MINUTE } from '../../src/kernel/clock.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { formatReason } from '../../src/kernel/reasons.ts';
import { write } from '../../src/storage/database.ts';
import { startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { newCaller, VISA } from '../interface/vault-requests.ts';
import { type AccountUser, assertRefused, assertUnknown, newAccountUser, successData } from './account-user.ts';
import { newPerson, pathOf, type UserClient } from './console-client.ts';

interface Shown {
  readonly action: string;
  readonly outcome: string;
}

describe('the audit log in the console', { timeout: 120_000 }, () => {
  let service: TestService;
  let desk: AccountUser;
  let operator: UserClient;
  let keyId: string;
  let captureId: string;
  const start = { at: 0 };

  before(async () => {
    service = await startTestService();
    start.at = service.now();
    const caller = await newCaller(service, { name: 'checkout' });
    keyId = caller.keyId;
    captureId = await caller.capture({ ttl: 600 });
    service.advance(HOUR);
    desk = await newAccountUser(service, caller.account);
    operator = await newPerson(service, '', 'operator');
    await caller.send('DELETE', `/transactions/requests/${captureId}/`);
  });
  after(() => service.stop());

  const records = async (body: object = {}) => successData(await desk.call(listAudit, { body })).records;
  const actions = async (body: object): Promise<string[]> => (await records(body)).map(({ action }: Shown) => action);

  test('a record states actor, action, targets, address and time', async () => {
    const [deleted] = await records({ action: 'capture.deleted' });
    const { lane, sequence, at, address, request_id, hash, ...rest } = deleted;
    assert.ok(lane >= 1 && sequence >= 1);
    assert.ok(Date.parse(at) >= start.at + HOUR);
    assert.equal(address, '127.0.0.1');
    assert.ok(request_id.length > 8);
    assert.match(hash, /^[0-9a-f]{64}$/);
    assert.deepEqual(rest, {
      environment: 'sandbox',
      action: 'capture.deleted',
      outcome: 'success',
      actor_type: 'key',
      actor_id: keyId,
      actor_name: 'checkout',
      actor_source: null,
      targets: [`capture:${captureId}`],
      detail: [],
    });
  });

  test('further details of a record are shown as text', async () => {
    const details = (await records()).flatMap(({ detail }: { detail: { name: string; value: string }[] }) => detail);
    assert.ok(details.length > 0);
    for (const { name, value } of details) assert.deepEqual([typeof name, typeof value], ['string', 'string']);
  });

  test('each filter finds the matching records, and no others', async () => {
    const all = await actions({});
    assert.equal(
      all.find((action) => action !== 'audit.read'),
      'capture.deleted',
    );
    const middle = new Date(start.at + HOUR / 2).toISOString();
    assert.deepEqual(await actions({ action: 'capture.' }), ['capture.deleted']);
    assert.deepEqual(await actions({ actor: 'checkout' }), ['capture.deleted']);
    assert.deepEqual(await actions({ actor: keyId }), ['capture.deleted']);
    assert.deepEqual(await actions({ actor: 'check' }), []);
    assert.deepEqual(await actions({ target: `capture:${captureId}` }), ['capture.deleted']);
    assert.deepEqual(await actions({ target: captureId }), []);
    assert.deepEqual(await actions({ environment: 'production' }), []);
    assert.ok((await actions({ environment: 'none' })).includes('account.created'));
    assert.ok(!(await actions({ environment: 'none' })).includes('capture.deleted'));
    assert.deepEqual(await actions({ from: middle, action: 'capture.deleted' }), ['capture.deleted']);
    assert.ok(!(await actions({ to: middle })).includes('capture.deleted'));
    assert.deepEqual(await actions({ outcome: 'missing' }), []);
  });

  test('an invalid filter is reported with its field, and not repeated', async () => {
    const wrong: readonly [string, string, object][] = [
      ['action', VISA, { action: VISA }],
      ['action', 'captur.', { action: 'captur.' }],
      ['environment', VISA, { environment: VISA }],
      ['from', 'yesterday', { from: 'yesterday' }],
      ['to', '2026-13-01', { to: '2026-13-01' }],
      ['cursor', VISA, { cursor: VISA }],
    ];
    for (const [field, sent, body] of wrong) {
      assertRefused(await desk.call(listAudit, { body }), 'invalid_field', field, sent);
      const params = { account: desk.account };
      const response = await operator.call(listServiceAudit, { body: { ...body, ...params } });
      assertRefused(response, 'invalid_field', field, sent);
    }
  });

  test('pages cover all records', async () => {
    const caller = await newCaller(service);
    for (let count = 0; count < LIMITS.recordsPerPage + 10; count++)
      await caller.send('DELETE', '/transactions/requests/none/');
    const other = await newAccountUser(service, caller.account);
    const first = successData(await other.call(listAudit, { body: {} }));
    const second = successData(await other.call(listAudit, { body: { cursor: first.next } }));
    assert.equal(first.records.length, LIMITS.recordsPerPage);
    assert.ok(Date.parse(first.searched_back_to) <= Date.parse(first.records.at(-1).at));
    assert.deepEqual([second.next, second.searched_back_to], [null, null]);
    const positions = [...first.records, ...second.records].map(({ lane, sequence }) => `${lane} ${sequence}`);
    assert.equal(new Set(positions).size, positions.length);
    assert.deepEqual([first.count, second.count], [{ number: positions.length, is_more: false }, null]);
    const filtered = successData(await other.call(listAudit, { body: { outcome: 'missing' } }));
    assert.deepEqual([filtered.records.length, filtered.count], [LIMITS.recordsPerPage, null]);
    assert.equal(second.records.at(-1).action, 'account.created');
  });

  test('an account sees its records, and operators those of the service or of one account', async () => {
    const stranger = await newAccountUser(service, await service.newAccount());
    assertUnknown(
      await stranger.call(listAudit, { params: { account: desk.account }, body: {} }),
      await stranger.call(verifyAudit, { params: { account: desk.account } }),
      await stranger.call(exportAudit, { params: { account: desk.account } }),
    );
    assert.ok(
      !successData(await stranger.call(listAudit, { body: {} })).records.some(
        ({ action }: Shown) => action === 'capture.deleted',
      ),
    );
    const listed = async (body: object): Promise<string[]> =>
      successData(await operator.call(listServiceAudit, { body })).records.map(({ action }: Shown) => action);
    const own = await listed({});
    assert.ok(own.includes('service.initialised') && !own.includes('capture.deleted'));
    assert.deepEqual(await listed({ account: desk.account }), await actions({}));
    assertUnknown(await operator.call(listServiceAudit, { body: { account: 'acct_none' } }));
    for (const definition of [listServiceAudit, verifyServiceAudit, exportServiceAudit])
      assertRefused(await desk.call(definition, { body: {} }), 'not_allowed');
  });

  test('the export is a file with the output of the command line', async () => {
    /** Compares an export with the log, which has the record of its end since. */
    const assertExported = async ({ text }: TestResponse, account?: string): Promise<void> => {
      const links = await Array.fromAsync(exportJournal(service.core.database, account));
      const lines = links.map((link) => `${formatExportedRecord(link)}\n`);
      assert.equal(text, lines.filter((line) => text.includes(line)).join(''));
      const added = lines.filter((line) => !text.includes(line));
      // The record may be the first one of its chain in this lane.
      assert.ok(
        added.every((line) => /records\.export-ended|journal\.opened/.test(line)),
        added.join(''),
      );
    };
    const day = new Date(service.now()).toISOString().slice(0, 10);
    const own = await desk.call(exportAudit);
    assert.equal(own.status, 200);
    assert.equal(own.headers['content-type'], 'application/x-ndjson; charset=utf-8');
    assert.equal(own.headers['content-disposition'], `attachment; filename="audit-${desk.account}-${day}.ndjson"`);
    await assertExported(own, desk.account);
    assert.ok(own.text.includes('capture.deleted'));
    const all = await operator.call(exportServiceAudit);
    assert.equal(all.headers['content-disposition'], `attachment; filename="audit-service-${day}.ndjson"`);
    await assertExported(all);
    const one = await operator.call(exportServiceAudit, { query: { account: desk.account } });
    await assertExported(one, desk.account);
  });

  const seenIn = async (account: string): Promise<string[]> =>
    (
      await service.core.database.read(
        'select record from journal where account = ?account order by at, sequence',
        account,
      )
    )
      .map(({ record }) => JSON.parse(String(record)))
      .filter(({ action }) => action === 'audit.read' || action === 'audit.exported')
      .map(({ action, actor, detail }) => `${actor.id} ${action} ${detail.of} ${detail.filters ?? '-'}`);

  test('every read is recorded: once in five minutes, for any number of pages', async () => {
    const caller = await newCaller(service);
    for (let count = 0; count < LIMITS.recordsPerPage + 10; count++)
      await caller.send('DELETE', '/transactions/requests/none/');
    const { account } = caller;
    const auditor = await newAccountUser(service, account, { role: 'auditor' });
    const owner = await newAccountUser(service, account);
    const readLog = async (body: object = {}, as = auditor) => successData(await as.call(listAudit, { body }));
    const { records, next } = await readLog();
    assert.equal(records[0].action, 'audit.read', 'before the page is read');
    await readLog();
    await readLog({ cursor: next });
    const line = (who: AccountUser, filters: string): string => `${who.person.id} audit.read ${account} ${filters}`;
    assert.deepEqual(await seenIn(account), [line(auditor, '-')]);
    await readLog({}, owner);
    for (let count = 0; count < 2; count++) await readLog({ outcome: 'missing', actor: VISA });
    await readLog({ outcome: 'success', actor: 'another actor' });
    const each = [line(auditor, '-'), line(owner, '-'), line(auditor, 'actor outcome'), line(auditor, 'actor outcome')];
    assert.deepEqual(await seenIn(account), each, 'other values are another read');
    service.advance(5 * MINUTE);
    await readLog({ cursor: next });
    await readLog();
    assert.deepEqual(await seenIn(account), [...each, line(auditor, '-')]);
  });

  test('the oldest records are listed first on request, which is no filter', async () => {
    const caller = await newCaller(service);
    for (let count = 0; count < LIMITS.recordsPerPage + 10; count++)
      await caller.send('DELETE', '/transactions/requests/none/');
    const { account } = caller;
    const auditor = await newAccountUser(service, account, { role: 'auditor' });
    const list = async (body: object) => successData(await auditor.call(listAudit, { body }));
    const first = await list({ order: 'oldest' });
    assert.equal(first.records[0].action, 'account.created');
    const second = await list({ order: 'oldest', cursor: first.next });
    const all = [...first.records, ...second.records];
    assert.deepEqual([all.length, second.next], [first.count.number, null]);
    const newest = await list({});
    const rest = await list({ cursor: newest.next });
    const keysOf = (records: { lane: number; sequence: number }[]) =>
      records.map((each) => `${each.lane}/${each.sequence}`).sort();
    assert.deepEqual(keysOf(all), keysOf([...newest.records, ...rest.records]));
    const times = all.map(({ at }: { at: string }) => at);
    assert.deepEqual(times, times.toSorted());
    assert.deepEqual(await seenIn(account), [`${auditor.person.id} audit.read ${account} -`]);
    const served = successData(await operator.call(listServiceAudit, { body: { account, order: 'oldest' } }));
    assert.equal(served.records[0].action, 'account.created');
  });

  test('reads by operators are recorded in the log of the account too, and reads of an unknown account nowhere', async () => {
    const account = await service.newAccount();
    const readLog = async (body: object) => successData(await operator.call(listServiceAudit, { body }));
    const exported = async (query: Record<string, string>): Promise<string> =>
      String((await operator.call(exportServiceAudit, { query })).headers['content-disposition']);
    await readLog({ account });
    await exported({ account });
    for (const odd of [VISA, 'acct_none', 'a"; filename=ü']) {
      const refused = await operator.call(exportServiceAudit, { query: { account: odd } });
      assertUnknown(refused);
      assert.equal(refused.headers['content-disposition'], undefined);
    }
    assertUnknown(await operator.call(listServiceAudit, { body: { account: VISA, target: VISA } }));
    await exported({});
    const own = (what: string): string => `${operator.id} ${what}`;
    assert.deepEqual(await seenIn(account), [own(`audit.read ${account} -`), own(`audit.exported ${account} -`)]);
    const inService = (await seenIn('')).filter((line) => line.startsWith(operator.id)).slice(-3);
    assert.deepEqual(inService, [
      own(`audit.read ${account} -`),
      own(`audit.exported ${account} -`),
      own('audit.exported everything -'),
    ]);
    const all = await service.core.database.read('select record from journal');
    assert.ok(!JSON.stringify(all).includes(VISA));
  });

  test('a user has few reads in progress, and may start the next when one has completed', async () => {
    const [auditor, other] = await Promise.all(
      [1, 2].map(() => newAccountUser(service, desk.account, { role: 'auditor' })),
    );
    assert.ok(auditor !== undefined && other !== undefined);
    const { core } = service;
    const one = { services: { database: core.database }, person: { id: auditor.person.id } };
    const ends = Array.from({ length: LIMITS.auditReadsPerUser }, () => acquireAuditRead(one as never));
    const statuses = (who: AccountUser): Promise<number[]> =>
      Promise.all(
        [listAudit, exportAudit, verifyAudit].map(async (each) => (await who.call(each, { body: {} })).status),
      );
    assert.deepEqual(await statuses(auditor), [429, 429, 429]);
    assert.deepEqual(await statuses(other), [200, 200, 200]);
    for (const end of ends.slice(0, -1)) end();
    for (let read = 0; read < LIMITS.auditReadsPerUser; read++)
      assert.deepEqual(await statuses(auditor), [200, 200, 200]);
    ends.at(-1)?.();
  });

  test('one verification of a log runs at a time, and the next one when it has completed', async () => {
    const { database } = service.core;
    for (const account of ['acct_one', undefined]) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const busy = withVerificationLock(database, account, () => promise);
      await assert.rejects(
        withVerificationLock(database, account, () => assert.fail('a second one ran')),
        (error) => error instanceof Failure && error.code === 'unavailable' && error.reason === 'verificationRunning',
      );
      resolve();
      await busy;
      await assert.rejects(
        withVerificationLock(database, account, () => Promise.reject(new Error('broken'))),
        /broken/,
      );
      assert.equal(await withVerificationLock(database, account, () => Promise.resolve(7)), 7);
    }
  });

  test('verifications of other accounts delay neither those of an account nor those of operators', async () => {
    const { database } = service.core;
    const { promise, resolve } = Promise.withResolvers<void>();
    const verifyOther = (number: number) => withVerificationLock(database, `acct_${number}`, () => promise);
    const busy = Array.from({ length: LIMITS.verifiedAccounts - 1 }, (_, number) => verifyOther(number));
    assert.equal(successData(await desk.call(verifyAudit)).ok, true);
    busy.push(verifyOther(busy.length));
    assertRefused(await desk.call(verifyAudit), 'unavailable');
    assert.equal(successData(await operator.call(verifyServiceAudit)).ok, true);
    resolve();
    await Promise.all(busy);
    const all = withVerificationLock(database, undefined, () => desk.call(verifyAudit));
    assert.equal(successData(await all).ok, true);
  });

  test('a verification reports an intact log, and the position of the first fault', async () => {
    await new CheckpointWriter({ ...service.core, clock: service.now }, () => undefined).write();
    const good = successData(await desk.call(verifyAudit));
    assert.deepEqual([good.ok, good.fault], [true, null]);
    assert.ok(good.records >= (await records()).length);
    assert.ok(good.checkpoints > 0);
    assert.equal(successData(await operator.call(verifyServiceAudit)).ok, true);

    const setNumber = 'update audit_checkpoints set number = number + ?';
    await service.core.database.commit({ writes: [write(setNumber, [1000])] });
    for (const response of [await desk.call(verifyAudit), await operator.call(verifyServiceAudit)]) {
      const { ok, fault } = successData(response);
      assert.equal(ok, false);
      assert.match(fault === null ? '' : formatReason(fault), /^checkpoint 10[0-9]+: changed$/);
    }
    await service.core.database.commit({ writes: [write(setNumber, [-1000])] });
    assert.equal(successData(await desk.call(verifyAudit)).ok, true);

    await service.core.database.commit({
      writes: [
        {
          sql: "update journal set record = 'no JSON' where account = ?account and sequence = 1",
          rows: [[desk.account]],
        },
      ],
    });
    for (const response of [await desk.call(verifyAudit), await operator.call(verifyServiceAudit)]) {
      const { ok, fault } = successData(response);
      assert.equal(ok, false);
      assert.ok(fault !== null);
      assert.match(formatReason(fault), new RegExp(`account ${desk.account}, lane [0-9]+, record 1: changed`));
    }
    // The record is still listed and exported, so that it can be inspected.
    const changed = successData(await desk.call(listAudit, { body: { order: 'oldest' } })).records[0];
    assert.deepEqual([changed.sequence, changed.action, changed.actor_type], [1, '', 'unknown']);
    const { text } = await desk.call(exportAudit);
    assert.ok(text.includes('"record":"no JSON"'), text);
  });

  test('the polls of a page that stays open are one read', async () => {
    const { account, person, call } = await newAccountUser(service, await service.newAccount());
    const reads = [`${person.id} audit.read ${account} -`];
    const poll = async (): Promise<number> => {
      const path = pathOf(listAudit, { params: { account } });
      return (await person.send('POST', path, {}, { 'x-passive': '1' })).status;
    };
    successData(await call(listAudit, { body: {} }));
    for (let count = 0; count < 5; count++) {
      service.advance(3 * MINUTE);
      successData(await person.call(showSession));
      for (let again = 0; again < 3; again++) assert.equal(await poll(), 200);
    }
    assert.deepEqual(await seenIn(account), reads);
    successData(await call(listAudit, { body: {} }));
    assert.deepEqual(await seenIn(account), [...reads, ...reads], 'a read of the user is recorded again');
  });

  test('a read with other values that claims to be a poll is recorded as every read', async () => {
    const { account, person, call } = await newAccountUser(service, await service.newAccount());
    successData(await call(listAudit, { body: { actor: 'Ana' } }));
    const path = pathOf(listAudit, { params: { account } });
    for (const actor of ['Ana', 'Ben', 'Eva', 'Ben'])
      assert.equal((await person.send('POST', path, { actor }, { 'x-passive': '1' })).status, 200);
    const one = `${person.id} audit.read ${account} actor`;
    assert.deepEqual(await seenIn(account), [one, one, one]);
  });
});
