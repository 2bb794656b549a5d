import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { insertAccounts, numberOf } from '../../test/fixtures/accounts.ts';
import {
  ACCOUNTS,
  buildJournal,
  type Chained,
  entryOf,
  LONG,
  RECORDS,
  SERVICE,
  TOTAL,
} from '../../test/fixtures/journals.ts';
import { inScope, isLong } from '../../test/scope.ts';
import { DigestKeys } from '../crypto/digest-keys.ts';
import { AccountNumbers, environmentNumber } from '../storage/account-numbers.ts';
import type { Database, Row } from '../storage/database.ts';
import {
  appendRecord,
  type ChainedRecord,
  emptyHead,
  extendChains,
  type Head,
  isAnnouncement,
  sealHead,
} from '../storage/journal.ts';
import {
  findRegisterWithout,
  insertRegister,
  READ_REGISTER,
  REPLACE_REGISTER,
  withLane,
} from '../storage/lane-register.ts';
import { Connection } from '../storage/sqlite/connection.ts';
import { SqliteDatabase } from '../storage/sqlite/sqlite.ts';
import { exportJournal, type Verification, verifyJournal } from './verify-journal.ts';

/** Greater than those of the accounts in the journal. */
const OTHER_NUMBER = 200_000;
const ENVIRONMENT_NAMES = ['production', 'sandbox'];

