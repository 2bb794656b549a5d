import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Authentication } from '../../src/accounts/authentication.ts';
import type { AuditRecord } from '../../src/audit/audit.ts';
import { exportJournal, verifyJournal } from '../../src/audit/verify-journal.ts';
import { parseConfig } from '../../src/config.ts';
import { type OpenCore, openCore } from '../../src/core.ts';
import { UnsealError } from '../../src/crypto/seal.ts';
import { SECOND } from '../../src/kernel/clock.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import type { Pan } from '../../src/kernel/pan.ts';
import { commitOrThrow, integer, type Value, write } from '../../src/storage/database.ts';
import { Vault } from '../../src/vault/vault.ts';
import { steadyClocks } from '../fixtures/clock.ts';
import { databaseSettings, dropDatabase } from '../fixtures/database.ts';
import { luhnPan } from '../fixtures/test-service.ts';
import { inTransaction } from '../fixtures/transactions.ts';

const BY_OPERATOR = { actor: { type: 'operator' as const, name: 'test' } };
const TRAITS = {
  name: 'till',
  description: '',
  permissions: ['account:read'] as const,
  allowList: [{ cidr: '192.0.2.1', note: '' }],
  expiresAt: undefined,
};

/** An attacker who can write to the database, but does not hold the root key, changes rows of accounts. */
describe('an account whose row was changed in the database', () => {
  let directory: string;
  let settings: Record<string, string>;
  let core: OpenCore;
  let now = Date.UTC(2026, 0, 1);
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    settings = { ...(await databaseSettings(directory)), CARDVAULT_CLOCK: 'system' };
    core = await openCore(
      parseConfig({ CARDVAULT_DATA_DIR: directory, ...settings }),
      steadyClocks(() => now),
    );
  });
  after(async () => {
    await core.close();
    rmSync(directory, { recursive: true, force: true });
    await dropDatabase(directory);
  });

  const newAccount = async (name = 'Shop'): Promise<{ id: string; secret: string }> => {
    const { id } = await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      core.accounts.create(transaction, name),
    );
    const { secret } = await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      core.accounts.createKey(transaction, id, 'sandbox', TRAITS),
    );
    return { id, secret };
  };
  const tamper = (id: string, change: string, ...values: Value[]): Promise<void> =>
    commitOrThrow(core.database, { writes: [write(`update accounts set ${change} where id = ?`, [...values, id], 1)] });
  /** Undefined when the key is accepted. */
  const denialOf = async (secret: string, of = core): Promise<string | undefined> => {
    const { database, keyring, clock, random } = of;
    const authentication = new Authentication({ database, keyring, clock, random, environment: 'sandbox' });
    return (await authentication.authenticate(secret, '192.0.2.1', 'account:read')).denial;
  };
  const recordsOf = async (account: string): Promise<AuditRecord[]> =>
    (await Array.fromAsync(exportJournal(core.database)))
      .filter((link) => link.account === account)
      .map(({ record }) => JSON.parse(record));

  for (const [what, change, value] of [
    ['another name', 'name = ?', 'Other shop'],
    ['no suspension', 'suspended_at = ?', null],
    ['no dual control', 'dual_control = ?', 0],
    ['another time of creation', 'created_at = ?', 5],
    ['another revision', 'revision = ?', 9],
    ['no MAC', 'mac = ?', null],
    ['a MAC of its own', 'mac = ?', new Uint8Array(32)],
  ] as const)
    test(`is reported as altered with ${what}, and its keys are rejected`, async () => {
      const { id, secret } = await newAccount();
      assert.equal(await denialOf(secret), undefined);
      await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        core.accounts.setDualControl(transaction, id, true),
      );
      await core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.suspend(transaction, id));
      assert.equal(await denialOf(secret), 'account_suspended');
      await tamper(id, change, value);
      assert.equal(await denialOf(secret), 'account_altered');
      const found = await core.accounts.get(id);
      assert.deepEqual([found.isTampered, found.status, found.dualControl], [true, 'suspended', true]);
      const listed = (await core.accounts.list()).find((account) => account.id === id);
      assert.deepEqual([listed?.isTampered, listed?.status, listed?.dualControl], [true, 'suspended', true]);
    });

  test('is detected when its MAC or its row was copied from another account', async () => {
    const [one, other] = [await newAccount('One'), await newAccount('Other')];
    await tamper(one.id, 'mac = (select mac from accounts where id = ?)', other.id);
    assert.equal((await core.accounts.get(one.id)).isTampered, true);
    assert.equal((await core.accounts.get(other.id)).isTampered, false);
    await tamper(other.id, 'id = ?', 'acct_stolen');
    assert.equal((await core.accounts.get('acct_stolen')).isTampered, true);
    assert.equal(await denialOf(other.secret), 'key_altered');
  });

  test('is detected when the numbers of two accounts were swapped: no record of either is unsealed', async () => {
    const [one, other] = [await newAccount('One'), await newAccount('Other')];
    const vaultOf = ({ database, keyring, time, random }: OpenCore): Vault =>
      new Vault({ database, keyring, time, random });
    const tenantOf = ({ id }: { id: string }): Tenant => ({ account: id, environment: 'sandbox' });
    const card = { pan: luhnPan('411111') as Pan, name: undefined, expiry: undefined };
    const tokens: string[] = [];
    for (const account of [one, other]) {
      const [result] = await inTransaction(core, (transaction) =>
        vaultOf(core).tokenize(transaction, tenantOf(account), {
          cards: [card],
          tags: [],
          format: { scheme: 7, bin: 6 },
          persistent: false,
          creator: { id: 'key_1', name: 'till' },
        }),
      );
      tokens.push(result?.token?.token ?? assert.fail());
    }
    const number = async (id: string): Promise<number> =>
      integer((await core.database.read('select number from accounts where id = ?', id))[0] ?? {}, 'number');
    const [first, second] = [await number(one.id), await number(other.id)];
    const swap = async (toOne: number, toOther: number): Promise<void> => {
      await tamper(one.id, 'number = ?', -1);
      await tamper(other.id, 'number = ?', toOther);
      await tamper(one.id, 'number = ?', toOne);
    };
    await swap(second, first);
    // This process caches the accounts that it has read, so only a process that starts later sees the swap.
    const later = await openCore(
      parseConfig({ CARDVAULT_DATA_DIR: directory, ...settings }),
      steadyClocks(() => now),
    );
    try {
      for (const account of [one, other]) {
        for (const token of tokens) await assert.rejects(vaultOf(later).inspect(tenantOf(account), token), UnsealError);
        assert.equal((await later.accounts.get(account.id)).isTampered, true);
        assert.equal(await denialOf(account.secret, later), 'key_altered');
      }
      const { fault } = await verifyJournal(later.database, later.journalKey);
      assert.match(fault ?? '', /^account acct_.*, lane [0-9]+/);
    } finally {
      await later.close();
      await swap(first, second);
    }
    assert.equal((await vaultOf(core).inspect(tenantOf(one), tokens[0] ?? '')).card.pan, card.pan);
  });

  test('cannot be changed, resumed or assigned a key, so that no altered value is authenticated', async () => {
    const { id, secret } = await newAccount();
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.suspend(transaction, id));
    await tamper(id, 'suspended_at = null, name = ?', 'Other');
    const refused = { message: /^the account was altered in the database/ };
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.resume(transaction, id)),
      refused,
    );
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        core.accounts.setDualControl(transaction, id, false),
      ),
      refused,
    );
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        core.accounts.createKey(transaction, id, 'sandbox', TRAITS),
      ),
      refused,
    );
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.suspend(transaction, id)),
      refused,
    );
    assert.equal((await core.accounts.get(id)).isTampered, true);
    assert.equal(await denialOf(secret), 'account_altered');
  });

  test('is restored by the operator: suspended, under dual control and with the name from the command', async () => {
    const { id, secret } = await newAccount();
    await tamper(id, 'name = ?, dual_control = 0', 'Other');
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        core.accounts.suspend(transaction, id, 'Shop \u202eX'),
      ),
      { code: 'invalid_field' },
    );
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      core.accounts.suspend(transaction, id, 'Shop'),
    );
    const sealed = await core.accounts.get(id);
    assert.deepEqual(
      [sealed.isTampered, sealed.status, sealed.dualControl, sealed.name],
      [false, 'suspended', true, 'Shop'],
    );
    assert.equal(await denialOf(secret), 'account_suspended');
    await assert.rejects(
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.suspend(transaction, id, 'Shop')),
      { message: /suspend it without a name$/ },
    );
    now += SECOND;
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.resume(transaction, id));
    assert.equal((await core.accounts.get(id)).status, 'sandbox');
    assert.equal(await denialOf(secret), undefined);
    const suspended = (await recordsOf(id)).find(({ action }) => action === 'account.suspended');
    assert.deepEqual(suspended?.detail, { altered: 'yes', name: 'Shop' });
  });

  test('does not break a list, whatever its row contains', async () => {
    const { id } = await newAccount();
    await tamper(id, 'name = ?, created_at = ?, revision = ?', 'x\u001b[2J\u202e', -5, 2_000_000_000);
    const listed = (await core.accounts.list()).find((account) => account.id === id);
    assert.deepEqual([listed?.name, listed?.createdAt], ['x\\u{1b}[2J\\u{202e}', 0]);
    await core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
      core.accounts.suspend(transaction, id, 'Shop'),
    );
    assert.equal((await core.accounts.get(id)).isTampered, false);
  });

  test('concurrent changes of an account do not overwrite each other', async () => {
    const { id } = await newAccount();
    const done = await Promise.allSettled([
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) => core.accounts.suspend(transaction, id)),
      core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
        core.accounts.setDualControl(transaction, id, true),
      ),
    ]);
    const [suspended, controlled] = done.map(({ status }) => status === 'fulfilled');
    const found = await core.accounts.get(id);
    // Both are made when the second one reads what the first one wrote.
    assert.ok(suspended || controlled);
    assert.deepEqual(
      [found.isTampered, found.status === 'suspended', found.dualControl],
      [false, suspended, controlled],
    );
  });
});
