import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { insertAccounts } from '../../test/fixtures/accounts.ts';
import { trustedTime } from '../../test/fixtures/clock.ts';
import { databaseSettings, dropDatabase } from '../../test/fixtures/database.ts';
import { initializeJournal } from '../../test/fixtures/journals.ts';
import { inTransaction } from '../../test/fixtures/transactions.ts';
import { inScope } from '../../test/scope.ts';
import { parseConfig } from '../config.ts';
import { Keyring } from '../crypto/keyring.ts';
import { systemRandom } from '../crypto/random.ts';
import type { Fill } from '../idempotency/transaction.ts';
import { DAY } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Pan, passesLuhn } from '../kernel/pan.ts';
import type { Database } from '../storage/database.ts';
import { openDatabase } from '../storage/open.ts';
import { wrappedKeyStore } from '../storage/wrapped-key-store.ts';
import type { Scheme, TokenFormat } from './scheme.ts';
import { Vault } from './vault.ts';

/** An attacker with `tokens:create` and `tokens:delete` fills a token space, to find the card number that is skipped in it. */

const ORIGIN = { actor: { type: 'operator' as const, name: 'test' } };
const run = <Result>(fill: Fill<Result>): Promise<Result> => inTransaction({ database, clock }, fill, ORIGIN);
const CREATOR = { id: 'key_1', name: 'test' };
const TENANT: Tenant = { account: 'acc_1', environment: 'sandbox' };

const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
const random = systemRandom();
const root = createSecretKey(random.bytes(32));
let now = Date.now();
const clock = (): number => now;
let database: Database;

before(async () => {
  const settings = { ...(await databaseSettings(directory)), CARDVAULT_CLOCK: 'system' };
  const config = parseConfig({ CARDVAULT_DATA_DIR: directory, ...settings });
  const opened = openDatabase(config.database, clock, random);
  database = opened.database;
  await opened.database.migrate(clock);
  const journalKey = await newKeyring().digests({ account: '', environment: 'service', purpose: 'journal' });
  await initializeJournal(opened.database, journalKey);
  await insertAccounts(opened.database, ['acc_1', 'acc_3', 'acc_8']);
});
after(async () => {
  await database.close();
  rmSync(directory, { recursive: true, force: true });
  await dropDatabase(directory);
});

const newKeyring = (): Keyring => new Keyring({ root, store: wrappedKeyStore(database), clock, random });
const newVault = (): Vault => new Vault({ database, keyring: newKeyring(), time: trustedTime(clock), random });

/** Every card number of 14 digits between this BIN and last four: 1,000. */
const cardsOf = (bin: string, last: string): Pan[] =>
  Array.from({ length: 10_000 }, (_, middle) => `${bin}${String(middle).padStart(4, '0')}${last}` as Pan).filter(
    passesLuhn,
  );

async function tokenize(vault: Vault, pan: Pan, scheme: Scheme, count = 1, tenant = TENANT): Promise<string[]> {
  const cards = Array.from({ length: count }, () => ({ pan, name: undefined, expiry: undefined }));
  const format: TokenFormat = { scheme, bin: 6 };
  const results = await run((transaction) =>
    vault.tokenize(transaction, tenant, { cards, tags: [], format, persistent: false, creator: CREATOR }),
  );
  return results.flatMap(({ token }) => token?.token ?? []);
}

/** All tokens of the space that the vault issues for the attacker's own card number. */
async function fill(vault: Vault, own: Pan): Promise<string[]> {
  const issued: string[] = [];
  try {
    for (;;) issued.push(...(await tokenize(vault, own, 8, 400)));
  } catch (error) {
    assert.ok(error instanceof Failure && error.code === 'token_space_full', String(error));
  }
  assert.equal(new Set(issued).size, issued.length);
  return issued.toSorted();
}

async function empty(vault: Vault, tokens: readonly string[]): Promise<void> {
  for (let at = 0; at < tokens.length; at += LIMITS.tokensPerDelete)
    await run((transaction) => vault.delete(transaction, TENANT, tokens.slice(at, at + LIMITS.tokensPerDelete)));
}

