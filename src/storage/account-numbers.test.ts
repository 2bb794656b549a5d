import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AccountNumbers, environmentNumber } from './account-numbers.ts';
import type { Row, Value } from './database.ts';

const ACCOUNTS: readonly Row[] = [
  { id: 'acct_one', number: 1 },
  { id: 'acct_two', number: 2 },
];

/** Conversion over a database with two accounts; `rows` are the result of any other statement. */
function open(rows: readonly Row[] = []): { numbers: AccountNumbers; reads: [string, readonly Value[]][] } {
  const reads: [string, readonly Value[]][] = [];
  const numbers = new AccountNumbers(async (sql, ...values) => {
    reads.push([sql, values]);
    if (!sql.includes('from accounts')) return [...rows];
    return ACCOUNTS.filter(({ id, number }) => values.length === 0 || values[0] === id || values[0] === number);
  });
  return { numbers, reads };
}

/** The values of the newest statement but those of the conversion itself. */
const boundOf = (reads: readonly [string, readonly Value[]][]): readonly Value[] | undefined =>
  reads.findLast(([sql]) => !sql.includes('from accounts'))?.[1];

describe('accounts and environments in statements', () => {
  test('are the only values bound as account numbers', async () => {
    const { numbers, reads } = open();
    const sql = 'select 1 from t where a = ? and account = ?account and b = ? and environment = ?environment and c = ?';
    await numbers.read(sql, ['acct_one', 'acct_two', 'sandbox', 'sandbox', 'acct_one']);
    const bound = 'select 1 from t where a = ? and account = ? and b = ? and environment = ? and c = ?';
    assert.deepEqual(reads.at(-1), [bound, ['acct_one', 2, 'sandbox', 1, 'acct_one']]);
  });

  test('are converted back in results, each account read once', async () => {
    const rows = [
      { account: 1, environment: 0, at: 1 },
      { account: 2, environment: 1, at: 2 },
      { account: 1, environment: 2, at: 3 },
      { account: 0, environment: 3, at: 4 },
    ];
    const { numbers, reads } = open(rows);
    const expected = [
      { account: 'acct_one', environment: 'production', at: 1 },
      { account: 'acct_two', environment: 'sandbox', at: 2 },
      { account: 'acct_one', environment: 'service', at: 3 },
      { account: '', environment: '', at: 4 },
    ];
    assert.deepEqual(await numbers.read('select * from t', []), expected);
    assert.deepEqual(await numbers.read('select * from t', []), expected);
    assert.equal(reads.filter(([sql]) => sql.includes('from accounts')).length, 2);
  });

  test('that an attacker wrote are converted to texts that name no account, and back where they are numbers', async () => {
    const rows = [
      { account: 7, environment: 9 },
      { account: 'acct_one', environment: 'sandbox' },
      { account: new Uint8Array([1]), environment: 1.5 },
    ];
    const { numbers, reads } = open(rows);
    const unreadable = { account: '\ufffd', environment: '\ufffd' };
    const found = await numbers.read('select * from t', []);
    assert.deepEqual(found, [{ account: '#7', environment: '#9' }, unreadable, unreadable]);
    await numbers.read('select 1 from t where account = ?account and environment = ?environment', ['#7', '#9']);
    assert.deepEqual(boundOf(reads), [7, 9]);
    for (const text of ['\ufffd', 'acct_unknown', '#', '#x', '#1e3']) {
      await numbers.read('select 1 from t where account = ?account', [text]);
      assert.deepEqual(boundOf(reads), [null], text);
      assert.equal(environmentNumber(text), null);
    }
  });

  test('of a unit of work are converted synchronously while its accounts are cached', async () => {
    const { numbers } = open();
    const unit = {
      account: 'acct_two',
      writes: [
        {
          sql: 'insert into t (account, environment, name) values (?account, ?environment, ?)',
          rows: [['acct_one', 'production', 'acct_one']],
          expectedRows: 1,
        },
        { sql: 'delete from t where name = ?', rows: [['acct_one']] },
      ],
      journal: [{ account: 'acct_one', environment: 'sandbox', at: 1, record: '{}' }],
      scrubAfterCommit: true,
    };
    const first = numbers.convert(unit);
    assert.ok(first instanceof Promise);
    const expected = {
      account: 2,
      writes: [
        {
          sql: 'insert into t (account, environment, name) values (?, ?, ?)',
          rows: [[1, 0, 'acct_one']],
          expectedRows: 1,
        },
        { sql: 'delete from t where name = ?', rows: [['acct_one']] },
      ],
      journal: [{ account: 'acct_one', environment: 'sandbox', at: 1, record: '{}', number: 1 }],
      scrubAfterCommit: true,
    };
    assert.deepEqual(await first, expected);
    assert.deepEqual(numbers.convert(unit), expected);
  });

  test('of an account that a unit of work inserts are cached before', () => {
    const { numbers } = open();
    numbers.name('acct_new', 3);
    const journal = [{ account: 'acct_new', environment: '', at: 1, record: '{}' }];
    assert.deepEqual(numbers.convert({ writes: [], journal }), { writes: [], journal: [{ ...journal[0], number: 3 }] });
  });

  test('that do not exist are written as null; their records belong to the service', async () => {
    const { numbers } = open();
    const { writes, journal } = await numbers.convert({
      writes: [{ sql: 'insert into t (account) values (?account)', rows: [['acct_gone']] }],
      journal: [{ account: 'acct_gone', environment: 'sandbox', at: 1, record: '{}' }],
    });
    assert.deepEqual(writes[0]?.rows, [[null]]);
    assert.deepEqual(journal, [{ account: '', environment: 'sandbox', at: 1, record: '{}', number: 0 }]);
  });
});
