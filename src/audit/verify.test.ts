import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { emptyHead, type Head, type Link, linkAfter, sealHead } from '../storage/journal.ts';
import { SqliteDatabase } from '../storage/sqlite/sqlite.ts';
import { exportJournal, type Verification, verifyJournal } from './verify.ts';

/** More than a page of the verifier. */
const RECORDS = 2500;

describe('verifying the audit log', { timeout: 240_000 }, () => {
  const key = createSecretKey(randomBytes(32));
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-verify-'));
  const genuine = join(directory, 'genuine.db');
  let copies = 0;

  const entry = (index: number) => ({
    account: `acct_${index % 7}`,
    environment: index % 2 === 0 ? 'sandbox' : 'production',
    at: 1_700_000_000_000 + index,
    record: JSON.stringify({ action: 'capture.retrieved', index }),
  });

  async function opened(path: string): Promise<SqliteDatabase> {
    const database = new SqliteDatabase(path);
    await database.useJournalKey(key);
    return database;
  }

  /** What the verifier says of a copy that somebody with the file in hand has worked on. */
  async function afterTampering(tamper: (file: DatabaseSync) => void): Promise<Verification> {
    const path = join(directory, `copy-${copies++}.db`);
    copyFileSync(genuine, path);
    const file = new DatabaseSync(path);
    tamper(file);
    file.close();
    const database = await opened(path);
    const result = await verifyJournal(database, key);
    await database.close();
    return result;
  }

  const linksOf = (file: DatabaseSync): Link[] =>
    file.prepare('select * from journal order by sequence').all() as unknown as Link[];
  const put = (file: DatabaseSync, link: Link): void => {
    const { lane, sequence, account, environment, at, record, hash } = link;
    file
      .prepare(
        'insert or replace into journal (lane, sequence, account, environment, at, record, hash) values (?,?,?,?,?,?,?)',
      )
      .run(lane, sequence, account, environment, at, record, hash);
  };
  /** Puts these records in the place of all from `first` on, with hashes that fit. */
  function rewrite(file: DatabaseSync, first: number, records: readonly Link[]): Head {
    const before = linksOf(file).find(({ sequence }) => sequence === first - 1);
    let head: Head = before ?? emptyHead(1);
    file.prepare('delete from journal where sequence >= ?').run(first);
    for (const record of records) {
      const link = linkAfter(head, record);
      put(file, link);
      head = link;
    }
    return head;
  }

  before(async () => {
    const database = await opened(genuine);
    await database.migrate(() => 1);
    for (let start = 0; start < RECORDS; start += 100) {
      const journal = Array.from({ length: 100 }, (_, index) => entry(start + index));
      await database.commit({ writes: [], journal });
    }
    await database.close();
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('an untouched log is in order', async () => {
    assert.deepEqual(await afterTampering(() => undefined), { ok: true, records: RECORDS });
  });

  const columns: Readonly<Record<string, string | number>> = {
    record: '{"action":"nothing"}',
    account: 'acct_other',
    environment: '',
    at: 1_700_000_000_000,
    hash: 'e'.repeat(64),
  };
  for (const [column, value] of Object.entries(columns)) {
    for (const sequence of [1, 1000, 1001, 1234, RECORDS]) {
      test(`a changed ${column} of record ${sequence} is found`, async () => {
        const { ok, fault } = await afterTampering((file) => {
          // The first record has this time already.
          const changed = column === 'at' ? Number(value) + 5 * sequence : value;
          const { changes } = file
            .prepare(`update journal set ${column} = ? where sequence = ?`)
            .run(changed, sequence);
          assert.equal(changes, 1);
        });
        assert.equal(ok, false);
        assert.match(fault ?? '', new RegExp(`record ${sequence}: changed`));
      });
    }
  }

  const run = (sql: string) => (file: DatabaseSync) => {
    assert.ok(file.prepare(sql).run().changes > 0);
  };

  const tamperings: Readonly<Record<string, (file: DatabaseSync) => void>> = {
    'a removed first record': run('delete from journal where sequence = 1'),
    'a removed middle record': run('delete from journal where sequence = 1234'),
    'a removed last record': run(`delete from journal where sequence = ${RECORDS}`),
    'a removed page': run('delete from journal where sequence between 1001 and 2000'),
    'removed records with the head left': run('delete from journal'),
    'a removed head': run('delete from journal_heads'),
    'all removed, heads too': (file) => {
      run('delete from journal')(file);
      run('delete from journal_heads')(file);
    },
    'a removed middle record whose successors moved up': (file) => {
      run('delete from journal where sequence = 1234')(file);
      for (const { sequence } of linksOf(file).slice(1233))
        file.prepare('update journal set sequence = ? where sequence = ?').run(sequence - 1, sequence);
    },
    'two swapped records': (file) => {
      const all = linksOf(file);
      const [left, right] = [all[499], all[500]];
      assert.ok(left !== undefined && right !== undefined);
      put(file, { ...right, sequence: left.sequence });
      put(file, { ...left, sequence: right.sequence });
    },
    'two swapped records, hashes left in their places': (file) => {
      const all = linksOf(file);
      const [left, right] = [all[499], all[500]];
      assert.ok(left !== undefined && right !== undefined);
      put(file, { ...right, sequence: left.sequence, hash: left.hash });
      put(file, { ...left, sequence: right.sequence, hash: right.hash });
    },
    'a record added at the end': (file) => {
      const last = linksOf(file).at(-1);
      assert.ok(last !== undefined);
      put(file, linkAfter(last, entry(1)));
    },
    'a record added before the first': (file) => {
      const link = linkAfter(emptyHead(1), entry(1));
      put(file, { ...link, sequence: 0 });
    },
    'a record with a negative number': (file) => put(file, { ...linkAfter(emptyHead(1), entry(1)), sequence: -5 }),
    'a record between two numbers': (file) => put(file, { ...linkAfter(emptyHead(1), entry(1)), sequence: 7.5 }),
    'a record added in a lane of its own': (file) => put(file, linkAfter(emptyHead(2), entry(1))),
    'a lane of its own with a head that no key sealed': (file) => {
      const link = linkAfter(emptyHead(2), entry(1));
      put(file, link);
      const seal = sealHead(createSecretKey(randomBytes(32)), link);
      file.prepare('insert into journal_heads (lane, sequence, hash, seal) values (2, 1, ?, ?)').run(link.hash, seal);
    },
    'a head moved back without the key': (file) => {
      const earlier = linksOf(file)[1999];
      assert.ok(earlier !== undefined);
      file.prepare('update journal_heads set sequence = 2000, hash = ?').run(earlier.hash);
      run('delete from journal where sequence > 2000')(file);
    },
    'a head moved back while the records stay': (file) => {
      file.prepare('update journal_heads set sequence = 2000, hash = ?').run(linksOf(file)[1999]?.hash ?? '');
    },
    'a head moved to another lane': (file) => {
      run('update journal_heads set lane = 2')(file);
      run('update journal set lane = 2')(file);
    },
    'a seal that is no seal': (file) => {
      file.prepare('update journal_heads set seal = ?').run(new Uint8Array(32));
    },
    'a rewritten suffix with new hashes': (file) => {
      const suffix = linksOf(file).slice(2000);
      const head = rewrite(
        file,
        2001,
        suffix.map((link) => ({ ...link, record: '{}' })),
      );
      file.prepare('update journal_heads set sequence = ?, hash = ?').run(head.sequence, head.hash);
    },
    'a rewritten suffix with new hashes, sealed with another key': (file) => {
      const suffix = linksOf(file).slice(2000);
      const head = rewrite(
        file,
        2001,
        suffix.map((link) => ({ ...link, record: '{}' })),
      );
      const seal = sealHead(createSecretKey(randomBytes(32)), head);
      file.prepare('update journal_heads set sequence = ?, hash = ?, seal = ?').run(head.sequence, head.hash, seal);
    },
    'a rewritten suffix with new hashes and the head left': (file) => {
      rewrite(
        file,
        2001,
        linksOf(file)
          .slice(2000)
          .map((link) => ({ ...link, record: '{}' })),
      );
    },
    'a cut off suffix with a head that fits but for its seal': (file) => {
      const head = rewrite(file, 2001, []);
      file.prepare('update journal_heads set sequence = ?, hash = ?').run(head.sequence, head.hash);
    },
  };
  for (const [what, tamper] of Object.entries(tamperings)) {
    test(`${what}: found`, async () => {
      const { ok, fault } = await afterTampering(tamper);
      assert.equal(ok, false);
      assert.ok((fault ?? '').length > 0);
    });
  }

  test('the fault names the place', async () => {
    const { fault, records } = await afterTampering(run('delete from journal where sequence = 1234'));
    assert.equal(fault, 'lane 1, record 1234: missing');
    assert.equal(records, 1233);
  });

  test('a genuine suffix makes the same log again', async () => {
    assert.deepEqual(await afterTampering((file) => void rewrite(file, 2001, linksOf(file).slice(2000))), {
      ok: true,
      records: RECORDS,
    });
  });

  test('a log verifies while it grows', async () => {
    const path = join(directory, 'growing.db');
    copyFileSync(genuine, path);
    const database = await opened(path);
    const other = await opened(path);
    let writing = true;
    const writers = [database, other].map(async (instance) => {
      for (let round = 0; writing; round++)
        await Promise.all(
          Array.from({ length: 20 }, (_, index) => instance.commit({ writes: [], journal: [entry(round + index)] })),
        );
    });
    let last = 0;
    for (let round = 0; round < 25; round++) {
      const { ok, records, fault } = await verifyJournal(database, key);
      assert.equal(ok, true, fault);
      assert.ok(records >= last);
      last = records;
      await pause(10);
    }
    writing = false;
    await Promise.all(writers);
    assert.ok(last > RECORDS, 'nothing was written meanwhile');
    await other.close();
    await database.close();
  });

  test('an export holds every record in order, across pages', async () => {
    const database = await opened(genuine);
    const exported: Link[] = [];
    for await (const link of exportJournal(database)) exported.push(link);
    await database.close();
    assert.deepEqual(
      exported.map(({ record }) => record),
      Array.from({ length: RECORDS }, (_, index) => entry(index).record),
    );
    let head: Head = emptyHead(1);
    for (const link of exported) {
      assert.deepEqual({ ...link }, linkAfter(head, link));
      head = link;
    }
  });
});