describe('verifying the audit log', { timeout: 240_000 }, () => {
  const key = DigestKeys.of(createSecretKey(randomBytes(32)));
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-verify-'));
  const genuine = join(directory, 'genuine.db');
  let copies = 0;

  async function opened(path: string): Promise<SqliteDatabase> {
    const database = new SqliteDatabase(path);
    await database.useJournalKey(key);
    return database;
  }

  /** The parts that the verifier needs, without the writer thread. */
  const readerOf = (connection: Connection): Database => {
    const accounts = new AccountNumbers(async (sql, ...values) => connection.statement(sql).all(...values) as Row[]);
    const read: Database['read'] = (sql, ...values) => accounts.read(sql, values);
    return { read } as Database;
  };

  /** Returns the verifier's result for a copy that an attacker with access to the file has altered. */
  async function afterTampering(tamper: (file: DatabaseSync) => void): Promise<Verification> {
    const path = join(directory, `copy-${copies++}.db`);
    copyFileSync(genuine, path);
    const file = new DatabaseSync(path);
    // In one transaction: hundreds of rows that each wait for the disk take seconds.
    file.exec('begin');
    tamper(file);
    file.exec('commit');
    file.close();
    const connection = new Connection(path, { readOnly: true });
    const result = await verifyJournal(readerOf(connection), key);
    connection.close();
    return result;
  }

  const recordsOf = (file: DatabaseSync, { where, account }: Pick<Chained, 'where' | 'account'>): ChainedRecord[] =>
    file
      .prepare(`select * from journal where ${where} order by sequence`)
      .all()
      .map((row) => ({ ...row, account, environment: ENVIRONMENT_NAMES[Number(row['environment'])] }) as ChainedRecord);
  const put = (file: DatabaseSync, link: ChainedRecord): void => {
    const { lane, sequence, account, environment, at, record, hash } = link;
    file
      .prepare(
        'insert or replace into journal (lane, sequence, account, environment, at, record, hash) values (?,?,?,?,?,?,?)',
      )
      .run(lane, sequence, insertedNumber(file, account), environmentNumber(environment), at, record, hash);
  };
  /** The number of an account, which gets a row when it has none. */
  const insertedNumber = (file: DatabaseSync, account: string): number => {
    if (account === '') return 0;
    file
      .prepare('insert into accounts (id, number, name, created_at) values (?, ?, ?, 1) on conflict do nothing')
      .run(account, OTHER_NUMBER, account);
    return Number(file.prepare('select number from accounts where id = ?').get(account)?.['number']);
  };
  /** Replaces all records from `first` on with these, with correct hashes. */
  function rewrite(file: DatabaseSync, chain: Chained, first: number, records: readonly ChainedRecord[]): Head {
    const { account, lane, where } = chain;
    const found = recordsOf(file, chain).find(({ sequence }) => sequence === first - 1);
    let head: Head = found === undefined ? emptyHead(account, lane) : { ...found, account };
    file.prepare(`delete from journal where ${where} and sequence >= ?`).run(first);
    for (const record of records) {
      const link = appendRecord(head, record);
      put(file, link);
      head = { ...link, account };
    }
    return head;
  }
  const run = (sql: string) => (file: DatabaseSync) => {
    assert.ok(file.prepare(sql).run().changes > 0);
  };
  const isFound = async (tamper: (file: DatabaseSync) => void, fault: RegExp = /./): Promise<void> => {
    const found = await afterTampering(tamper);
    assert.equal(found.ok, false);
    assert.match(found.fault ?? '', fault);
  };

  before(() => buildJournal(genuine, key));
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('an unaltered log is intact', async () => {
    assert.deepEqual(await afterTampering(() => undefined), { ok: true, records: TOTAL });
  });

  for (const chain of [SERVICE, LONG])
    describe(`in ${chain.name}`, () => {
      const { where, account, lane, location: place } = chain;

      const entry = entryOf(account, 1);
      const first = emptyHead(account, lane);
      const firstLink = appendRecord(first, entry);

      const columns: Readonly<Record<string, string | number>> = {
        record: '{"action":"nothing"}',
        account: OTHER_NUMBER,
        environment: 3,
        at: 1_600_000_000_000,
        hash: 'e'.repeat(64),
      };
      const sequences = [1, 1000, 1001, RECORDS, 1234];
      for (const [index, [column, value]] of Object.entries(columns).entries()) {
        for (const sequence of inScope({ usual: sequences.slice(index, index + 1), long: sequences })) {
          test(`a changed ${column} of record ${sequence} is found`, () =>
            isFound(
              (file) => {
                const sql = `update journal set ${column} = ? where ${where} and sequence = ?`;
                assert.equal(file.prepare(sql).run(value, sequence).changes, 1);
              },
              // A record with another account is no longer in its chain.
              new RegExp(`${place}, record ${sequence}: ${column === 'account' ? 'missing' : 'changed'}`),
            ));
        }
      }

      const moveHead = (file: DatabaseSync, head: Head, seal?: Uint8Array): void => {
        file.prepare(`update journal_heads set sequence = ?, hash = ? where ${where}`).run(head.sequence, head.hash);
        if (seal !== undefined) file.prepare(`update journal_heads set seal = ? where ${where}`).run(seal);
      };
      const rewritten = (file: DatabaseSync): Head => {
        const suffix = recordsOf(file, chain).slice(2000);
        return rewrite(
          file,
          chain,
          2001,
          suffix.map((link) => ({ ...link, record: '{}' })),
        );
      };
      const swap = (file: DatabaseSync, isWhole: boolean): void => {
        const [left, right] = recordsOf(file, chain).slice(499, 501);
        assert.ok(left !== undefined && right !== undefined);
        file.prepare(`delete from journal where ${where} and sequence in (500, 501)`).run();
        put(file, { ...right, sequence: left.sequence, ...(isWhole && { hash: left.hash }) });
        put(file, { ...left, sequence: right.sequence, ...(isWhole && { hash: right.hash }) });
      };
      const tamperings: Readonly<Record<string, (file: DatabaseSync) => void>> = {
        'a removed first record': run(`delete from journal where ${where} and sequence = 1`),
        'a removed middle record': run(`delete from journal where ${where} and sequence = 1234`),
        'a removed last record': run(`delete from journal where ${where} and sequence = ${RECORDS}`),
        'a removed page': run(`delete from journal where ${where} and sequence between 1001 and 2000`),
        'removed records with the head left': run(`delete from journal where ${where}`),
        'a removed head': run(`delete from journal_heads where ${where}`),
        'all removed, its head too': (file) => {
          run(`delete from journal where ${where}`)(file);
          run(`delete from journal_heads where ${where}`)(file);
        },
        'a removed middle record whose successors moved up': (file) => {
          run(`delete from journal where ${where} and sequence = 1234`)(file);
          const move = file.prepare(`update journal set sequence = ? where ${where} and sequence = ?`);
          for (const { sequence } of recordsOf(file, chain).slice(1233)) move.run(sequence - 1, sequence);
        },
        'two swapped records': (file) => swap(file, false),
        'two swapped records, hashes left in their places': (file) => swap(file, true),
        'a record added at the end': (file) => {
          const last = recordsOf(file, chain).at(-1);
          assert.ok(last !== undefined);
          put(file, appendRecord(last, entry));
        },
        'a record added before the first': (file) => put(file, { ...firstLink, sequence: 0 }),
        'a record with a negative number': (file) => put(file, { ...firstLink, sequence: -5 }),
        'a record between two numbers': (file) => put(file, { ...firstLink, sequence: 7.5 }),
        'a head moved back without the key': (file) => {
          const earlier = recordsOf(file, chain)[1999];
          assert.ok(earlier !== undefined);
          moveHead(file, earlier);
          run(`delete from journal where ${where} and sequence > 2000`)(file);
        },
        'a head moved back while the records stay': (file) => {
          const earlier = recordsOf(file, chain)[1999];
          assert.ok(earlier !== undefined);
          moveHead(file, earlier);
        },
        'a chain moved to another lane': (file) => {
          run(`update journal_heads set lane = 8 where ${where}`)(file);
          run(`update journal set lane = 8 where ${where}`)(file);
        },
        'a seal that is no seal': (file) => {
          file.prepare(`update journal_heads set seal = ? where ${where}`).run(new Uint8Array(32));
        },
        'a rewritten suffix with new hashes': (file) => moveHead(file, rewritten(file)),
        'a rewritten suffix with new hashes, sealed with another key': (file) => {
          const head = rewritten(file);
          moveHead(file, head, sealHead(DigestKeys.of(createSecretKey(randomBytes(32))), head));
        },
        'a rewritten suffix with new hashes and the head left': (file) => void rewritten(file),
        'a cut off suffix with a head that fits but for its seal': (file) =>
          moveHead(file, rewrite(file, chain, 2001, [])),
      };
      // In `npm test` the two chains take turns.
      const turn = [SERVICE, LONG].indexOf(chain);
      for (const [index, [what, tamper]] of Object.entries(tamperings).entries())
        if (isLong || index % 2 === turn) test(`${what} is found`, () => isFound(tamper));

      test('the fault names the position', async () => {
        const { fault } = await afterTampering(run(`delete from journal where ${where} and sequence = 1234`));
        assert.equal(fault, `${place}, record 1234: missing`);
      });

      test('an authentic suffix restores the same log', async () => {
        const again = (file: DatabaseSync) => void rewrite(file, chain, 2001, recordsOf(file, chain).slice(2000));
        assert.deepEqual(await afterTampering(again), { ok: true, records: TOTAL });
      });
    });

  describe('in all chains together', () => {
    const small = ACCOUNTS[120] ?? '';
    const removeChain = (file: DatabaseSync, account: string): void => {
      for (const table of ['journal', 'journal_heads'])
        assert.ok(
          file.prepare(`delete from ${table} where account = ${numberOf(account)} and lane = 1`).run().changes > 0,
        );
    };
    const putHead = (file: DatabaseSync, head: Head, seal: Uint8Array): void => {
      file
        .prepare('insert into journal_heads (account, lane, sequence, hash, seal) values (?, ?, ?, ?, ?)')
        .run(insertedNumber(file, head.account), head.lane, head.sequence, head.hash, seal);
    };

    const JOURNAL = ['journal', 'journal_heads'];

    test('the removal of everything is found', async () => {
      const removeAll = (file: DatabaseSync): void => {
        for (const table of JOURNAL) run(`delete from ${table}`)(file);
      };
      await isFound(removeAll, /^lane 1: the chain that announces the others is missing$/);
      await isFound((file) => {
        removeAll(file);
        run('delete from lane_register')(file);
      }, /^the register of lanes is missing$/);
      await isFound((file) => {
        removeAll(file);
        run("update lane_register set lanes = '[]'")(file);
      }, /^the seal of the register of lanes is invalid$/);
    });

    test('the removal of everything and a new start is found by its first record', async () => {
      for (const table of [[], ['lane_register']]) {
        const path = join(directory, `restarted-${table.length}.db`);
        copyFileSync(genuine, path);
        const file = new DatabaseSync(path);
        for (const each of [...JOURNAL, ...table]) run(`delete from ${each}`)(file);
        file.close();
        const database = await opened(path);
        await database.commit({ writes: [], journal: [entryOf('', 1), entryOf(small, 1)] });
        const { fault } = await verifyJournal(database, key);
        await database.close();
        const missing = 'the register of lanes is missing';
        assert.equal(fault, table.length > 0 ? missing : 'lane 1: the first record is not the registered one');
      }
    });

    test('an empty register with a valid seal is not accepted as a start', () =>
      isFound((file) => {
        for (const table of [...JOURNAL, 'lane_register']) run(`delete from ${table}`)(file);
        const { sql, rows } = insertRegister(key);
        file.prepare(sql).run(...(rows[0] ?? []));
      }, /^the register of lanes is empty$/));

    describe('with a second lane', () => {
      const openSecond = (file: DatabaseSync): void => {
        const { records, heads, newLane } = extendChains(key, 2, new Map(), [entryOf('', 1), entryOf(small, 2)]);
        for (const link of records) put(file, link);
        for (const head of heads) putHead(file, head, head.seal);
        const register = findRegisterWithout(2, key, file.prepare(READ_REGISTER).get() as Row);
        assert.ok(register !== undefined && newLane !== undefined);
        assert.equal(file.prepare(REPLACE_REGISTER).run(...withLane(key, register, newLane)).changes, 1);
      };
      const withSecond =
        (tamper: (file: DatabaseSync) => void) =>
        (file: DatabaseSync): void => {
          openSecond(file);
          tamper(file);
        };

      test('is intact', async () => {
        assert.deepEqual(await afterTampering(openSecond), { ok: true, records: TOTAL + 3 });
      });

      test('the removal of the newest lane, with its heads, is found', () =>
        isFound(
          withSecond((file) => {
            for (const table of JOURNAL) run(`delete from ${table} where lane = 2`)(file);
          }),
          /^lane 2: the chain that announces the others is missing$/,
        ));

      test('the removal of its heads alone is found', () =>
        isFound(withSecond(run('delete from journal_heads where lane = 2')), /^lane 2: /));

      test('the removal of its first records is found', () =>
        isFound(
          withSecond(run('delete from journal where account = 0 and lane = 2 and sequence = 1')),
          /^lane 2, record 1: missing$/,
        ));

      test('its removal from the register as well is found by the seal', () =>
        isFound(
          withSecond((file) => {
            for (const table of JOURNAL) run(`delete from ${table} where lane = 2`)(file);
            run("update lane_register set lanes = '[' || json_extract(lanes, '$[0]') || ']'")(file);
          }),
          /^the seal of the register of lanes is invalid$/,
        ));
    });

    test('the removal of a chain, with its head, is found by its announcement', async () => {
      const chains = [small, ACCOUNTS[0] ?? '', ACCOUNTS.at(-1) ?? '', LONG.account];
      for (const account of isLong ? chains : chains.slice(-2))
        await isFound(
          (file) => removeChain(file, account),
          new RegExp(`^account ${account}, lane 1: the chain was announced and is missing$`),
        );
    });

    test('the removal of the chain of announcements, with its head, is found', () =>
      isFound((file) => removeChain(file, ''), /^lane 1: the chain that announces the others is missing$/));

    test('a chain that was removed and started again is announced twice', async () => {
      const path = join(directory, 'anew.db');
      copyFileSync(genuine, path);
      const file = new DatabaseSync(path);
      removeChain(file, small);
      file.close();
      const database = await opened(path);
      await database.commit({ writes: [], journal: [entryOf(small, 1)] });
      const { fault } = await verifyJournal(database, key);
      await database.close();
      assert.equal(fault, `account ${small}, lane 1: the chain was announced twice`);
    });

    test('a chain without an announcement is found, even with a valid seal', () =>
      isFound((file) => {
        const link = appendRecord(emptyHead('acct_new', 1), entryOf('acct_new', 1));
        put(file, link);
        putHead(file, link, sealHead(key, link));
      }, /^account acct_new, lane 1: the chain was never announced$/));

    test('a record in a chain without a head is found', () =>
      isFound(
        (file) => put(file, appendRecord(emptyHead('acct_new', 1), entryOf('acct_new', 1))),
        /acct_new, lane 1: 1 rec/,
      ));

    test('a record without an account in a lane below all others is found', () =>
      isFound(
        (file) => put(file, appendRecord(emptyHead('', -(2 ** 40)), entryOf('', 1))),
        /^lane -1099511627776: 1 rec/,
      ));

    test('a lane with a head that no key sealed is found', () =>
      isFound((file) => {
        const link = appendRecord(emptyHead('', 3), entryOf('', 1));
        put(file, link);
        putHead(file, link, sealHead(DigestKeys.of(createSecretKey(randomBytes(32))), link));
      }, /^lane 3: the lane was never registered$/));

    test('a chain that was assigned to another account is found', () =>
      isFound((file) => {
        for (const table of ['journal', 'journal_heads'])
          run(`update ${table} set account = ${OTHER_NUMBER} where account = ${numberOf(small)} and lane = 1`)(file);
      }));

    test('an announcement that was made unreadable, with correct hashes, is a fault and no crash', () =>
      isFound((file) => {
        const chain = { ...LONG, account: '', where: 'account = 0 and lane = 1' };
        const links = recordsOf(file, chain);
        rewrite(
          file,
          chain,
          5,
          links.slice(4).map((link) => ({ ...link, record: '{"action":"journal.opened"' })),
        );
      }, /^lane 1, record [0-9]+: changed$/));

    test('text from the database does not control the terminal', () =>
      isFound((file) => {
        put(file, appendRecord(emptyHead('\u001b[2J', 1), entryOf('\u001b[2J', 1)));
      }, /^an unknown account, lane 1/));
  });

  test('a log can be verified while it grows and while chains start before and after the current position', async () => {
    const path = join(directory, 'growing.db');
    copyFileSync(genuine, path);
    const database = await opened(path);
    const instances = [database, await opened(path)];
    let created = 0;
    /** Starts chains of new accounts by both instances in turn, and lengthens the long chain. */
    const grow = async (): Promise<void> => {
      const instance = instances[created % 2] ?? assert.fail();
      const first = created % 2 === 0 ? 1 + created : OTHER_NUMBER + created;
      const accounts = Array.from({ length: 4 }, () => `acct_growing_${created++}`);
      created++;
      await insertAccounts(instance, accounts, first);
      await Promise.all(
        [...accounts, LONG.account].map((account) =>
          instance.commit({ writes: [], journal: [entryOf(account, 1), entryOf(account, 2)] }),
        ),
      );
    };
    let last = 0;
    const rounds = inScope({ usual: 2, long: 4 });
    for (let round = 0; round < rounds; round++) {
      const { ok, records, fault } = await verifyJournal(betweenReads(database, grow), key);
      assert.equal(ok, true, fault);
      assert.ok(records >= last);
      last = records;
    }
    assert.ok(last > TOTAL && created > 25 * rounds, 'nothing was written in between');
    for (const instance of instances) await instance.close();
  });

  /** Runs an operation before every 50th read. */
  const betweenReads = (database: SqliteDatabase, run: () => Promise<void>): SqliteDatabase => {
    let reads = 0;
    return new Proxy(database, {
      get: (target, name) =>
        name === 'read'
          ? async (...args: Parameters<SqliteDatabase['read']>) => {
              if (reads++ % 50 === 0) await run();
              return target.read(...args);
            }
          : Reflect.get(target, name),
    });
  };

  const exportOf = async (account?: string): Promise<ChainedRecord[]> => {
    const database = await opened(genuine);
    const links = await Array.fromAsync(exportJournal(database, account));
    await database.close();
    return links;
  };

  test('an export contains every record, chain after chain and in order, across pages', async () => {
    const exported = await exportOf();
    assert.equal(exported.length, TOTAL);
    const heads = new Map<string, Head>();
    for (const link of exported) {
      const { account } = link;
      const name = `${account}/${link.lane}`;
      assert.deepEqual({ ...link }, appendRecord(heads.get(name) ?? emptyHead(account, link.lane), link));
      heads.set(name, { ...link, account });
    }
    const of = (account: string) => exported.filter((link) => link.account === account);
    assert.deepEqual(
      of(LONG.account).map(({ record }) => record),
      Array.from({ length: RECORDS }, (_, index) => entryOf('', index).record),
    );
    assert.equal(of('').filter(isAnnouncement).length, ACCOUNTS.length + 1);
  });

  test('an export of one account contains its chains', async () => {
    const exported = await exportOf();
    for (const account of ['', LONG.account, ACCOUNTS[0] ?? '', 'acct_unknown']) {
      const own = exported.filter((link) => link.account === account).sort((a, b) => a.lane - b.lane);
      assert.deepEqual(await exportOf(account), own);
    }
    assert.equal((await exportOf(LONG.account)).length, RECORDS);
  });
});
