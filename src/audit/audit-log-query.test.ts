import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startTestService, type TestService } from '../../test/fixtures/test-service.ts';
import { insertAccount, nextAccountNumber } from '../accounts/account-store.ts';
import { MINUTE, SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { commitOrThrow, type Database, type JournalEntry, type Value, write } from '../storage/database.ts';
import { rowMacKey } from '../storage/mac-table.ts';
import { type Actor, type AuditAction, buildAuditEntry } from './audit.ts';
import { type AuditFilter, AuditLogQuery, type LogEntry } from './audit-log-query.ts';
import { formatExportedRecord } from './export-format.ts';
import { exportJournal, verifyAccount, verifyJournal } from './verify-journal.ts';

const KEY: Actor = { type: 'key', id: 'key_1', name: 'till' };
const PERSON: Actor = { type: 'person', id: 'person_1' };

describe('a search of the audit log', { timeout: 60_000 }, () => {
  let service: TestService;
  let database: Database;
  let reading: AuditLogQuery;
  let now = 1_800_000_000_000;
  before(async () => {
    service = await startTestService();
    ({ database } = service.core);
    reading = new AuditLogQuery({ database, random: service.core.random });
  });
  after(() => service.stop());

  const entry = (
    account: string,
    action: AuditAction,
    options: { actor?: Actor; outcome?: string } = {},
  ): JournalEntry => {
    now += SECOND;
    const { actor = KEY, outcome = 'success' } = options;
    const event = { action, outcome, account, environment: 'sandbox' as const, targets: [`token:t${now % 7}`] };
    return buildAuditEntry(() => now, { actor }, event);
  };
  const put = (account: string, ...journal: JournalEntry[]): Promise<void> =>
    commitOrThrow(database, { account, writes: [], journal });
  const all = async (account: string, filter: AuditFilter): Promise<LogEntry[]> => {
    const found: LogEntry[] = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await reading.read(account, filter, cursor);
      assert.ok(page.items.length <= LIMITS.recordsPerPage);
      assert.equal(page.searchedUntil === undefined, page.cursor === undefined);
      found.push(...page.items);
      cursor = page.cursor;
    }
    return found;
  };
  /** An account whose log is empty. */
  const newAccount = async (): Promise<string> => {
    const id = `acct_reading_${now++}`;
    const number = await nextAccountNumber(database);
    const fields = { isTampered: false, status: 'onboarding', dualControl: false, suspendedAt: undefined } as const;
    const macKey = await rowMacKey(service.core.keyring);
    const insert = insertAccount(macKey, { ...fields, id, number, name: id, createdAt: now, revision: 1 });
    await commitOrThrow(database, { writes: [insert] });
    return id;
  };
  /** Writes as another node with a lane of its own; the chain is not sealed. */
  const putElsewhere = (account: string, lane: number, entries: readonly JournalEntry[]): Promise<void> =>
    commitOrThrow(database, {
      writes: [
        {
          sql: 'insert into journal (account, lane, sequence, environment, at, record, hash) values (?account, ?, ?, ?environment, ?, ?, ?)',
          rows: entries.map(({ environment, at, record }, index): Value[] => [
            account,
            lane,
            index + 1,
            environment,
            at,
            record,
            '',
          ]),
        },
        write(
          "insert into journal_heads (account, lane, sequence, hash, seal) values (?account, ?, 1, '', ?) on conflict do nothing",
          [account, lane, new Uint8Array(32)],
        ),
      ],
    });

  test('returns each record that matches once, the newest first, over all lanes', async () => {
    const account = await newAccount();
    const begin = now;
    const entries = Array.from({ length: 240 }, (_, index) =>
      entry(account, index % 3 === 0 ? 'token.detokenized' : 'key.created', {
        actor: index % 5 === 0 ? PERSON : KEY,
        outcome: index % 4 === 0 ? 'missing' : 'success',
      }),
    );
    await put(account, ...entries.filter((_, index) => index % 2 === 0));
    await putElsewhere(
      account,
      77,
      entries.filter((_, index) => index % 2 === 1),
    );
    const middle = entries[120]?.at ?? 0;
    const record = ({ record: text }: JournalEntry) => JSON.parse(text);
    const cases: [AuditFilter, (entry: JournalEntry) => boolean][] = [
      [{}, () => true],
      [{ actions: ['token.detokenized', 'token.deleted'] }, (each) => record(each).action === 'token.detokenized'],
      [{ actorType: 'person' }, (each) => record(each).actor.type === 'person'],
      [{ actorId: 'key_1' }, (each) => record(each).actor.id === 'key_1'],
      [{ target: 'token:t3' }, (each) => record(each).targets[0] === 'token:t3'],
      [{ outcome: 'missing', from: middle }, (each) => record(each).outcome === 'missing' && each.at >= middle],
      [{ to: middle }, ({ at }) => at < middle],
      [{ from: begin, to: begin + MINUTE }, ({ at }) => at < begin + MINUTE],
      [{ environment: 'production' }, () => false],
    ];
    for (const [filter, fits] of cases) {
      const expected = entries
        .filter(fits)
        .map(({ at }) => at)
        .reverse();
      assert.deepEqual(
        (await all(account, filter)).map(({ at }) => at),
        expected,
        Object.keys(filter).join(),
      );
      const oldest = await all(account, { ...filter, order: 'oldest' });
      assert.deepEqual(
        oldest.map(({ at }) => at),
        expected.toReversed(),
        `${Object.keys(filter).join()}, the oldest first`,
      );
    }
    await commitOrThrow(database, {
      writes: [
        write('delete from journal where lane = 77', []),
        write('delete from journal_heads where lane = 77', []),
      ],
    });
  });

  test('never reads the entire log for one page, and finds an old time by binary search', async () => {
    const account = await newAccount();
    const entries = Array.from({ length: 6000 }, () => entry(account, 'key.created'));
    await put(account, ...entries);
    const page = await reading.read(account, { outcome: 'none' });
    assert.deepEqual(page.items, []);
    assert.ok(page.cursor !== undefined && (page.searchedUntil ?? 0) > (entries[900]?.at ?? 0));
    assert.deepEqual(await all(account, { outcome: 'none' }), []);
    const early = await reading.read(account, { to: entries[20]?.at ?? 0 });
    assert.deepEqual([early.items.length, early.cursor], [20, undefined]);
    const late = await reading.read(account, { from: entries[5980]?.at ?? 0, order: 'oldest' });
    assert.deepEqual(
      [late.items.map(({ at }) => at), late.cursor],
      [entries.slice(5980).map(({ at }) => at), undefined],
    );
    const none = await reading.read(account, { outcome: 'none', order: 'oldest' });
    assert.deepEqual(none.items, []);
    assert.ok(none.cursor !== undefined && (none.searchedUntil ?? 0) < (entries[5100]?.at ?? 0));
  });

  test('the oldest first continues with what was recorded since the first page, also in a new lane', async () => {
    const account = await newAccount();
    const first = Array.from({ length: LIMITS.recordsPerPage + 10 }, () => entry(account, 'key.created'));
    await put(account, ...first);
    const page = await reading.read(account, { order: 'oldest' });
    assert.equal(page.items.length, LIMITS.recordsPerPage);
    const later = [entry(account, 'key.created'), entry(account, 'key.created')];
    await putElsewhere(account, 78, later.slice(0, 1));
    await put(account, ...later.slice(1));
    const rest = await reading.read(account, { order: 'oldest' }, page.cursor);
    assert.deepEqual(
      [...page.items, ...rest.items].map(({ at }) => at),
      [...first, ...later].map(({ at }) => at),
    );
    for (const table of ['journal', 'journal_heads'])
      await commitOrThrow(database, { writes: [write(`delete from ${table} where lane = 78`, [])] });
  });

  test('returns the records of an account, or of the service without an account', async () => {
    const [one, other] = [await newAccount(), await newAccount()];
    await put(one, entry(one, 'key.created'));
    await put(other, entry(other, 'key.revoked'));
    assert.deepEqual(
      (await all(one, {})).map(({ record }) => record?.action),
      ['key.created'],
    );
    const own = new Set((await all('', {})).map(({ record }) => record?.action));
    assert.deepEqual(own, new Set(['service.initialised', 'journal.opened']));
    await assert.rejects(reading.read(one, {}, 'nonsense'), { code: 'invalid_field' });
  });

  test('verifies a single account, and detects that a chain was removed', async () => {
    const [one, other, third] = [await newAccount(), await newAccount(), await newAccount()];
    for (const account of [one, other, third])
      await put(account, entry(account, 'key.created'), entry(account, 'key.edited'));
    const verify = (account: string) => verifyAccount(database, service.core.journalKey, account);
    const entireLog = await verifyJournal(database, service.core.journalKey);
    assert.ok(entireLog.ok);
    for (const account of [one, other, third, '', 'acct_unknown']) {
      const { ok, records } = await verify(account);
      assert.ok(ok && records < entireLog.records, account);
    }
    await commitOrThrow(database, {
      writes: [
        write("update journal set record = replace(record, 'edited', 'revoked') where account = ?account", [other]),
      ],
    });
    await commitOrThrow(database, {
      writes: [
        write('delete from journal where account = ?account', [third]),
        write('delete from journal_heads where account = ?account', [third]),
      ],
    });
    assert.deepEqual((await verify(one)).ok, true);
    assert.match((await verify(other)).fault ?? '', /account acct_reading.*: changed/);
    assert.match((await verify(third)).fault ?? '', /announced and is missing/);
    // A record behind the newest one that the head seals.
    await commitOrThrow(database, {
      writes: [
        write(
          'insert into journal (account, lane, sequence, environment, at, record, hash) select account, lane, 99, environment, at, record, hash from journal where account = ?account and sequence = 1',
          [one],
        ),
      ],
    });
    assert.match((await verify(one)).fault ?? '', /3 records, of which the head seals 2/);
    assert.equal((await verifyJournal(database, service.core.journalKey)).ok, false);
  });

  test('verifies and exports while other requests are served', async () => {
    const account = await newAccount();
    const pages = 3;
    for (let page = 0; page < pages; page++)
      await put(account, ...Array.from({ length: 1000 }, () => entry(account, 'key.created')));
    const { journalKey } = service.core;
    const exported = async (): Promise<void> => {
      for await (const _ of exportJournal(database, account));
    };
    for (const read of [() => verifyAccount(database, journalKey, account), exported]) {
      let [iterations, isOver] = [0, false];
      const others = (): void => {
        iterations++;
        if (!isOver) setImmediate(others);
      };
      setImmediate(others);
      await read();
      isOver = true;
      assert.ok(iterations >= pages, `${iterations}`);
    }
  });

  test('returns the other records when one record was altered', async () => {
    const account = await newAccount();
    const event = { action: 'key.created', outcome: 'success', actor: { type: 'key' }, targets: ['key:1'] };
    const changed: readonly unknown[] = [
      { ...event, targets: 5 },
      { ...event, targets: 'key:1' },
      { ...event, targets: [{}] },
      { ...event, actor: null },
      { ...event, actor: { type: 'key', id: {} } },
      { ...event, outcome: 5 },
      { ...event, address: {} },
      { ...event, request_id: 7 },
      null,
      [],
      5,
    ];
    await put(account, entry(account, 'key.created'), entry(account, 'key.edited'));
    for (const record of changed) {
      const row = [JSON.stringify(record), account];
      const sql = 'update journal set record = ? where account = ?account and sequence = 1';
      await commitOrThrow(database, { writes: [{ sql, rows: [row] }] });
      const found = await all(account, {});
      const actions = found.map((each) => each.record?.action);
      assert.deepEqual(actions, ['key.edited', undefined], JSON.stringify(record));
    }
  });

  test('returns a record that was made unreadable, so that the damage is visible', async () => {
    const account = await newAccount();
    await put(account, entry(account, 'key.created'));
    await commitOrThrow(database, {
      writes: [write("update journal set record = '{' where account = ?account", [account])],
    });
    assert.deepEqual(
      (await all(account, { outcome: 'missing' })).map(({ record }) => record),
      [undefined],
    );
  });

  test('returns and exports a record with a time that no `Date` can represent', async () => {
    const account = await newAccount();
    await put(account, entry(account, 'key.created'), entry(account, 'key.created'));
    const sql = 'update journal set at = 9000000000000000000 where account = ?account and sequence = 2';
    await commitOrThrow(database, { writes: [write(sql, [account])] });
    const times = (await all(account, {})).map(({ sequence, at }) => [sequence, at]);
    assert.deepEqual(times, [
      [2, 0],
      [1, now - SECOND],
    ]);
    const exported = await Array.fromAsync(exportJournal(database, account), formatExportedRecord);
    assert.deepEqual(
      exported.map((line) => JSON.parse(line).time.slice(0, 4)),
      ['2027', '1970'],
    );
  });
});
