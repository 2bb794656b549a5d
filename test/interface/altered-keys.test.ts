import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Authentication } from '../../src/accounts/authentication.ts';
import type { KeyAttributes } from '../../src/accounts/issue-key.ts';
import { MAC_TABLES } from '../../src/accounts/mac-tables.ts';
import { AlteredRows, RowCheck } from '../../src/audit/altered-rows.ts';
import type { AuditRecord } from '../../src/audit/audit.ts';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { parseConfig } from '../../src/config.ts';
import { type OpenCore, openCore } from '../../src/core.ts';
import { MINUTE } from '../../src/kernel/clock.ts';
import { commitOrThrow, type Value, write } from '../../src/storage/database.ts';
import { steadyClocks } from '../fixtures/clock.ts';
import { databaseSettings, dropDatabase } from '../fixtures/database.ts';

const BY_OPERATOR = { actor: { type: 'operator' as const, name: 'test' } };
const ADDRESS = '192.0.2.1';
const TRAITS: KeyAttributes = {
  name: 'till',
  description: 'Sells shoes',
  permissions: ['account:read'],
  allowList: [{ cidr: ADDRESS, note: 'here' }],
  expiresAt: undefined,
};
const REFUSED = { message: /^the key was altered in the database: it can only be revoked/ };

