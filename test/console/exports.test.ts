import assert from 'node:assert/strict';
import { request } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { exportList } from '../../console/server/list-export.ts';
import type { AnyCall } from '../../console/server/route.ts';
import { exportLog } from '../../console/server/routes/audit-view.ts';
import {
  exportAccounts,
  exportAllRequests,
  exportAuditRecords,
  exportCaptures,
  exportPayments,
  exportRequests,
  exportServiceAuditRecords,
  exportTokens,
  exportUnknownOutcomes,
} from '../../console/wire/exports.ts';
import { listAccounts, listProcessors } from '../../console/wire/operator.ts';
import { listPayments } from '../../console/wire/payments.ts';
import { listCaptures, listTokens } from '../../console/wire/records.ts';
import { listAllRequests, listRequests } from '../../console/wire/request-log.ts';
import { MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { newMerchant, TIMES_OUT } from '../interface/payment-requests.ts';
import { cards, newCaller, VISA } from '../interface/vault-requests.ts';
import { type AccountUser, assertRefused, newAccountUser, successData } from './account-user.ts';
import { newPerson, pathOf } from './console-client.ts';

interface Ended {
  readonly rows: number;
  readonly limit: string | null;
}

/** The file of a response, and its last line. */
function fileOf(response: TestResponse): { file: string; end: Ended } {
  assert.equal(response.status, 200, response.text);
  const lines = response.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const end = lines.pop();
  return { file: lines.map(({ text }) => text).join(''), end };
}

const csvCells = (line: string): string[] =>
  [...line.matchAll(/"((?:[^"]|"")*)"/g)].map(([, cell = '']) => cell.replaceAll('""', '"'));