async function wait(vault: Vault, days: number): Promise<number> {
  now += days * DAY;
  let forgotten = 0;
  for (let swept = await vault.sweep(now); swept > 0; swept = await vault.sweep(now)) forgotten += swept;
  return forgotten;
}

/** Gives every key that tokens need a later version, as the bound on the uses of one key does. */
async function rotateKeys(): Promise<void> {
  const keyring = newKeyring();
  for (const purpose of ['tokens', 'fingerprints', 'token-halves', 'token-tags'] as const)
    for (let use = 0; use < 2; use++) await keyring.sealer(TENANT, purpose, LIMITS.sealsPerDataKey);
  const versions = `select count(distinct purpose) as rotated from wrapped_keys
    where account = ?account and environment = ?environment and version > 1`;
  const [row] = await database.read(versions, TENANT.account, TENANT.environment);
  assert.equal(Number(row?.['rotated']), 4);
}

describe('a scheme 8 space that is filled, emptied and filled again', () => {
  it('never issues the same half of its values, which does not reveal the stored card number', async () => {
    const vault = newVault();
    const all = cardsOf('411111', '1111');
    const [own, ...others] = all as [Pan, ...Pan[]];
    /** The values that were issued while the attacker's own card number was the only stored one of the half. */
    const seen = new Set<string>();
    const fills: { readonly stored: Pan; readonly issued: readonly string[] }[] = [];
    for (const stored of inScope({ usual: [100, 900], long: [100, 500, 900] }).map((index) => others[index] as Pan)) {
      const [token = ''] = await tokenize(vault, stored, 7);
      const rounds = stored === others[100] ? 3 : 1;
      const issuedBefore: string[] = [];
      for (let round = 0; round < rounds; round++) {
        if (round === 2) await rotateKeys();
        const issued = await fill(round === 0 ? vault : newVault(), own);
        if (round > 0) assert.deepEqual(issued, issuedBefore);
        issuedBefore.splice(0, issuedBefore.length, ...issued);
        await empty(vault, issued);
        assert.equal(await wait(vault, 30), issued.length);
      }
      const issued = new Set(issuedBefore);
      const missing = all.filter((value) => !issued.has(value));
      assert.ok(missing.length >= 500 && missing.length <= 502, `${missing.length} of 1000`);
      assert.ok(missing.includes(stored) && missing.includes(own));
      for (const value of issued) seen.add(value);
      fills.push({ stored, issued: issuedBefore });
      await empty(vault, [token]);
      await wait(vault, 30);
    }
    // One half for all of them: a filled space is this half without the card numbers, and reveals nothing else about
    // them.
    assert.ok(seen.size <= 500 && seen.size >= 499, `${seen.size} of 1000`);
    for (const { stored, issued } of fills)
      assert.deepEqual(issued, [...seen].filter((value) => value !== stored && value !== own).toSorted());
  });
});

describe('the value of a deleted token', () => {
  for (const scheme of inScope<readonly Scheme[]>({ usual: [1, 8], long: [1, 3, 8] }))
    it(`is not issued again for 30 days with scheme ${scheme}, also when no other value is free`, async () => {
      const tenant: Tenant = { account: `acc_${scheme}`, environment: 'production' };
      const vault = newVault();
      const card = '123456789015' as Pan;
      const issued = new Set<string>();
      for (let round = 0; round < 5; round++)
        for (const token of await tokenize(vault, card, scheme, 1000, tenant).catch(() => [])) issued.add(token);
      const deleted = [...issued].slice(0, 3);
      await run((transaction) => vault.delete(transaction, tenant, deleted));
      const again = (): Promise<string[]> => tokenize(vault, card, scheme, 10, tenant);
      await assert.rejects(again(), { code: 'token_space_full' });
      await wait(vault, 29.99);
      await assert.rejects(again(), { code: 'token_space_full' });
      assert.equal(await wait(vault, 0.01), 3);
      assert.deepEqual((await again()).toSorted(), deleted.toSorted());
    });
});