/** An attacker who can write to the database, but does not hold the root key, changes rows of API keys. */
describe('a key whose row was changed in the database', () => {
  let directory: string;
  let core: OpenCore;
  let now = Date.UTC(2026, 0, 1);
  let account: string;
  let victim: string;
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    const settings = { ...(await databaseSettings(directory)), CARDVAULT_CLOCK: 'system' };
    core = await openCore(
      parseConfig({ CARDVAULT_DATA_DIR: directory, ...settings }),
      steadyClocks(() => now),
    );
    account = (
      await core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.create(transaction, 'Shop'))
    ).id;
    victim = (
      await core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.create(transaction, 'Victim'))
    ).id;
  });
  after(async () => {
    await core.close();
    rmSync(directory, { recursive: true, force: true });
    await dropDatabase(directory);
  });

  const newKey = async (of = account) => {
    const { key, secret } = await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      core.accounts.createKey(transaction, of, 'sandbox', TRAITS),
    );
    return { id: key.id, secret };
  };
  const run = (sql: string, ...values: Value[]): Promise<void> =>
    commitOrThrow(core.database, { writes: [write(sql, values, 1)] });
  /** Authenticates without a cache. Undefined when the key is accepted. */
  const denialOf = async (secret: string): Promise<string | undefined> => {
    const { database, keyring, clock, random } = core;
    const authentication = new Authentication({ database, keyring, clock, random, environment: 'sandbox' });
    return (await authentication.authenticate(secret, ADDRESS, 'account:read')).denial;
  };
  const recordsOf = async (id: string): Promise<(AuditRecord & { account: string })[]> =>
    (await Array.fromAsync(exportJournal(core.database)))
      .map(({ account: of, record }) => ({ account: of, ...(JSON.parse(record) as AuditRecord) }))
      .filter(({ targets }) => targets?.includes(`key:${id}`));
  const detections = async (id: string) => (await recordsOf(id)).filter(({ action }) => action === 'record.altered');

  /**
   * The key can be neither edited nor rotated into an authentic key. It is revoked permanently, and its altered
   * attributes are dropped.
   */
  async function onlyEnds(id: string, of: string, secrets: readonly string[]): Promise<void> {
    const { accounts } = core;
    assert.equal((await accounts.getKey(id)).isTampered, true);
    assert.equal((await accounts.findKey({ account: of, environment: 'sandbox' }, id))?.isTampered, true);
    assert.equal((await accounts.listKeys(of)).find((key) => key.id === id)?.isTampered, true);
    const listed = (await accounts.listKeyViews({ account: of, environment: 'sandbox' })).find((key) => key.id === id);
    assert.equal(listed?.isTampered, true);
    const { revision } = await accounts.getKey(id);
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        accounts.editKey(transaction, id, { description: 'mine' }),
      ),
      REFUSED,
    );
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        accounts.editKey(transaction, id, {}, { account: of, expectedRevision: revision }),
      ),
      REFUSED,
    );
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) => accounts.rotateKey(transaction, id, 5)),
      REFUSED,
    );
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) => accounts.rotateKey(transaction, id, 5, of)),
      REFUSED,
    );
    for (const secret of secrets) assert.equal(await denialOf(secret), 'key_altered');
    assert.equal((await detections(id)).length, 1, 'each state is recorded once');

    const revoked = await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      accounts.revokeKey(transaction, id),
    );
    assert.deepEqual([revoked.permissions, revoked.allowList, revoked.name], [[], [], id]);
    const found = await accounts.getKey(id);
    assert.deepEqual([found.isTampered, found.revokedAt, found.account], [false, now, of]);
    for (const secret of secrets) assert.equal(await denialOf(secret), 'key_unknown');
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        accounts.editKey(transaction, id, { name: 'mine' }),
      ),
      { message: /^the key is revoked/ },
    );
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) => accounts.rotateKey(transaction, id, 5)),
      { message: /^the key is revoked/ },
    );
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) => accounts.revokeKey(transaction, id)),
      { message: /^the key is revoked already/ },
    );
    const event = (await recordsOf(id)).find(({ action }) => action === 'key.revoked');
    assert.deepEqual(event?.detail, { altered: 'yes' });
  }

  for (const [what, change, value] of [
    ['more permissions', 'permissions = ?', '["captures:retrieve","account:read"]'],
    ['a wider allow-list', 'allow_list = ?', '[{"cidr":"0.0.0.0/0","note":""}]'],
    ['another name', 'name = ?', 'other'],
    ['another description', 'description = ?', 'other'],
    ['another prefix', 'prefix = ?', 'cv_sandbox_XXXX'],
    ['another end', 'expires_at = ?', 4_000_000_000_000],
    ['another time of creation', 'created_at = ?', 5],
    ['a successor', 'successor = ?', 'key_other'],
    ['another revision', 'revision = ?', 7],
    // Read as none, it would keep the key working, and its owner from revoking it.
    ['a time of revocation that no number here holds', 'revoked_at = 9100000000000000 + ?', 0],
    ['permissions that are no list', 'permissions = ?', '{'],
    ['an allow-list that is no list', 'allow_list = ?', '[[], {"cidr": 5}, null, "x"]'],
  ] as const)
    test(`is rejected with ${what}, and can only be revoked`, async () => {
      const { id, secret } = await newKey();
      assert.equal(await denialOf(secret), undefined);
      await run(`update api_keys set ${change} where id = ?`, value, id);
      await onlyEnds(id, account, [secret]);
    });

  test('remains rejected when its revocation was removed', async () => {
    const { id, secret } = await newKey();
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.revokeKey(transaction, id));
    await run('update api_keys set revoked_at = null where id = ?', id);
    assert.equal(await denialOf(secret), 'key_altered');
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        core.accounts.editKey(transaction, id, { description: 'mine' }),
      ),
      REFUSED,
    );
  });

  test('gives access to no other account by its digest, its MAC or its account', async () => {
    const [mine, theirs] = [await newKey(), await newKey(victim)];
    // The row of the victim takes the digest of the attacker's key, whose owner could then act in the victim's account.
    const digestOf = async (id: string) =>
      (await core.database.read('select digest, mac from api_keys where id = ?', id))[0] ?? {};
    const [my, their] = [await digestOf(mine.id), await digestOf(theirs.id)];
    await run('update api_keys set digest = ? where id = ?', new Uint8Array(32).fill(9), mine.id);
    await run('update api_keys set digest = ? where id = ?', my['digest'] as Uint8Array, theirs.id);
    assert.equal(await denialOf(mine.secret), 'key_altered');
    await onlyEnds(theirs.id, victim, [mine.secret]);

    const swapped = await newKey(victim);
    await run('update api_keys set mac = ? where id = ?', their['mac'] as Uint8Array, swapped.id);
    await onlyEnds(swapped.id, victim, [swapped.secret]);

    const moved = await newKey();
    await run('update api_keys set account = ?account where id = ?', victim, moved.id);
    await onlyEnds(moved.id, victim, [moved.secret]);
  });

  test('of another account with the same id does not affect the genuine one', async () => {
    const { id, secret } = await newKey(victim);
    const columns =
      'id, environment, digest_version, prefix, name, description, permissions, allow_list, created_at, expires_at, revoked_at, successor, revision, mac';
    await run(
      `insert into api_keys (account, digest, ${columns}) select ?account, ?, ${columns} from api_keys where id = ?`,
      account,
      new Uint8Array(32).fill(8),
      id,
    );
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        core.accounts.editKey(transaction, id, { name: 'mine' }, { account }),
      ),
      REFUSED,
    );
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        core.accounts.rotateKey(transaction, id, 5, account),
      ),
      REFUSED,
    );
    assert.equal(
      (
        await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
          core.accounts.revokeKey(transaction, id, account),
        )
      ).account,
      account,
    );
    assert.equal(await denialOf(secret), undefined);
    assert.equal(
      (
        await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
          core.accounts.editKey(transaction, id, { name: 'shop' }),
        )
      ).account,
      victim,
    );
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.revokeKey(transaction, id));
    assert.equal(await denialOf(secret), 'key_revoked');
  });

  test('is audited once for each state, at the first read, and counted until it is intact', async () => {
    const { database, keyring, clock } = core;
    const [alteredRows, again] = [
      new AlteredRows({ database, keyring, clock }),
      new AlteredRows({ database, keyring, clock }),
    ];
    const check = new RowCheck({ database, keyring, clock, alteredRows, tables: MAC_TABLES });
    const count = async () => (await alteredRows.countByTable()).get('api_keys') ?? 0;
    await check.runOnce();
    const before = await count();
    const { id, secret } = await newKey();
    const [row = {}] = await database.read('select name, mac from api_keys where id = ?', id);
    await run('update api_keys set name = ? where id = ?', 'one', id);
    now += MINUTE;
    await check.runOnce();
    assert.equal(await count(), before + 1, 'found without being used');
    for (let round = 0; round < 3; round++) {
      now += MINUTE;
      await check.runOnce();
      await denialOf(secret);
      await core.accounts.listKeys(account);
    }
    const [record, ...others] = await detections(id);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [record?.account, record?.outcome, record?.actor, record?.detail],
      [account, 'detected', { type: 'service' }, { table: 'api_keys' }],
    );
    await run('update api_keys set name = ? where id = ?', 'two', id);
    await denialOf(secret);
    assert.equal((await detections(id)).length, 2, 'another state');
    await run('update api_keys set name = ? where id = ?', String(row['name']), id);
    assert.equal(await denialOf(secret), undefined);
    await check.runOnce();
    assert.equal(await count(), before);
    await run('update api_keys set name = ? where id = ?', 'two', id);
    await again.report(
      MAC_TABLES[1] ?? assert.fail(),
      (await database.read('select * from api_keys where id = ?', id))[0] ?? {},
    );
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.revokeKey(transaction, id));
    await check.runOnce();
    assert.equal(await count(), before);
  });

  test('is audited although the list of altered rows is full', async () => {
    const { database, keyring, clock } = core;
    const others = `insert into altered_rows (account, table_name, row_key, state, found_at)
      with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 10000)
      select ?, 'api_keys', cast(n as text), ?, 5 from numbers`;
    await commitOrThrow(database, { writes: [write(others, ['\ufffd', new Uint8Array(32)])] });
    const { id, secret } = await newKey();
    await run('update api_keys set name = ? where id = ?', 'one', id);
    await denialOf(secret);
    assert.equal((await detections(id)).length, 1);
    const alteredRows = new AlteredRows({ database, keyring, clock });
    const check = new RowCheck({ database, keyring, clock, alteredRows, tables: MAC_TABLES });
    for (let round = 0; round < 3; round++) await check.runOnce();
    assert.ok((await detections(id)).length <= 2, 'at most once a minute by each process');
    await commitOrThrow(database, { writes: [write('delete from altered_rows', [])] });
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.revokeKey(transaction, id));
  });

  test('is found by checks of a bounded number of rows, which cover all of them', async () => {
    const { database, keyring, clock } = core;
    const alteredRows = new AlteredRows({ database, keyring, clock });
    const check = new RowCheck({ database, keyring, clock, alteredRows, tables: MAC_TABLES });
    const many = (
      await core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.create(transaction, 'Many'))
    ).id;
    const ids: string[] = [];
    for (let index = 0; index < 60; index++) ids.push((await newKey(many)).id);
    await run('update api_keys set description = ? where id = ?', 'x', ids.toSorted().at(-1) ?? '');
    await check.runOnce();
    const found = (await alteredRows.list()).filter((each) => each.account === many);
    assert.deepEqual(
      found.map(({ key }) => key),
      [[ids.toSorted().at(-1)]],
    );
  });

  test('of an account that does not exist is audited in the log of the service', async () => {
    const { database, keyring, clock } = core;
    const { id } = await newKey();
    await run('update api_keys set account = ?account, environment = ?environment where id = ?', '#99', '#9', id);
    const alteredRows = new AlteredRows({ database, keyring, clock });
    now += MINUTE;
    await new RowCheck({ database, keyring, clock, alteredRows, tables: MAC_TABLES }).runOnce();
    assert.deepEqual(
      (await detections(id)).map((each) => each.account),
      [''],
    );
    const revoked = await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      core.accounts.revokeKey(transaction, id),
    );
    assert.deepEqual([revoked.account, revoked.environment], ['#99', 'sandbox']);
  });
});