describe('exports of lists', { timeout: 180_000 }, () => {
  let service: TestService;

  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  /** The records of exports in the log of an account, without those before. */
  const recorded = async (account: string): Promise<{ action: string; outcome: string; detail: object }[]> => {
    const sql = 'select record from journal where account = ?account order by at, lane, sequence';
    return (await service.core.database.read(sql, account))
      .map(({ record }) => JSON.parse(String(record)))
      .filter(({ action }) => action.startsWith('records.'))
      .map(({ action, outcome, detail }) => ({ action, outcome, detail }));
  };

  test('a CSV file has the payments of the filter: decimals with their currency, UTC times, truncated cards', async () => {
    const own = await newMerchant(service);
    const user = await newAccountUser(service, own.account, { role: 'analyst' });
    const yen = await own.opened('payment', { amount: 700, currency: 'JPY', reference: '=HYPERLINK("http://x")' });
    const id = await own.opened('authorization', { reference: `ñ "1" ${VISA}` });
    const response = await user.call(exportPayments, { body: { format: 'csv', filter: { type: 'authorization' } } });
    const { file, end } = fileOf(response);
    assert.equal(response.headers['content-type'], 'application/x-ndjson; charset=utf-8');
    assert.deepEqual(end, { rows: 1, limit: null });
    const [head = '', row = '', last] = file.split('\r\n');
    assert.equal(last, '');
    const [shown] = successData(await user.call(listPayments, { body: { id } })).payments;
    assert.equal(head.charCodeAt(0), 0xfeff);
    const values = Object.fromEntries(csvCells(head.slice(1)).map((name, index) => [name, csvCells(row)[index]]));
    const { amount, currency, card, created_at, reference_code } = values;
    assert.deepEqual([amount, currency, card], ['125.50', 'USD', '411111******1111']);
    assert.equal(created_at, shown.created_at);
    assert.match(String(created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(reference_code, 'ñ "1" 411111******1111');
    assert.ok(!response.text.includes(VISA));
    const all = fileOf(await user.call(exportPayments, { body: { format: 'csv', filter: { id: yen } } }));
    assert.ok(all.file.includes(`"700","JPY"`) && all.file.includes(`"'=HYPERLINK(""http://x"")"`), all.file);
  });

  test('a JSON file has the rows of the list', async () => {
    const own = await newMerchant(service);
    const user = await newAccountUser(service, own.account);
    for (let count = 0; count < LIMITS.recordsPerPage + 5; count++) await own.opened();
    await own.order('authorization', { currency: 'MXN' });
    const filter = { currency: 'USD' };
    const first = successData(await user.call(listPayments, { body: filter }));
    const second = successData(await user.call(listPayments, { body: { ...filter, cursor: first.next } }));
    const { file, end } = fileOf(await user.call(exportPayments, { body: { format: 'json', filter } }));
    const sorted = (rows: object[]) => rows.map((row) => JSON.stringify(Object.entries(row).sort()));
    assert.deepEqual(sorted(JSON.parse(file)), sorted([...first.payments, ...second.payments]));
    assert.equal(end.rows, LIMITS.recordsPerPage + 5);
    const none = fileOf(await user.call(exportPayments, { body: { format: 'json', filter: { currency: 'EUR' } } }));
    assert.deepEqual([JSON.parse(none.file), none.end], [[], { rows: 0, limit: null }]);
  });

  test('tokens, captures and audit records are exported as their lists show them', async () => {
    const caller = await newCaller(service);
    await caller.tokenize({ ...cards([VISA]), tags: ['a', `of ${VISA}`] });
    await caller.capture();
    const user = await newAccountUser(service, caller.account, { role: 'auditor' });
    for (const [definition, list, name] of [
      [exportTokens, listTokens, 'tokens'],
      [exportCaptures, listCaptures, 'captures'],
    ] as const) {
      const response = await user.call(definition, { body: { format: 'json', filter: {} } });
      const rows = successData(await user.call(list, { body: {} }))[name];
      const exported = JSON.parse(fileOf(response).file);
      assert.equal(exported.length, 1);
      for (const [column, value] of Object.entries(exported[0])) assert.deepEqual(value, rows[0][column], column);
      assert.deepEqual(Object.keys(exported[0]).sort(), Object.keys(rows[0]).sort(), name);
      assert.ok(!response.text.includes(VISA));
    }
    const tags = fileOf(await user.call(exportTokens, { body: { format: 'csv', filter: {} } })).file;
    assert.ok(tags.includes('"a, of 411111******1111"'), tags);
    const filter = { action: 'account.' };
    const audit = fileOf(await user.call(exportAuditRecords, { body: { format: 'csv', filter } }));
    assert.equal(audit.end.rows, 1);
    assert.ok(audit.file.includes('"account.created","success"'));
  });

  test('requests are exported as their list shows them, with the name of the key', async () => {
    const caller = await newCaller(service, { name: 'checkout' });
    await caller.send('DELETE', '/transactions/requests/none/');
    const user = await newAccountUser(service, caller.account, { role: 'developer' });
    await eventually(async () => {
      service.advance(6 * SECOND);
      return successData(await user.call(listRequests, { body: {} })).requests.length === 1;
    });
    const [shown] = successData(await user.call(listRequests, { body: {} })).requests;
    const { file } = fileOf(await user.call(exportRequests, { body: { format: 'json', filter: { status: '4xx' } } }));
    const [{ key_id, key_name, ...exported }, ...more] = JSON.parse(file);
    assert.deepEqual([more.length, key_id, key_name], [0, caller.keyId, 'checkout']);
    for (const [name, value] of Object.entries(exported)) assert.deepEqual(value, shown[name], name);
  });

  test('who, what, how much and which filter is recorded, without what was searched for', async () => {
    const own = await newMerchant(service);
    const user = await newAccountUser(service, own.account);
    await own.opened();
    const filter = { currency: 'USD', from: '2020-01-01T00:00:00Z', reference_code: VISA };
    await user.call(exportPayments, { body: { format: 'csv', filter } });
    assert.deepEqual(await recorded(own.account), [
      {
        action: 'records.exported',
        outcome: 'success',
        detail: { list: 'payments', format: 'csv', filters: 'currency=USD from=2020-01-01T00:00:00Z reference_code' },
      },
      { action: 'records.export-ended', outcome: 'success', detail: { list: 'payments', rows: 0 } },
    ]);
    const all = await service.core.database.read('select record from journal where account = ?account', own.account);
    assert.ok(!JSON.stringify(all).includes(VISA));
  });

  test('a file has the order of its list, which the log names', async () => {
    const caller = await newCaller(service);
    const user = await newAccountUser(service, caller.account);
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) {
      ids.push(await caller.capture());
      await caller.tokenize(cards([VISA]));
      service.advance(SECOND);
    }
    const read = async (definition: typeof exportCaptures | typeof exportTokens | typeof exportAuditRecords) => {
      const body = { format: 'json', filter: { order: 'oldest' } };
      return JSON.parse(fileOf(await user.call(definition, { body })).file);
    };
    assert.deepEqual(
      (await read(exportCaptures)).map(({ id }: { id: string }) => id),
      ids,
    );
    for (const definition of [exportTokens, exportAuditRecords]) {
      const times = (await read(definition)).map((row: Record<string, string>) => row['created_at'] ?? row['at']);
      assert.ok(times.length > 2);
      assert.deepEqual(times, times.toSorted());
    }
    const filters = (await recorded(caller.account)).flatMap(({ detail }) => Object(detail).filters ?? []);
    assert.deepEqual(filters, ['order=oldest', 'order=oldest', 'order=oldest']);
  });

  describe('of operators', () => {
    const listed = (record: { detail: object }) => Object(record.detail).of;

    test('have what the lists of all accounts show, and are recorded in the log of the service', async () => {
      const operator = await newPerson(service, '', 'operator');
      const own = await newMerchant(service, { 'timeout-ms': '300', 'recovery-delay-ms': '30000' });
      await own.opened('authorization', { amount: TIMES_OUT, triggers: '_inquiry_timeout_always' });
      const before = (await recorded('')).length;
      const { accounts } = successData(await operator.call(listAccounts));
      const search = accounts[0].id.slice(-6).toUpperCase();
      const rowsOf = async (definition: Parameters<typeof operator.call>[0], filter: object) =>
        JSON.parse(fileOf(await operator.call(definition, { body: { format: 'json', filter } })).file);
      assert.deepEqual(await rowsOf(exportAccounts, {}), accounts);
      assert.deepEqual(await rowsOf(exportAccounts, { search }), accounts.slice(0, 1));
      const { in_doubt } = successData(await operator.call(listProcessors));
      assert.deepEqual(await rowsOf(exportUnknownOutcomes, {}), in_doubt);
      assert.ok(in_doubt.some(({ account }: { account: string }) => account === own.account));
      const end = { action: 'records.export-ended', outcome: 'success' };
      const records = (await recorded('')).slice(before);
      assert.deepEqual(records.slice(2, 4), [
        {
          action: 'records.exported',
          outcome: 'success',
          detail: { list: 'accounts', of: 'everything', format: 'json', filters: 'search' },
        },
        { ...end, detail: { list: 'accounts', of: 'everything', rows: 1 } },
      ]);
      assert.equal(records.length, 6);
      assert.deepEqual(records.map(listed), Array(6).fill('everything'));
    });

    test('have all payments with an unknown outcome, also beyond those that the list shows', async () => {
      const operator = await newPerson(service, '', 'operator');
      const own = await newMerchant(service, { 'timeout-ms': '300', 'recovery-delay-ms': '30000' });
      const id = await own.opened('authorization', { amount: TIMES_OUT, triggers: '_inquiry_timeout_always' });
      // All of them have the same time.
      const copy = `insert into payments
        (account, environment, id, processor, status, record, revision, attempts, created_at, in_doubt_since)
        select account, environment, ?, processor, status, record, 1, 0, created_at, in_doubt_since from payments
        where account = ?account and environment = 1 and id = ?`;
      const rows = Array.from({ length: 2 * LIMITS.inDoubtPaymentsListed }, (_, index) => [
        `${id}${index}`,
        own.account,
        id,
      ]);
      await service.core.database.commit({ writes: [{ sql: copy, rows }] });
      const { in_doubt, has_more_in_doubt } = successData(await operator.call(listProcessors));
      assert.deepEqual([in_doubt.length, has_more_in_doubt], [LIMITS.inDoubtPaymentsListed, true]);
      const response = await operator.call(exportUnknownOutcomes, { body: { format: 'json', filter: {} } });
      const { file, end } = fileOf(response);
      const exported: { id: string; account: string }[] = JSON.parse(file);
      assert.deepEqual(exported.slice(0, in_doubt.length), in_doubt);
      const ids = exported.filter(({ account }) => account === own.account).map((row) => row.id);
      assert.deepEqual(ids.toSorted(), [id, ...rows.map(([copied]) => copied)].toSorted());
      assert.deepEqual(end, { rows: exported.length, limit: null });
      const removal = { sql: 'delete from payments where account = ?account', rows: [[own.account]] };
      await service.core.database.commit({ writes: [removal] });
      assert.equal(successData(await operator.call(listProcessors)).has_more_in_doubt, false);
    });

    test('of logs have the records of one account, whose log shows the export, or those of none', async () => {
      const operator = await newPerson(service, '', 'operator');
      const caller = await newCaller(service);
      await caller.send('DELETE', '/transactions/requests/none/');
      const { account } = caller;
      await eventually(async () => {
        service.advance(6 * SECOND);
        return successData(await operator.call(listAllRequests, { body: { account } })).requests.length === 1;
      });
      const read = async (definition: Parameters<typeof operator.call>[0], filter: object) => {
        const { file } = fileOf(await operator.call(definition, { body: { format: 'csv', filter } }));
        return file.split('\r\n').slice(1, -1).map(csvCells);
      };
      const requests = await read(exportAllRequests, { account, environment: 'sandbox' });
      assert.deepEqual(
        requests.map(([first]) => first),
        [account],
      );
      const audit = await read(exportServiceAuditRecords, { account, action: 'account.created' });
      assert.deepEqual(
        audit.map(([, , action]) => action),
        ['account.created'],
      );
      const ofService = await read(exportServiceAuditRecords, { order: 'oldest', action: 'service.' });
      assert.equal(ofService[0]?.[2], 'service.initialised');
      assert.deepEqual(
        (await recorded(account)).map(({ action, detail }) => [action, Object(detail).filters ?? '-']),
        [
          ['records.exported', `account=${account} environment=sandbox`],
          ['records.export-ended', '-'],
          ['records.exported', `account=${account} action=account.created`],
          ['records.export-ended', '-'],
        ],
      );
      assert.deepEqual((await recorded(account)).map(listed), Array(4).fill(account));
      assert.deepEqual((await recorded('')).map(listed).slice(-6), [...Array(4).fill(account), 'service', 'service']);
    });

    test('of an account that does not exist are refused, and members have none', async () => {
      const operator = await newPerson(service, '', 'operator');
      const body = { format: 'csv', filter: { account: VISA } };
      for (const definition of [exportAllRequests, exportServiceAuditRecords])
        assert.equal((await operator.call(definition, { body })).status, 404);
      const member = await newAccountUser(service, await service.newAccount());
      const all = [exportAllRequests, exportServiceAuditRecords, exportAccounts, exportUnknownOutcomes];
      for (const definition of all)
        assertRefused(await member.call(definition, { body: { format: 'csv', filter: {} } }), 'not_allowed');
      const logs = await service.core.database.read(
        "select record from journal where record like '%records.exported%'",
      );
      assert.ok(!JSON.stringify(logs).includes(VISA));
    });
  });

  test('no filter brings a card number into the log', async () => {
    const own = await newMerchant(service);
    const user = await newAccountUser(service, own.account);
    const filters = [
      [exportPayments, { id: await own.opened(), currency: VISA, from: VISA, to: VISA }],
      [exportCaptures, { id: 'x', currency: VISA, from: VISA, to: VISA }],
      [exportRequests, { key: VISA, route: `/v1/${VISA}`, error: VISA }],
      [exportAuditRecords, { outcome: VISA }],
    ] as const;
    for (const [definition, filter] of filters)
      fileOf(await user.call(definition, { body: { format: 'csv', filter } }));
    const all = await service.core.database.read('select record from journal where account = ?account', own.account);
    assert.ok(!JSON.stringify(all).includes(VISA));
    const names = (await recorded(own.account)).flatMap(({ detail }) => ('filters' in detail ? [detail.filters] : []));
    assert.deepEqual(names, ['currency from id to', 'currency from id to', 'error key route', 'outcome']);
  });

  test('an invalid filter is reported with its field, and nothing is recorded', async () => {
    const own = await newMerchant(service);
    const user = await newAccountUser(service, own.account);
    const body = (filter: object) => ({ body: { format: 'csv', filter } });
    assertRefused(await user.call(exportPayments, body({ currency: VISA })), 'invalid_field', 'currency', VISA);
    assertRefused(await user.call(exportTokens, body({ by: 'bin', value: 'x' })), 'invalid_field', 'value');
    assertRefused(
      await user.call(exportPayments, { body: { format: VISA, filter: {} } }),
      'invalid_field',
      'format',
      VISA,
    );
    assert.deepEqual(await recorded(own.account), []);
    fileOf(await user.call(exportPayments, body({})));
  });

  test('owners, analysts and auditors may export, tokens and captures with the second factor alone', async () => {
    const body = { format: 'csv', filter: {} };
    const account = await service.newAccount();
    const [owner, developer, analyst, auditor] = await Promise.all(
      (['owner', 'developer', 'analyst', 'auditor'] as const).map((role) => newAccountUser(service, account, { role })),
    );
    assert.ok(owner && developer && analyst && auditor);
    for (const user of [owner, analyst, auditor]) fileOf(await user.call(exportPayments, { body }));
    for (const definition of [exportPayments, exportTokens, exportCaptures])
      assertRefused(await developer.call(definition, { body }), 'not_allowed');
    fileOf(await developer.call(exportAuditRecords, { body }));
    assertRefused(await analyst.call(exportAuditRecords, { body }), 'not_allowed');
    service.advance(6 * MINUTE);
    fileOf(await analyst.call(exportPayments, { body }));
    for (const definition of [exportTokens, exportCaptures])
      assertRefused(await analyst.call(definition, { body }), 'step_up_required');
  });

  type Exporter = Pick<AccountUser, 'person' | 'account'>;

  /** A call of the user to `exportList` or `exportLog`, for lists of any length. The account of operators is ''. */
  async function callOf(user: Exporter): Promise<AnyCall> {
    const { accounts, database, transactions } = service.core;
    const { people } = service.console;
    const [session] = await people.sessions.list(user.person.id);
    return {
      services: { accounts, database, transactions, people, clock: () => service.now() },
      person: { id: user.person.id },
      session,
      account: user.account,
      tenant: { account: user.account, environment: 'sandbox' },
      origin: { actor: { type: 'person', id: user.person.id } },
      now: service.now(),
      body: { format: 'json', filter: {} },
    } as unknown as AnyCall;
  }

  /** Exports a list that has pages without end. */
  async function exportEndless(user: AccountUser, onPage: (page: number) => unknown = () => undefined) {
    const read = { pages: 0 };
    const { lines } = await exportList((await callOf(user)) as never, {
      name: 'payments',
      access: 'records:export',
      columns: ['id'],
      codeFilters: [],
      page: async () => {
        await onPage(read.pages++);
        return { rows: Array.from({ length: 50 }, (_, row) => ({ id: `${read.pages}-${row}` })), next: 'x' };
      },
    });
    return { read, lines: lines as AsyncGenerator<string> };
  }

  const endOf = async (account: string) => (await recorded(account)).at(-1);

  test('an export ends at the limit of rows, and says so', async () => {
    const user = await newAccountUser(service, await service.newAccount());
    const { lines } = await exportEndless(user);
    let [file, last] = ['', ''];
    for await (const line of lines) {
      const { text = '' } = JSON.parse(line);
      file += text;
      last = line;
    }
    assert.equal(JSON.parse(file).length, LIMITS.exportedRows);
    assert.deepEqual(JSON.parse(last), { rows: LIMITS.exportedRows, limit: 'rows' });
    const detail = { list: 'payments', rows: LIMITS.exportedRows };
    assert.deepEqual(await endOf(user.account), { action: 'records.export-ended', outcome: 'partial', detail });
  });

  test('an export ends at the limit of time', async () => {
    const user = await newAccountUser(service, await service.newAccount());
    const { lines } = await exportEndless(user, (page) => page === 2 && service.advance(LIMITS.exportMs + SECOND));
    const all = await Array.fromAsync(lines);
    assert.deepEqual(JSON.parse(all.at(-1) ?? ''), { rows: 150, limit: 'time' });
  });

  test('pages are read when the reader has taken those before; a reader who leaves ends the export', async () => {
    const user = await newAccountUser(service, await service.newAccount());
    const { lines, read } = await exportEndless(user);
    assert.equal(read.pages, 1);
    await lines.next();
    await lines.next();
    assert.equal(read.pages, 2);
    await assert.rejects(exportEndless(user), { code: 'rate_limited' });
    await lines.return(undefined);
    assert.equal(read.pages, 2);
    const detail = { list: 'payments', rows: 100 };
    assert.deepEqual(await endOf(user.account), { action: 'records.export-ended', outcome: 'abandoned', detail });
    await (await exportEndless(user)).lines.return(undefined);
  });

  test('an export ends when reading fails, and soon after the user has lost the right or the session', async () => {
    const account = await service.newAccount();
    const user = await newAccountUser(service, account);
    const failing = await exportEndless(user, (page) => page === 3 && Promise.reject(new Error('broken')));
    await assert.rejects(Array.fromAsync(failing.lines), /broken/);
    assert.equal((await endOf(account))?.outcome, 'failed');
    const { database } = service.core;
    for (const table of ['sessions', 'memberships']) {
      const leaver = await newAccountUser(service, account, { role: 'analyst' });
      const sql = `delete from ${table} where person = ?`;
      const remove = { writes: [{ sql, rows: [[leaver.person.id]] }] };
      const { lines, read } = await exportEndless(leaver, async (page) => {
        if (page === 3) await database.commit(remove);
        service.advance(SECOND);
      });
      await assert.rejects(Array.fromAsync(lines), { code: 'not_allowed' });
      assert.ok(read.pages < 8, String(read.pages));
    }
  });

  describe('of full logs', () => {
    /** Adds records that are several chunks of an export. */
    const fillLog = (account: string): Promise<void> =>
      service.core.transactions.run({ origin: { actor: { type: 'service' } } }, async (transaction) => {
        const event = { action: 'audit.read', outcome: 'success', account, environment: '' } as const;
        for (let count = 0; count < 200; count++) transaction.record({ ...event, detail: { of: 'x'.repeat(2000) } });
      });

    /** Begins an export of the log of the account, or of everything for an operator. */
    async function beginExport(user: Exporter): Promise<AsyncGenerator<string>> {
      const log = user.account === '' ? undefined : user.account;
      const { lines } = await exportLog(await callOf(user), log, log === undefined ? 'operate' : 'audit:read');
      return lines as AsyncGenerator<string>;
    }
    const countLines = (chunks: readonly string[]): number => chunks.join('').split('\n').length - 1;
    const endOfLog = async ({ account }: Exporter) => {
      const { action, outcome, detail } = (await endOf(account)) ?? assert.fail('no record');
      assert.equal(action, 'records.export-ended');
      return { outcome, detail };
    };
    const newAuditor = async (): Promise<AccountUser> => {
      const account = await service.newAccount();
      await fillLog(account);
      return newAccountUser(service, account, { role: 'auditor' });
    };

    test('end soon after a member or an operator has lost the right or the session', async () => {
      for (const table of ['sessions', 'memberships'])
        for (const user of [await newAuditor(), { person: await newPerson(service, '', 'operator'), account: '' }]) {
          const lines = await beginExport(user);
          const sent = [(await lines.next()).value ?? ''];
          const sql = `delete from ${table} where person = ?`;
          await service.core.database.commit({ writes: [{ sql, rows: [[user.person.id]] }] });
          service.advance(3 * SECOND);
          await assert.rejects(lines.next(), { code: 'not_allowed' }, table);
          const of = user.account === '' && { of: 'everything' };
          const detail = { list: 'log', ...of, rows: countLines(sent) };
          assert.ok(detail.rows > 0);
          assert.deepEqual(await endOfLog(user), { outcome: 'failed', detail });
        }
    });

    test('end at the limit of time with a failure, because the file cannot say that it is incomplete', async () => {
      const user = await newAuditor();
      const lines = await beginExport(user);
      const sent = [(await lines.next()).value ?? ''];
      service.advance(LIMITS.exportMs + SECOND);
      await assert.rejects(lines.next(), { code: 'rate_limited' });
      const detail = { list: 'log', rows: countLines(sent) };
      assert.deepEqual(await endOfLog(user), { outcome: 'partial', detail });
    });

    test('are recorded with the number of records when they end, and when the reader leaves', async () => {
      const user = await newAuditor();
      const chunks = await Array.fromAsync(await beginExport(user));
      assert.ok(chunks.length > 2);
      const detail = { list: 'log', rows: countLines(chunks) };
      assert.deepEqual(await endOfLog(user), { outcome: 'success', detail });
      const left = await beginExport(user);
      await left.return(undefined);
      assert.deepEqual(await endOfLog(user), { outcome: 'abandoned', detail: { list: 'log', rows: 0 } });
    });
  });

  test('a browser that disconnects ends the export', async () => {
    const own = await newMerchant(service);
    const user = await newAccountUser(service, own.account);
    const id = await own.opened();
    const copy = `insert into payments (account, environment, id, processor, status, record, revision, attempts, created_at)
      select account, environment, ?, processor, status, record, 1, 0, created_at from payments
      where account = ?account and environment = 1 and id = ?`;
    const rows = Array.from({ length: 20_000 }, (_, index) => [`${id}${index}`, own.account, id]);
    await service.core.database.commit({ writes: [{ sql: copy, rows }] });
    const { person } = user;
    const body = JSON.stringify({ format: 'json', filter: {} });
    const host = `localhost:${service.ports.console}`;
    const sent = request({
      host: '127.0.0.1',
      port: service.ports.console,
      ca: service.authority,
      servername: 'localhost',
      method: 'POST',
      path: pathOf(exportPayments, { params: { account: own.account, environment: 'sandbox' } }),
      headers: {
        host,
        origin: `https://${host}`,
        'content-type': 'application/json',
        'x-csrf-token': person.csrf,
        cookie: person.cookie,
      },
    });
    const arrived = Promise.withResolvers<void>();
    sent.on('response', (response) => response.once('data', () => arrived.resolve()));
    sent.on('error', () => undefined);
    sent.end(body);
    await arrived.promise;
    sent.destroy();
    await eventually(async () => (await endOf(own.account))?.outcome === 'abandoned');
    const end = await endOf(own.account);
    assert.ok(Number(Object(end?.detail).rows) < 20_000);
    const removal = { sql: 'delete from payments where account = ?account', rows: [[own.account]] };
    await service.core.database.commit({ writes: [removal] });
  });
});
