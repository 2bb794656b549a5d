import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { exportJournal, verifyJournal } from '../../src/audit/verify-journal.ts';
import { DigestKeys } from '../../src/crypto/digest-keys.ts';
import {
  type Addition,
  blob,
  type Database,
  type Migration,
  StorageError,
  type UnitOfWork,
  type Value,
  type Write,
  write,
} from '../../src/storage/database.ts';
import { isAnnouncement } from '../../src/storage/journal.ts';
import { insertRegister } from '../../src/storage/lane-register.ts';
import { readMigrations } from '../../src/storage/migrate.ts';
import { insertAccounts, nextNumber } from '../fixtures/accounts.ts';
import { inScope } from '../scope.ts';

/** An empty database that any number of instances can open. */
export interface Store {
  /** Opens it; nothing is migrated yet. */
  open(journalKey: DigestKeys): Promise<Database>;
  /** The copy that `backup` made at this path, opened; absent where the database is backed up with tools of its own. */
  openBackup?(path: string, journalKey: DigestKeys): Promise<Database>;
  remove(): Promise<void>;
}

const NOW = 1_700_000_000_000;
const clock = (): number => NOW;

const INSERT = 'insert into accounts (id, number, name, suspended_at, created_at) values (?, ?, ?, ?, ?)';
const INSERT_NEW = `${INSERT} on conflict do nothing`;
const FIND = 'select id, name, suspended_at, created_at from accounts where id = ?';
const TOKEN = `insert into tokens (account, environment, slot, scheme, fingerprint, fingerprint_version, format, record,
  revision, created_at, deleted_at) values (1, 1, ?, 1, ?, 1, ?, ?, 1, ?, ?)`;
const FIND_TOKEN = 'select slot, fingerprint, format, record, created_at, deleted_at from tokens where slot = ?';

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
const account = (id: string, name = 'name', at = 1): Value[] => [id, nextNumber(), name, null, at];
const insert = (id: string, name = 'name', at = 1): Write => write(INSERT, account(id, name, at), 1);
const entry = (record: string): { account: string; environment: string; at: number; record: string } => ({
  account: 'a',
  environment: 'sandbox',
  at: NOW,
  record,
});
/** Records are of the account of `entry`, so those of none are announcements of chains. */
const isOpening = (record: string): boolean => isAnnouncement({ ...entry(record), account: '' });
const COMMITTED = { committed: true };

