import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { Client } from 'pg';
import type { OpenCore } from '../../src/core.ts';
import { Transactions } from '../../src/idempotency/transaction.ts';
import { DAY } from '../../src/kernel/clock.ts';
import type { Database, UnitOfWork, Value } from '../../src/storage/database.ts';
import { TokenRetention } from '../../src/vault/token-retention.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { newRotatingVault, RotatingVault } from '../fixtures/rotation.ts';
import { RuledTenant } from '../fixtures/ruled-tenant.ts';
import { luhnPan } from '../fixtures/test-service.ts';

const UNUSED_DAYS = 30;
const WAIT_DAYS = 14;

/** Moments of a deletion: its tokens were read, or its transaction is about to be committed. */
const MOMENTS = { selected: 'after the selection', committing: 'before the commit' } as const;
type Moment = keyof typeof MOMENTS;

const SELECTS_UNUSED = /\bfrom tokens\b[\s\S]*\bnot exists \(select 1 from token_uses\b/;
const DELETES_TOKENS = /^update tokens set format = null/;

/** The database as retention sees it, which lets another request run at a moment of a deletion. */
class InterruptedDatabase {
  readonly database: Database;
  #moment: Moment | undefined;
  #act: () => Promise<unknown> = () => Promise.resolve();

  constructor(database: Database) {
    this.database = Object.assign(Object.create(database) as Database, {
      read: async (sql: string, ...values: readonly Value[]) => {
        const rows = await database.read(sql, ...values);
        if (SELECTS_UNUSED.test(sql)) await this.#reach('selected');
        return rows;
      },
      commit: async (unit: UnitOfWork) => {
        if (unit.writes.some(({ sql }) => DELETES_TOKENS.test(sql))) await this.#reach('committing');
        return database.commit(unit);
      },
    });
  }

  /** True until the next deletion has reached the moment. */
  get isArmed(): boolean {
    return this.#moment !== undefined;
  }

  /** Runs `act` once, when the next deletion reaches the moment. */
  interrupt(moment: Moment, act: () => Promise<unknown>): void {
    this.#moment = moment;
    this.#act = act;
  }

  async #reach(moment: Moment): Promise<void> {
    if (moment !== this.#moment) return;
    this.#moment = undefined;
    await this.#act();
  }
}

for (const kind of ['sqlite', 'postgres'] as const) {
  describe(`a deletion by a retention rule over ${kind}`, {
    timeout: 120_000,
    skip: kind === 'postgres' && whyNoPostgres(),
  }, () => {
    let vault: RotatingVault;
    let core: OpenCore;
    let interrupted: InterruptedDatabase;
    let retention: TokenRetention;
    let owner: RuledTenant;
    let pan: string;
    /** The token of `pan`, which changes or is used, and another one. */
    let first: string;
    let second: string;
    const sweep = (): Promise<number> => retention.sweep(vault.clock.clock());
    const remaining = async (): Promise<boolean[]> => [await owner.hasToken(first), await owner.hasToken(second)];
    const interrupt = (moment: Moment, act: () => Promise<unknown>): void => interrupted.interrupt(moment, act);

    before(async () => {
      vault = await newRotatingVault(kind);
      core = await vault.open();
      core.time.accept(core.time.read());
      interrupted = new InterruptedDatabase(core.database);
      const { database } = interrupted;
      const { clock, idempotency } = core;
      retention = new TokenRetention({
        ...core,
        database,
        transactions: new Transactions({ database, clock, idempotency }),
      });
    });
    beforeEach(async () => {
      owner = await RuledTenant.create(core, UNUSED_DAYS);
      pan = luhnPan('411111');
      first = await owner.tokenize(pan, 'Ana Lopez');
      second = await owner.tokenize(luhnPan('555555'), 'Ben Lopez');
      vault.clock.advance((UNUSED_DAYS + 1) * DAY);
      await sweep();
      assert.equal((await owner.findRule())?.announcement?.count, 2);
      vault.clock.advance(WAIT_DAYS * DAY);
    });
    afterEach(async () => {
      assert.equal(interrupted.isArmed, false);
      if ((await owner.findRule()) !== undefined) await owner.setRule(undefined);
    });
    after(() => vault.end());

    /** The next round begins behind the batch, and ends the announcement. */
    const assertOnlySecondDeleted = async (): Promise<void> => {
      assert.equal(await sweep(), 1);
      assert.deepEqual(await remaining(), [true, false]);
      assert.equal(await sweep(), 0);
      assert.deepEqual(await remaining(), [true, false]);
      const deleted = await owner.listRecords('token.deleted');
      assert.deepEqual(
        deleted.map(({ targets }) => targets),
        [[`token:${second}`]],
      );
    };
    const assertNothingDeleted = async (): Promise<void> => {
      assert.equal(await sweep(), 0);
      assert.deepEqual(await remaining(), [true, true]);
      assert.equal(await sweep(), 0);
      assert.deepEqual(await remaining(), [true, true]);
      assert.deepEqual(await owner.listRecords('token.deleted'), []);
    };

    for (const [moment, when] of Object.entries(MOMENTS) as [Moment, string][]) {
      test(`leaves a token whose card is tokenized again ${when}, and deletes the others`, async () => {
        let returned: string | undefined;
        interrupt(moment, async () => {
          returned = await owner.tokenize(pan, 'Ana Maria Lopez');
        });
        await assertOnlySecondDeleted();
        assert.equal(returned, first);
      });

      /** On a node that has just started, and whose periodic work did not run yet. */
      const onNewNode = async (): Promise<RuledTenant> => {
        const started = await vault.open();
        started.time.accept(started.time.read());
        return new RuledTenant(started, owner.tenant);
      };

      test(`leaves a token that is returned for its card as it was ${when}, and deletes the others`, async () => {
        const other = await onNewNode();
        let returned: string | undefined;
        interrupt(moment, async () => {
          returned = await other.tokenize(pan, 'Ana Lopez');
        });
        await assertOnlySecondDeleted();
        assert.equal(returned, first);
      });

      test(`leaves a token that is inspected ${when}, and deletes the others`, async () => {
        const other = await onNewNode();
        interrupt(moment, () => other.inspect(first));
        await assertOnlySecondDeleted();
      });

      test(`leaves a token that is read for a placeholder ${when}, and deletes the others`, async () => {
        const other = await onNewNode();
        interrupt(moment, () => other.detokenize(first));
        await assertOnlySecondDeleted();
      });

      test(`leaves a token whose use is written ${when}, and deletes the others`, async () => {
        interrupt(moment, () => owner.use(first));
        await assertOnlySecondDeleted();
      });

      test(`deletes nothing when the rule is removed ${when}`, async () => {
        interrupt(moment, () => owner.setRule(undefined));
        await assertNothingDeleted();
      });

      test(`deletes nothing when the rule is changed ${when}`, async () => {
        interrupt(moment, () => owner.setRule(10 * UNUSED_DAYS));
        await assertNothingDeleted();
        assert.deepEqual((await owner.findRule())?.announcement, undefined);
      });
    }

    test('leaves a token of an import that is not committed yet', async () => {
      await owner.readRules();
      const imported = await owner.importCard(pan, 'Ana Lopez', async () => {
        assert.equal(await sweep(), 1);
      });
      assert.deepEqual(imported, { status: 'existing', token: first });
      assert.deepEqual(await remaining(), [true, false]);
    });

    test('that was faster is not hidden from requests', async () => {
      await owner.readRules();
      assert.equal(await sweep(), 2);
      await assert.rejects(owner.inspect(first), { code: 'unknown_token' });
      assert.notEqual(await owner.tokenize(pan, 'Ana Lopez'), first);
    });

    test('lets many requests of one card go on at once', async () => {
      await owner.readRules();
      const returned = await Promise.all(Array.from({ length: 40 }, () => owner.tokenize(pan, 'Ana Lopez')));
      assert.deepEqual([...new Set(returned)], [first]);
      assert.deepEqual(Math.max(...owner.attempts), 0);
    });
  });
}

/** Two nodes over one database, in which tokens of a tenant are to be deleted now. */
async function withTwoNodes(
  act: (node: {
    core: OpenCore;
    other: RuledTenant;
    token: string;
    client: Client;
    now: () => number;
  }) => Promise<void>,
) {
  const databases = await sharedPostgres();
  const address = await databases.newDatabase();
  const vault = new RotatingVault(address);
  const client = new Client({ connectionString: address });
  try {
    const core = await vault.open();
    core.time.accept(core.time.read());
    const owner = await RuledTenant.create(core, UNUSED_DAYS);
    const token = await owner.tokenize(luhnPan('411111'), 'Ana Lopez');
    vault.clock.advance((UNUSED_DAYS + 1) * DAY);
    await core.retention.sweep(vault.clock.clock());
    vault.clock.advance(WAIT_DAYS * DAY);
    const started = await vault.open();
    started.time.accept(started.time.read());
    await client.connect();
    await act({ core, other: new RuledTenant(started, owner.tenant), token, client, now: vault.clock.clock });
  } finally {
    await client.end();
    await vault.end();
    await databases.dropDatabase(address);
  }
}

/** Makes a statement of PostgreSQL take a second, and returns a function that waits until it runs. */
async function slowDown(client: Client, when: string, condition: string): Promise<() => Promise<void>> {
  await client.query(`create function wait_once() returns trigger language plpgsql as
    $$ begin if ${condition} then perform pg_sleep(1); end if; return new; end $$`);
  await client.query(`create trigger wait_once before ${when} for each row execute function wait_once()`);
  const sleeping = "select 1 from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()";
  return async () => {
    while ((await client.query(sleeping)).rows.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  };
}

describe('over PostgreSQL', { timeout: 60_000, skip: whyNoPostgres() }, () => {
  test('a use waits for a deletion that has begun, and sees its tokens gone', () =>
    withTwoNodes(async ({ core, other, token, client, now }) => {
      const untilDeleting = await slowDown(client, 'update on tokens', 'new.record is null');
      const deletion = core.retention.sweep(now());
      await untilDeleting();
      await assert.rejects(other.inspect(token), { code: 'unknown_token' });
      assert.equal(await deletion, 1);
    }));

  test('a deletion waits for a use that has begun, and leaves its token', () =>
    withTwoNodes(async ({ core, other, token, client, now }) => {
      const untilUsed = await slowDown(client, 'insert on token_uses', 'true');
      const use = other.inspect(token);
      await untilUsed();
      assert.equal(await core.retention.sweep(now()), 0);
      await use;
      assert.equal(await other.hasToken(token), true);
    }));
});
