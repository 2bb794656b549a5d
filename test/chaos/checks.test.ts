import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { inScope } from '../scope.ts';
import { checkAll, findingsOf } from './chaos.ts';
import { count } from './check-records.ts';
import { Load } from './load.ts';
import { Testbed } from './testbed.ts';

/** Shows that the checker finds faults: each test inserts one into the database, and the checker must find it. */
const POLL_INTERVAL_MS = 250;
/** The rows of a database in which the checks can find faults. */
const NEEDED = [
  'tokens where format is null and deleted_at is null and scheme in (3, 7)',
  'captures',
  "simulator_payments where outcome = 'approved' and sale = 1",
  "simulator_modifications where outcome = 'approved' and type = 'capture'",
  'idempotency where status = 200',
  `journal where record like '%"action":"token.detokenized"%'`,
];
const ENOUGH = inScope({ usual: 2, long: 5 });
const ENOUGH_WITHIN_MS = 90_000;

/** Tables without row ids, by the end of their primary key. */
const KEYS: Readonly<Record<string, string>> = { tokens: 'created_at, slot', captures: 'created_at, id' };

const first = (table: string, condition: string): string => {
  const key = KEYS[table] ?? 'rowid';
  return `(${key}) = (select ${key} from ${table} where ${condition} order by ${key} limit 1)`;
};

const TAMPERINGS: readonly { readonly what: string; readonly sql: string; readonly found: RegExp }[] = [
  {
    what: 'a token is lost',
    sql: `delete from tokens where ${first('tokens', 'format is null and deleted_at is null and scheme in (3, 7)')}`,
    found: /token \S+ was acknowledged and does not return its card on node 1: 400/,
  },
  {
    what: 'a token exists that no response contained',
    sql: `insert into tokens (account, environment, slot, scheme, fingerprint_version, revision, created_at)
      select account, environment, cast(slot || '0' as blob), 1, 1, 1, created_at from tokens where ${first('tokens', 'format is null')}`,
    found: /tokens that were asked for without one: \d+ in the table, expected/,
  },
  {
    what: 'a capture is lost',
    sql: `delete from captures where ${first('captures', 'true')}`,
    found: /capture \S+ was acknowledged and is gone/,
  },
  {
    what: 'a capture was made twice',
    sql: `insert into captures (account, environment, id, record, fingerprint_version, amount, currency, created_at, expires_at)
      select account, environment, id || '0', record, 1, amount, currency, created_at, expires_at
      from captures where ${first('captures', 'true')}`,
    found: /request \d+ \(create capture\) made capture \S+, too/,
  },
  {
    what: 'a capture lives too long',
    sql: `update captures set expires_at = expires_at + 3600000
      where id = (select id from captures where length(id) = 36 order by created_at desc, id desc limit 1)`,
    found: /capture \S+ of request \d+ \(create capture\) ends at a wrong time/,
  },
  {
    what: 'the processor has booked more than we know',
    sql: `update simulator_payments set refunded = '123'
      where ${first('simulator_payments', "outcome = 'approved' and sale = 1")}`,
    found: /payment \S+ is Collected \S+ \S+ \S+, and with the processor Collected \S+ \S+ 1\.23/,
  },
  {
    what: 'an authorization is with the processor only',
    sql: `insert into simulator_payments (account, environment, operation_ref, reference, outcome, amount, currency, sale, refunded, reversed,
        created_at, revision)
      select account, environment, operation_ref || 'x', reference || 'x', outcome, amount, currency, sale, '0', 0, created_at, 1
      from simulator_payments where ${first('simulator_payments', "outcome = 'approved'")}`,
    found: /payment \S+x is known to the processor only/,
  },
  {
    what: 'a capture of a payment is booked twice',
    sql: `insert into simulator_modifications (account, environment, operation_ref, reference, payment, type, amount, currency, outcome)
      select account, environment, operation_ref || 'y', reference || 'y', payment, type, amount, currency, outcome
      from simulator_modifications where ${first('simulator_modifications', "outcome = 'approved' and type = 'capture'")}`,
    found: /payment \S+: captured \S+ and \S+y/,
  },
  {
    what: 'kept answers are lost',
    sql: 'delete from idempotency where rowid in (select rowid from idempotency where status = 200 limit 20)',
    found: /carried out again/,
  },
  {
    what: 'the record of a read is lost',
    sql: `delete from journal where ${first('journal', `record like '%"action":"token.detokenized"%'`)}`,
    found: /request \d+ \(detokenize\) is not in the audit log/,
  },
  {
    what: 'the audit chain is broken',
    sql: 'select 1',
    found: /node 1: audit verify: .*"ok":\s*false/s,
  },
];

/** Resolves when there are enough records of each kind. */
async function enough(testbed: Testbed): Promise<void> {
  const until = Date.now() + ENOUGH_WITHIN_MS;
  for (const rows of NEEDED)
    while ((await count(testbed, rows)) < ENOUGH) {
      assert.ok(Date.now() < until, `within ${ENOUGH_WITHIN_MS} ms fewer than ${ENOUGH} of ${rows}`);
      await wait(POLL_INTERVAL_MS);
    }
}

describe('the checker reports that', { timeout: 120_000 }, () => {
  let testbed: Testbed;
  let sound: readonly string[];
  let findings: readonly string[];

  before(async () => {
    testbed = await Testbed.set({ database: 'sqlite', diskMegabytes: undefined, seed: 1, workers: 1 });
    const { nodes, ledger, retryingClient, expectedRecords, seeded } = testbed;
    const load = new Load(
      { nodes, ledger, retryingClient, expectedRecords, seeded },
      { clients: 12, captureEnds: false },
    );
    load.start();
    try {
      await enough(testbed);
    } finally {
      await load.stop();
    }
    await checkAll(testbed, () => undefined);
    sound = findingsOf(testbed);
    for (const { sql } of TAMPERINGS) await testbed.query(sql);
    await checkAll(testbed, () => undefined);
    findings = findingsOf(testbed);
  });
  after(() => testbed?.clear());

  test('nothing is wrong when the records are correct', () => assert.deepEqual(sound, []));

  for (const { what, found } of TAMPERINGS)
    test(what, () =>
      assert.ok(
        findings.some((finding) => found.test(finding)),
        findings.join('\n'),
      ),
    );
});