/** The contract of every driver behind the `Database` interface; the tests of each driver run it. */
export function databaseContract(name: string, newStore: () => Promise<Store>): void {
  describe(`${name} implements the contract of Database`, { timeout: 240_000 }, () => {
    const journalKey = DigestKeys.of(createSecretKey(randomBytes(32)));
    let store: Store;
    let database: Database;
    let ids = 0;
    const newId = (): string => `id-${ids++}`;
    const records = async (): Promise<string[]> => {
      const found: string[] = [];
      for await (const link of exportJournal(database)) found.push(link.record);
      return found;
    };
    const nameOf = async (id: string, from: Database = database): Promise<Value | undefined> =>
      (await from.read(FIND, id))[0]?.['name'];

    before(async () => {
      store = await newStore();
      database = await store.open(journalKey);
      await database.migrate(clock);
      await database.commit({ writes: [insertRegister(journalKey)] });
      await insertAccounts(database, ['a']);
    });
    after(async () => {
      await database.close();
      await store.remove();
    });

    describe('commit', () => {
      test('committed rows are visible immediately, to this and to another instance', async () => {
        const other = await store.open(journalKey);
        for (let round = 0; round < inScope({ usual: 10, long: 50 }); round++) {
          const id = newId();
          assert.deepEqual(await database.commit({ writes: [insert(id, `round ${round}`)] }), COMMITTED);
          assert.equal(await nameOf(id), `round ${round}`);
          assert.equal(await nameOf(id, other), `round ${round}`);
        }
        await other.close();
      });

      test('a unit of work without writes is committed', async () => {
        assert.deepEqual(await database.commit({ writes: [] }), COMMITTED);
      });

      test('writes are executed in order, and so are the rows of a write', async () => {
        const id = newId();
        const rename = (from: string, to: string): Value[] => [to, id, from];
        const sql = 'update accounts set name = ? where id = ? and name = ?';
        const unit: UnitOfWork = {
          writes: [
            insert(id, '0'),
            { sql, rows: [rename('0', '1'), rename('1', '2'), rename('2', '3')], expectedRows: 1 },
            write('delete from accounts where id = ?', [id], 1),
            insert(id, '4'),
            write(sql, rename('4', '5'), 1),
          ],
        };
        assert.deepEqual(await database.commit(unit), COMMITTED);
        assert.equal(await nameOf(id), '5');
      });

      test('a reader sees a unit of work completely or not at all', async () => {
        const [left, right] = [newId(), newId()];
        await database.commit({ writes: [insert(left, '0'), insert(right, '0')] });
        const seen = 'select count(distinct name) as names from accounts where id in (?, ?)';
        let writing = true;
        const readers = [1, 2].map(async () => {
          let reads = 0;
          while (writing) {
            assert.equal((await database.read(seen, left, right))[0]?.['names'], 1);
            reads++;
            await new Promise((resolve) => setImmediate(resolve));
          }
          return reads;
        });
        const sql = 'update accounts set name = ? where id = ?';
        for (let round = 1; round < 100; round++) {
          await database.commit({ writes: [write(sql, [`${round}`, left], 1), write(sql, [`${round}`, right], 1)] });
        }
        writing = false;
        for (const reads of await Promise.all(readers)) assert.ok(reads > 10, `${reads} reads are too few to tell`);
      });
    });

    describe('expected rows', () => {
      test('a conflict rolls back the entire unit of work and reports write and row', async () => {
        const [taken, fresh, other] = [newId(), newId(), newId()];
        await database.commit({ writes: [insert(taken, 'first')] });
        const outcome = await database.commit({
          writes: [
            insert(fresh),
            { sql: INSERT_NEW, rows: [account(other), account(newId()), account(taken, 'second')], expectedRows: 1 },
            insert(newId()),
          ],
          journal: [entry('"of a conflict"')],
        });
        assert.deepEqual(outcome, { committed: false, write: 1, row: 2 });
        assert.equal(await nameOf(fresh), undefined);
        assert.equal(await nameOf(other), undefined);
        assert.equal(await nameOf(taken), 'first');
        assert.ok(!(await records()).includes('"of a conflict"'));
      });

      test('other units of the group are committed despite a conflict', async () => {
        const taken = newId();
        await database.commit({ writes: [insert(taken)] });
        const group = Array.from({ length: 60 }, (_, index) => ({ id: newId(), loses: index % 3 === 1 }));
        const outcomes = await Promise.all(
          group.map(({ id, loses }) =>
            database.commit({ writes: [insert(id), ...(loses ? [write(INSERT_NEW, account(taken), 1)] : [])] }),
          ),
        );
        for (const [index, { id, loses }] of group.entries()) {
          assert.deepEqual(outcomes[index], loses ? { committed: false, write: 1, row: 0 } : COMMITTED);
          assert.equal(await nameOf(id), loses ? undefined : 'name');
        }
      });

      test('an update of no row, of one row, of several rows', async () => {
        const group = newId();
        const members = [newId(), newId()];
        await database.commit({ writes: members.map((id) => insert(id, group)) });
        const touch = (expectedRows?: number) =>
          database.commit({
            writes: [write('update accounts set suspended_at = ? where name = ?', [1, group], expectedRows)],
          });
        assert.deepEqual(await touch(), COMMITTED);
        assert.deepEqual(await touch(2), COMMITTED);
        assert.deepEqual(await touch(1), { committed: false, write: 0, row: 0 });
        assert.deepEqual(await touch(0), { committed: false, write: 0, row: 0 });
        const none = write('update accounts set suspended_at = ? where name = ?', [1, newId()], 0);
        assert.deepEqual(await database.commit({ writes: [none] }), COMMITTED);
      });

      test('an update to the same values counts the row', async () => {
        const id = newId();
        await database.commit({ writes: [insert(id, 'same')] });
        const again = write('update accounts set name = ? where id = ?', ['same', id], 1);
        assert.deepEqual(await database.commit({ writes: [again] }), COMMITTED);
      });

      test('one of many concurrent compare-and-sets succeeds', async () => {
        const id = newId();
        await database.commit({ writes: [insert(id, 'start')] });
        const sql = 'update accounts set name = ? where id = ? and name = ?';
        const outcomes = await Promise.all(
          Array.from({ length: 100 }, (_, index) =>
            database.commit({ writes: [write(sql, [`winner ${index}`, id, 'start'], 1)] }),
          ),
        );
        const winners = outcomes.flatMap(({ committed }, index) => (committed ? [`winner ${index}`] : []));
        assert.equal(winners.length, 1);
        assert.equal(await nameOf(id), winners[0]);
      });
    });

    describe('errors of SQL', () => {
      const faults: readonly [string, (taken: string) => Write][] = [
        ['a broken constraint', (taken) => insert(taken)],
        ['a missing value', () => write(INSERT, [newId(), nextNumber(), null, null, 1])],
        ['a statement that is none', () => write('insert nothing', [])],
        ['a table that is not there', () => write('delete from nowhere', [])],
        ['too many values', () => write(INSERT, [...account(newId()), 'more'])],
        ['a row of fewer values', () => ({ sql: INSERT, rows: [account(newId()), [newId()]] })],
        ['a row of more values', () => ({ sql: INSERT, rows: [account(newId()), [...account(newId()), 'x', 'y']] })],
        ['a value that is none', () => write(INSERT, [newId(), nextNumber(), undefined as unknown as Value, null, 1])],
        [
          'a value that cannot travel',
          () => write(INSERT, [newId(), nextNumber(), (() => 1) as unknown as Value, null, 1]),
        ],
      ];
      for (const [what, fault] of faults) {
        test(`${what} rejects its unit of work and no other of the group`, async () => {
          const taken = newId();
          await database.commit({ writes: [insert(taken, 'kept')] });
          const [before, during, behind] = [newId(), newId(), newId()];
          const results = await Promise.allSettled([
            database.commit({ writes: [insert(before)], journal: [entry(`"${before}"`)] }),
            database.commit({ writes: [insert(during), fault(taken)], journal: [entry(`"${during}"`)] }),
            database.commit({ writes: [insert(behind)], journal: [entry(`"${behind}"`)] }),
          ]);
          assert.deepEqual(results[0], { status: 'fulfilled', value: COMMITTED });
          assert.equal(results[1].status, 'rejected');
          assert.ok(results[1].reason instanceof StorageError);
          assert.deepEqual(results[2], { status: 'fulfilled', value: COMMITTED });
          assert.equal(await nameOf(before), 'name');
          assert.equal(await nameOf(during), undefined);
          assert.equal(await nameOf(behind), 'name');
          assert.equal(await nameOf(taken), 'kept');
          const journal = await records();
          assert.deepEqual(
            [before, during, behind].map((id) => journal.includes(`"${id}"`)),
            [true, false, true],
          );
        });
      }

      test('the text of the error contains no value', async () => {
        const taken = newId();
        await database.commit({ writes: [insert(taken)] });
        const secret = 'value-that-stays-inside';
        await assert.rejects(database.commit({ writes: [write(INSERT, account(taken, secret))] }), (error: Error) => {
          assert.ok(!error.message.includes(secret) && !error.message.includes(taken));
          return error instanceof StorageError;
        });
      });

      test('a read that fails throws StorageError', async () => {
        await assert.rejects(database.read('select nothing from nowhere'), StorageError);
      });
    });

    describe('values', () => {
      test('text is returned unchanged', async () => {
        const texts = [
          '',
          ' ',
          "it's",
          '"',
          'línea\nnueva\t\\',
          '\u{1f4b3} 中文 \u0301',
          'a'.repeat(300_000),
          '?',
          '1',
          '$1',
        ];
        for (const value of texts) {
          const id = newId();
          await database.commit({ writes: [insert(id, value)] });
          assert.equal(await nameOf(id), value);
        }
      });

      test('integers from -(2^53-1) to 2^53-1 are returned exactly', async () => {
        const max = Number.MAX_SAFE_INTEGER;
        for (const value of [0, 1, -1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 + 1, NOW, max, max - 1, -max]) {
          const id = newId();
          await database.commit({ writes: [insert(id, 'n', value)] });
          assert.strictEqual((await database.read(FIND, id))[0]?.['created_at'], value);
        }
      });

      test('blobs are returned byte for byte, also views and empty ones', async () => {
        const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
        const views = [Buffer.from('from the pool'), all.subarray(7, 99), Buffer.from(all).subarray(200)];
        for (const value of [new Uint8Array(), all, ...views, new Uint8Array(randomBytes(300_000))]) {
          const slot = bytesOf(newId());
          await database.commit({ writes: [write(TOKEN, [slot, null, null, value, 1, null], 1)] });
          const record = (await database.read(FIND_TOKEN, slot))[0]?.['record'];
          assert.ok(record instanceof Uint8Array);
          assert.deepEqual(Buffer.from(record), Buffer.from(value));
        }
      });

      test('null is null in every type of column', async () => {
        const slot = bytesOf(newId());
        await database.commit({ writes: [write(TOKEN, [slot, null, null, null, 5, null], 1)] });
        const [row] = await database.read(FIND_TOKEN, slot);
        assert.ok(row !== undefined);
        const { slot: found, ...others } = row;
        assert.deepEqual(Buffer.from(found as Uint8Array), Buffer.from(slot));
        assert.deepEqual(others, { fingerprint: null, format: null, record: null, created_at: 5, deleted_at: null });
      });

      test('blobs and texts are found by value', async () => {
        const [slot, print] = [bytesOf(newId()), new Uint8Array(randomBytes(32))];
        await database.commit({ writes: [write(TOKEN, [slot, print, 'format', null, 5, null], 1)] });
        const found = await database.read(
          'select slot from tokens where fingerprint = ? and format = ?',
          print,
          'format',
        );
        assert.deepEqual(
          found.map((row) => Buffer.from(blob(row, 'slot'))),
          [Buffer.from(slot)],
        );
      });

      test('text is compared and ordered byte by byte, with case', async () => {
        const group = newId();
        for (const id of ['b', 'a', 'B', '1', 'á', 'A']) await database.commit({ writes: [insert(group + id, group)] });
        const rows = await database.read('select id from accounts where name = ? order by id', group);
        assert.deepEqual(
          rows.map((row) => String(row['id']).slice(group.length)),
          ['1', 'A', 'B', 'a', 'b', 'á'],
        );
      });
    });

    test('bytes are ordered by value', async () => {
      const slots = ['0', '9', 'A', 'Z', 'a', 'z', '\u007f', '\u0080', '\u00ff'].map((end) => `411111-order-${end}`);
      const toBytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'latin1'));
      for (const slot of slots.toReversed())
        await database.commit({ writes: [write(TOKEN, [toBytes(slot), null, null, null, 5, null], 1)] });
      const range = `select slot from tokens where account = 1 and environment = 1 and slot >= ? and slot < ?`;
      const read = async (from: string, below: string): Promise<string[]> => {
        const ends = [from, below].map((end) => toBytes(`411111-order-${end}`));
        const rows = await database.read(`${range} order by slot`, ...ends);
        return rows.map((row) => Buffer.from(blob(row, 'slot')).toString('latin1'));
      };
      assert.deepEqual(await read('', '\u00ff'), slots.slice(0, -1));
      assert.deepEqual(await read('A', 'a'), slots.slice(2, 4), 'capitals precede all small letters');
      assert.deepEqual(await read('\u0080', '\u00ff\u0000'), slots.slice(7), 'bytes are unsigned');
    });

    describe('on conflict', () => {
      test('do nothing affects no row, whichever unique index conflicts', async () => {
        const print = new Uint8Array(randomBytes(32));
        const sql = `${TOKEN} on conflict do nothing`;
        const [slot, other] = [bytesOf(newId()), bytesOf(newId())];
        const token = (at: Uint8Array, format: string): Write => write(sql, [at, print, format, null, 1, null], 1);
        assert.deepEqual(await database.commit({ writes: [token(slot, 'f')] }), COMMITTED);
        assert.deepEqual(await database.commit({ writes: [token(slot, 'g')] }), { committed: false, write: 0, row: 0 });
        assert.deepEqual(await database.commit({ writes: [token(other, 'f')] }), {
          committed: false,
          write: 0,
          row: 0,
        });
        assert.deepEqual(await database.commit({ writes: [token(other, 'g')] }), COMMITTED);
      });

      test('nulls of a unique index are never equal', async () => {
        const print = new Uint8Array(randomBytes(32));
        const token = (): Write => write(TOKEN, [bytesOf(newId()), print, null, null, 1, null], 1);
        assert.deepEqual(await database.commit({ writes: [token(), token()] }), COMMITTED);
      });

      test('do update affects the row it updates, and none when its condition fails', async () => {
        const id = newId();
        const upsert = (name: string, at: number): Write =>
          write(
            `${INSERT} on conflict (id) do update set name = excluded.name, created_at = excluded.created_at
              where accounts.created_at < excluded.created_at`,
            account(id, name, at),
            1,
          );
        assert.deepEqual(await database.commit({ writes: [upsert('first', 10)] }), COMMITTED);
        assert.deepEqual(await database.commit({ writes: [upsert('later', 11)] }), COMMITTED);
        assert.deepEqual(await database.commit({ writes: [upsert('late', 11)] }), {
          committed: false,
          write: 0,
          row: 0,
        });
        assert.equal(await nameOf(id), 'later');
      });

      test('insert from select with a condition', async () => {
        const [id, other] = [newId(), newId()];
        const unless = `insert into accounts (id, number, name, suspended_at, created_at) select ?, ?, ?, ?, ?
          where not (exists (select 1 from accounts where id = ?)) on conflict do nothing`;
        const outcome = await database.commit({ writes: [insert(id), write(unless, [...account(other), id], 1)] });
        assert.deepEqual(outcome, { committed: false, write: 1, row: 0 });
        const absent = write(unless, [...account(other), newId()], 1);
        assert.deepEqual(await database.commit({ writes: [absent] }), COMMITTED);
      });
    });

    describe('additions', () => {
      const ADD = `insert into payment_totals (account, environment, hour, currency, status, reason, lane, number, amount_high,
        amount_low, collected_high, collected_low, refunded_high, refunded_low)
        values (?account, ?environment, ?, 'USD', 'Authorized', '', ?, ?, 0, ?, 0, 0, 0, 0)
        on conflict (account, environment, hour, currency, status, reason, lane)
        do update set number = payment_totals.number + excluded.number,
          amount_low = payment_totals.amount_low + excluded.amount_low`;
      const SUM = `select cast(sum(number) as bigint) as number, cast(sum(amount_low) as bigint) as amount
        from payment_totals where account = ?account and environment = ?environment and hour = ?`;
      const add = (hour: number, ...numbers: number[]): Addition => ({
        sql: ADD,
        key: ['a', 'sandbox', hour],
        numbers,
      });
      const sums = async (hour: number): Promise<unknown> => (await database.read(SUM, 'a', 'sandbox', hour))[0];

      test('of concurrent units of several instances are summed', async () => {
        const hour = 1;
        const other = await store.open(journalKey);
        await Promise.all(
          Array.from({ length: 200 }, (_, index) =>
            (index % 2 === 0 ? database : other).commit({
              account: 'a',
              writes: index % 5 === 0 ? [] : [insert(newId())],
              additions: [add(hour, 1, index), ...(index % 3 === 0 ? [add(hour, 1, -index), add(hour + 1, 7, 0)] : [])],
            }),
          ),
        );
        await other.close();
        assert.deepEqual(await sums(hour), { number: 267, amount: (199 * 200) / 2 - 3 * ((66 * 67) / 2) });
        assert.deepEqual(await sums(hour + 1), { number: 469, amount: 0 });
      });

      test('belong to their unit: one that conflicts adds nothing, and those beside it do', async () => {
        const hour = 10;
        const taken = newId();
        await database.commit({ writes: [insert(taken)] });
        const outcomes = await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            database.commit({
              writes: [insert(newId()), ...(index % 4 === 0 ? [write(INSERT_NEW, account(taken), 1)] : [])],
              additions: [add(hour, 1, index)],
            }),
          ),
        );
        assert.equal(outcomes.filter(({ committed }) => committed).length, 15);
        assert.deepEqual(await sums(hour), { number: 15, amount: 150 });
      });
    });

    describe('journal', () => {
      test('has the entries of committed units only, in the order of each unit', async () => {
        const taken = newId();
        await database.commit({ writes: [insert(taken)] });
        const mark = newId();
        const pairs: string[][] = [];
        const outcomes = Array.from({ length: 200 }, (_, index) => {
          const fails = index % 5 === 2;
          const own = [`"${mark} ${index} first"`, `"${mark} ${index} second"`];
          if (!fails) pairs.push(own);
          const writes = fails ? [insert(newId()), write(INSERT_NEW, account(taken), 1)] : [insert(newId())];
          return database.commit({ writes, journal: own.map(entry) });
        });
        await Promise.all(outcomes);
        const found = (await records()).filter((record) => record.startsWith(`"${mark} `));
        const expected = pairs.flat();
        // A driver may use several lanes at once, so only the entries of one unit stand in a known order.
        assert.deepEqual([...found].sort(), [...expected].sort());
        for (const [first = '', second = ''] of pairs) assert.ok(found.indexOf(first) < found.indexOf(second));
      });

      test('has an entry as soon as its unit is committed', async () => {
        const record = `"${newId()}"`;
        await database.commit({ writes: [], journal: [entry(record)] });
        assert.ok((await records()).includes(record));
      });

      test('consists of chains whose heads are sealed', async () => {
        const verified = await verifyJournal(database, journalKey);
        assert.deepEqual(verified, { ok: true, records: (await records()).length });
        assert.ok(verified.records > 100);
        const otherKey = DigestKeys.of(createSecretKey(randomBytes(32)));
        assert.equal((await verifyJournal(database, otherKey)).ok, false);
      });

      test('of two instances that write concurrently verifies while they write, and is complete', async () => {
        const before = (await records()).filter((record) => !isOpening(record)).length;
        const other = await store.open(journalKey);
        const units = Array.from({ length: inScope({ usual: 120, long: 300 }) }, (_, index) => index);
        let writing = true;
        const verifying = (async () => {
          let times = 0;
          for (; writing; times++) {
            assert.equal((await verifyJournal(database, journalKey)).fault, undefined);
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
          return times;
        })();
        const lanes = [database, other].map(async (instance, lane) => {
          for (let start = 0; start < units.length; start += 30) {
            const some = units.slice(start, start + 30);
            const commits = some.map((index) =>
              instance.commit({ writes: [insert(newId())], journal: [entry(`"two ${lane} ${index}"`)] }),
            );
            for (const outcome of await Promise.all(commits)) assert.deepEqual(outcome, COMMITTED);
          }
        });
        await Promise.all(lanes);
        writing = false;
        assert.ok((await verifying) > 0);
        const all = await records();
        const expected = [0, 1].flatMap((lane) => units.map((index) => `"two ${lane} ${index}"`));
        assert.deepEqual(all.filter((record) => record.startsWith('"two ')).sort(), expected.sort());
        // The other records are announcements of an instance that writes lanes of its own.
        const others = all.filter((record) => !record.startsWith('"two ') && !isOpening(record));
        assert.equal(others.length, before);
        assert.deepEqual(await verifyJournal(other, journalKey), { ok: true, records: all.length });
        await other.close();
      });
    });

    describe('concurrent units', () => {
      test('thousands of concurrent commits are all stored, once', async () => {
        const mark = newId();
        const names = Array.from({ length: inScope({ usual: 2000, long: 5000 }) }, (_, index) => `${mark} ${index}`);
        const outcomes = await Promise.all(names.map((id) => database.commit({ writes: [insert(id, mark)] })));
        assert.ok(outcomes.every(({ committed }) => committed));
        const rows = await database.read('select id from accounts where name = ?', mark);
        assert.deepEqual(rows.map((row) => row['id']).sort(), [...names].sort());
      });

      test('no increment by two instances is lost', async () => {
        const id = newId();
        await database.commit({ writes: [insert(id, 'counter', 0)] });
        const other = await store.open(journalKey);
        const sql = 'update accounts set created_at = created_at + 1 where id = ?';
        const increments = Array.from({ length: 400 }, (_, index) =>
          (index % 2 === 0 ? database : other).commit({ writes: [write(sql, [id], 1)] }),
        );
        await Promise.all(increments);
        assert.equal((await database.read(FIND, id))[0]?.['created_at'], 400);
        await other.close();
      });

      test('a unit with more rows than a group allows is still atomic', async () => {
        const mark = newId();
        const rows = Array.from({ length: 5000 }, (_, index) => account(`${mark} ${index}`, mark));
        const clash = write(INSERT_NEW, account(`${mark} 17`, mark), 1);
        const count = async (): Promise<Value | undefined> =>
          (await database.read('select count(*) as found from accounts where name = ?', mark))[0]?.['found'];
        const lost = await database.commit({ writes: [{ sql: INSERT, rows, expectedRows: 1 }, clash] });
        assert.deepEqual(lost, { committed: false, write: 1, row: 0 });
        assert.equal(await count(), 0);
        assert.deepEqual(await database.commit({ writes: [{ sql: INSERT, rows, expectedRows: 1 }] }), COMMITTED);
        assert.equal(await count(), 5000);
      });
    });

    describe('backup', () => {
      test('is a consistent copy, created while units are written', async (context) => {
        if (store.openBackup === undefined) {
          await assert.rejects(database.backup('copy.db'), StorageError);
          return context.skip('the database is backed up with tools of its own');
        }
        const directory = mkdtempSync(join(tmpdir(), 'cardvault-backup-'));
        const path = join(directory, 'copy.db');
        const mark = newId();
        // Large enough that writes come in many times while it is copied.
        for (let part = 0; part < 10; part++) {
          const rows = Array.from({ length: 2000 }, (_, row) => account(`${mark} ${part}.${row}`, 'x'.repeat(2000)));
          await database.commit({ writes: [{ sql: INSERT, rows }] });
        }
        let going = true;
        let pairs = 0;
        const writing = (async () => {
          for (; going; pairs++) {
            const pair = ['left', 'right'].map((side) => insert(`${mark} ${side} ${pairs}`, mark));
            await database.commit({ writes: pair, journal: [entry(`"${mark} ${pairs}"`)] });
          }
        })();
        const instance = await store.open(journalKey);
        await withinSeconds(60, instance.backup(path));
        going = false;
        await writing;
        await instance.close();
        assert.ok(pairs > 0 && existsSync(path));
        const copy = await store.openBackup(path, journalKey);
        const side = async (which: string): Promise<Value | undefined> =>
          (await copy.read('select count(*) as n from accounts where id like ?', `${mark} ${which} %`))[0]?.['n'];
        assert.equal(await side('left'), await side('right'));
        assert.equal((await verifyJournal(copy, journalKey)).fault, undefined);
        assert.equal((await copy.read('select name from accounts where id = ?', `${mark} 9.1999`)).length, 1);
        await copy.close();
        rmSync(directory, { recursive: true, force: true });
      });
    });
  });

  describe(`${name} is migrated and closed`, { timeout: 240_000 }, () => {
    const journalKey = DigestKeys.of(createSecretKey(randomBytes(32)));
    const versions = 'select version, name, applied_at from schema_migrations order by version';

    test('migrating twice changes nothing', async () => {
      const store = await newStore();
      const database = await store.open(journalKey);
      await database.migrate(clock);
      const first = await database.read(versions);
      await database.commit({ writes: [insert('kept')] });
      await database.migrate(() => NOW + 1);
      assert.deepEqual(await database.read(versions), first);
      assert.ok(first.length > 0 && first.every((row) => row['applied_at'] === NOW));
      assert.equal((await database.read(FIND, 'kept')).length, 1);
      await database.close();
      await store.remove();
    });

    test('concurrent starters all find it migrated', async () => {
      for (let round = 0; round < inScope({ usual: 2, long: 5 }); round++) {
        const store = await newStore();
        const starters = await Promise.all(
          Array.from({ length: 4 }, async (_, index) => {
            const database = await store.open(journalKey);
            await database.migrate(clock);
            assert.deepEqual(await database.commit({ writes: [insert(`by ${index}`)] }), COMMITTED);
            return database;
          }),
        );
        const rows = await starters[0]?.read('select count(*) as n from accounts');
        assert.equal(rows?.[0]?.['n'], 4);
        const applied = (await starters[1]?.read(versions)) ?? [];
        assert.equal(new Set(applied.map((row) => row['version'])).size, applied.length);
        await Promise.all(starters.map((starter) => starter.close()));
        await store.remove();
      }
    });

    test('a database of a newer version is rejected and remains unchanged', async () => {
      const store = await newStore();
      const database = await store.open(journalKey);
      await database.migrate(clock);
      const newer =
        'insert into schema_migrations (version, name, release, applied_at, min_compatible) values (?, ?, ?, ?, ?)';
      await database.commit({ writes: [write(newer, [9999, '9999_later.sql', '9.9.9', NOW, 9999], 1)] });
      const before = await database.read(versions);
      const older = await store.open(journalKey);
      await assert.rejects(older.migrate(clock), (error: Error) => {
        assert.match(error.message, /9999.*newer cardvault \(9\.9\.9\).*start cardvault 9\.9\.9 or later/);
        return error instanceof StorageError;
      });
      assert.deepEqual(await database.read(versions), before);
      await older.close();
      await database.close();
      await store.remove();
    });

    const present = readMigrations();
    const laterVersion = (present.at(-1)?.version ?? 0) + 1;
    /** A later migration of this test's own. */
    const later = (sql: string, minCompatible = laterVersion): Migration => ({
      version: laterVersion,
      name: `${String(laterVersion).padStart(4, '0')}_later.sql`,
      release: '9.9.9',
      minCompatible,
      upgradesFrom: 0,
      sql,
    });
    const EXPANDS =
      'alter table accounts add column region text;\ncreate index accounts_by_region on accounts (region);';

    test('a later migration is applied once, to a database with rows, by concurrent starters', async () => {
      const store = await newStore();
      const older = await store.open(journalKey);
      await older.migrate(clock);
      const first = await older.read(versions);
      await older.commit({ writes: [insert('kept')] });
      const expanded = [...present, later(EXPANDS, laterVersion - 1)];
      const starters = await Promise.all(Array.from({ length: 4 }, () => store.open(journalKey)));
      await Promise.all(starters.map((starter) => starter.migrate(() => NOW + 1, expanded)));
      const [newer] = starters;
      const applied = (await newer?.read(versions)) ?? [];
      assert.deepEqual(
        applied.map((row) => ({ ...row })),
        [
          ...first.map((row) => ({ ...row })),
          { version: laterVersion, name: expanded.at(-1)?.name, applied_at: NOW + 1 },
        ],
      );
      assert.equal((await newer?.read(FIND, 'kept'))?.length, 1);
      assert.deepEqual(
        (await newer?.read('select region from accounts'))?.map((row) => row['region']),
        [null],
      );
      // Old code works on: the migration says that it is compatible, and neither side disturbs the other.
      await older.migrate(clock);
      assert.deepEqual(await older.commit({ writes: [insert('by old code')] }), COMMITTED);
      assert.equal((await newer?.read(FIND, 'by old code'))?.length, 1);
      const late = await store.open(journalKey);
      await late.migrate(clock);
      assert.equal((await late.read(FIND, 'kept')).length, 1);
      assert.deepEqual(await late.read(versions), applied);
      await Promise.all([older, late, ...starters].map((each) => each.close()));
      await store.remove();
    });

    test('a later migration without a compatible version rejects older code', async () => {
      const store = await newStore();
      const database = await store.open(journalKey);
      await database.migrate(clock, [...present, later(EXPANDS)]);
      await assert.rejects(database.migrate(clock), /made by a newer cardvault/);
      await database.close();
      await store.remove();
    });

    test('a later migration that fails leaves schema and rows unchanged', async () => {
      const store = await newStore();
      const database = await store.open(journalKey);
      await database.migrate(clock);
      await database.commit({ writes: [insert('kept')] });
      const before = await database.read(versions);
      const failing = later(`${EXPANDS}\nalter table nowhere add column other text;`, laterVersion - 1);
      await assert.rejects(database.migrate(clock, [...present, failing]));
      assert.deepEqual(await database.read(versions), before);
      await assert.rejects(database.read('select region from accounts'));
      assert.equal((await database.read(FIND, 'kept')).length, 1);
      await database.close();
      await store.remove();
    });

    test('close waits for all units that were passed in', async () => {
      const store = await newStore();
      const database = await store.open(journalKey);
      await database.migrate(clock);
      await database.commit({ writes: [insertRegister(journalKey)] });
      await insertAccounts(database, ['a']);
      const units = inScope({ usual: 1000, long: 3000 });
      const outcomes = Array.from({ length: units }, (_, index) =>
        database.commit({ writes: [insert(`before close ${index}`)], journal: [entry(`"${index}"`)] }),
      );
      await database.close();
      assert.ok((await Promise.all(outcomes)).every(({ committed }) => committed));
      const again = await store.open(journalKey);
      assert.equal((await again.read('select count(*) as n from accounts'))[0]?.['n'], units + 1);
      assert.equal((await verifyJournal(again, journalKey)).fault, undefined);
      const links = await Array.fromAsync(exportJournal(again));
      assert.equal(links.filter((link) => !isAnnouncement(link)).length, units);
      await again.close();
      await store.remove();
    });

    test('after close every write and read is rejected, and closing again succeeds', async () => {
      const store = await newStore();
      const database = await store.open(journalKey);
      await database.migrate(clock);
      await database.close();
      await assert.rejects(withinSeconds(20, database.commit({ writes: [insert('late')] })), StorageError);
      await assert.rejects(withinSeconds(20, database.read(FIND, 'late')), StorageError);
      await database.close();
      const again = await store.open(journalKey);
      assert.equal((await again.read(FIND, 'late')).length, 0);
      await again.close();
      await store.remove();
    });
  });
}

async function withinSeconds<T>(seconds: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no outcome at all')), seconds * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
