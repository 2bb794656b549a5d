import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { insertAccounts } from '../../test/fixtures/accounts.ts';
import { trustedTime } from '../../test/fixtures/clock.ts';
import { databaseSettings, dropDatabase } from '../../test/fixtures/database.ts';
import { initializeJournal } from '../../test/fixtures/journals.ts';
import { luhnPan } from '../../test/fixtures/test-service.ts';
import { inTransaction } from '../../test/fixtures/transactions.ts';
import { parseConfig } from '../config.ts';
import { Keyring } from '../crypto/keyring.ts';
import { systemRandom } from '../crypto/random.ts';
import { type Fill, Transactions } from '../idempotency/transaction.ts';
import { DAY } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { newUuid } from '../kernel/ids.ts';
import { type Pan, passesLuhn } from '../kernel/pan.ts';
import { startFingerprintRotations } from '../rotation/fingerprint-rotation.ts';
import type { Database } from '../storage/database.ts';
import { openDatabase } from '../storage/open.ts';
import { wrappedKeyStore } from '../storage/wrapped-key-store.ts';
import { type ImportedCard, type ImportResult, TokenImport } from './import-tokens.ts';
import { findLastUse, upsertRule } from './retention-store.ts';
import type { TokenFormat } from './scheme.ts';
import { TokenUses } from './token-uses.ts';
import { Vault } from './vault.ts';

const ORIGIN = { actor: { type: 'operator' as const, name: 'test' } };
const CREATOR = { id: 'import:1', name: 'import' };
const PAN = '4111111111111111' as Pan;
const OTHER = '5555555555554444' as Pan;

const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
const random = systemRandom();
const root = createSecretKey(random.bytes(32));
let passed = 0;
const clock = (): number => Date.now() + passed;
let database: Database;
let keyring: Keyring;
let vault: Vault;
let tokenUses: TokenUses;
let accounts = 0;
let tenant: Tenant;

const run = <Result>(fill: Fill<Result>): Promise<Result> => inTransaction({ database, clock }, fill, ORIGIN);

before(async () => {
  const settings = { ...(await databaseSettings(directory)), CARDVAULT_CLOCK: 'system' };
  const opened = openDatabase(parseConfig({ CARDVAULT_DATA_DIR: directory, ...settings }).database, clock, random);
  database = opened.database;
  await opened.database.migrate(clock);
  keyring = new Keyring({ root, store: wrappedKeyStore(database), clock, random });
  const journalKey = await keyring.digests({ account: '', environment: 'service', purpose: 'journal' });
  await initializeJournal(opened.database, journalKey);
  vault = new Vault({ database, keyring, time: trustedTime(clock), random });
  tokenUses = new TokenUses({ database, time: trustedTime(clock) });
  await insertAccounts(
    database,
    Array.from({ length: 40 }, (_, index) => `acc_${index}`),
  );
});
beforeEach(() => {
  tenant = { account: `acc_${accounts++}`, environment: 'sandbox' };
});
after(async () => {
  await database.close();
  rmSync(directory, { recursive: true, force: true });
  await dropDatabase(directory);
});

interface CardOptions extends Partial<Omit<ImportedCard, 'card' | 'format'>> {
  readonly name?: string;
  readonly scheme?: TokenFormat['scheme'];
  readonly bin?: TokenFormat['bin'];
}

const card = (pan: string, { name, scheme = 7, bin = 6, ...more }: CardOptions = {}): ImportedCard => ({
  card: { pan: pan as Pan, name, expiry: undefined },
  ...{ tags: [], format: { scheme, bin }, isPersistent: false, wanted: undefined, creator: CREATOR },
  createdAt: undefined,
  ...more,
});

/** Both ways of an import have the same results: lookups first, and writes that may collide first. */
async function importCards(cards: readonly ImportedCard[], checksFirst = false): Promise<ImportResult[]> {
  const tokens = await TokenImport.open({ database, keyring, random, tokenUses }, tenant);
  return run((transaction) => tokens.add(transaction, cards, { checksFirst }));
}

const detokenize = async (token: string) =>
  run(async (transaction) => (await vault.detokenize(transaction, tenant, [token], 'jose')).get(token));

const codes = (results: readonly ImportResult[]): string[] =>
  results.map((result) => (result.status === 'rejected' ? result.code : result.status));

for (const checksFirst of [false, true])
  describe(`an import that looks up tokens ${checksFirst ? 'first' : 'after a collision'}`, () => {
    const run = (cards: readonly ImportedCard[]): Promise<ImportResult[]> => importCards(cards, checksFirst);

    test('keeps wanted tokens with everything that belongs to them', async () => {
      const wanted = newUuid(random);
      const [result] = await run([card(PAN, { wanted, name: 'Ana', tags: ['a'], createdAt: 5 })]);
      assert.deepEqual(result, { status: 'created', token: wanted });
      const token = await detokenize(wanted);
      assert.deepEqual(
        [token?.card.pan, token?.card.name, token?.tags, token?.createdAt, token?.createdBy],
        [PAN, 'Ana', ['a'], 5, CREATOR],
      );
    });

    test('issues tokens of every scheme to cards without one', async () => {
      const formats = ([1, 3, 7, 8] as const).map((scheme) => ({ scheme }));
      const results = await run([...formats, { scheme: 1, bin: 8 } as const].map((format) => card(PAN, format)));
      for (const result of results) {
        assert.ok(result.status === 'created');
        assert.equal((await detokenize(result.token))?.card.pan, PAN);
      }
      assert.equal(new Set(results.map((result) => 'token' in result && result.token)).size, 5);
    });

    test('gives one persistent token to a card, within the import and beside requests', async () => {
      const [first, second] = await run([
        card(PAN, { isPersistent: true, name: 'Ana', tags: ['a'] }),
        card(PAN, { isPersistent: true, tags: ['b'] }),
      ]);
      assert.ok(first?.status === 'created' && second?.status === 'existing' && first.token === second.token);
      const format = { scheme: 7, bin: 6 } as const;
      const cards = [{ pan: PAN, name: 'Ben', expiry: undefined }];
      const [requested] = await inTransaction({ database, clock }, (transaction) =>
        vault.tokenize(transaction, tenant, { cards, tags: [], format, persistent: true, creator: CREATOR }),
      );
      assert.equal(requested?.token?.token, first.token);
      const again = await run([card(PAN, { isPersistent: true, wanted: first.token, tags: ['c'] })]);
      assert.deepEqual(again, [{ status: 'existing', token: first.token }]);
      const token = await detokenize(first.token);
      assert.deepEqual([token?.card.name, token?.tags], ['Ben', ['a', 'b', 'c']]);
    });

    test('reports another persistent token of the card, and changes nothing', async () => {
      const wanted = newUuid(random);
      await run([card(PAN, { isPersistent: true, wanted, name: 'Ana' })]);
      const other = await run([card(PAN, { isPersistent: true, wanted: newUuid(random), name: 'Eve' })]);
      assert.deepEqual(other, [{ status: 'conflict', token: wanted }]);
      assert.equal((await detokenize(wanted))?.card.name, 'Ana');
    });

    test('is a success again for tokens that the cards have already', async () => {
      const cards = [
        card(PAN, { wanted: newUuid(random) }),
        card(OTHER, { wanted: newUuid(random), isPersistent: true }),
      ];
      assert.deepEqual(codes(await run(cards)), ['created', 'created']);
      assert.deepEqual(codes(await run([...cards, ...cards])), Array(4).fill('existing'));
    });

    test('rejects values of other cards and of deleted tokens', async () => {
      const wanted = newUuid(random);
      assert.deepEqual(codes(await run([card(PAN, { wanted }), card(OTHER, { wanted })])), ['created', 'token_taken']);
      assert.deepEqual(codes(await run([card(OTHER, { wanted })])), ['token_taken']);
      await inTransaction({ database, clock }, (transaction) => vault.delete(transaction, tenant, [wanted]));
      assert.deepEqual(codes(await run([card(PAN, { wanted })])), ['token_taken']);
    });

    test('rejects cards that fail the Luhn check, and tokens of another form', async () => {
      const wrong = await run([
        card('4111111111111112'),
        card(PAN, { wanted: PAN, scheme: 8 }),
        card(PAN, { wanted: '411111AAAAAA1112', scheme: 3 }),
        card(PAN, { wanted: '4111111111111111', scheme: 3 }),
        card(PAN, { wanted: '411111aaaaaa1111', scheme: 3, bin: 8 }),
        card(PAN, { wanted: newUuid(random).toUpperCase() }),
      ]);
      assert.deepEqual(codes(wrong), ['card_luhn', ...Array(5).fill('token_form')]);
    });

    test('accepts of scheme 8 the values that the account issues, and no others', async () => {
      const [issued] = await run([card(PAN, { scheme: 8 })]);
      assert.ok(issued?.status === 'created');
      const values = Array.from({ length: 100 }, (_, index) => `41111100${String(index).padStart(2, '0')}`)
        .flatMap((head) => Array.from({ length: 100 }, (_, index) => `${head}${String(index).padStart(2, '0')}1111`))
        .filter((value) => passesLuhn(value) && value !== issued.token);
      const sample = values.slice(0, 200);
      const results = await run(sample.map((wanted) => card(PAN, { wanted, scheme: 8 })));
      const created = sample.filter((_, index) => results[index]?.status === 'created');
      assert.ok(created.length > 50 && created.length < 150, `${created.length}`);
      assert.deepEqual(new Set(codes(results)), new Set(['created', 'token_unavailable']));
    });
  });

test('a token that was altered in the database is reported, and the other cards are imported', async () => {
  const wanted = newUuid(random);
  await importCards([card(PAN, { wanted, isPersistent: true })]);
  const sql = 'update tokens set record = ? where account = ?account and environment = ?environment';
  await database.commit({ writes: [{ sql, rows: [[new Uint8Array(60), tenant.account, tenant.environment]] }] });
  const results = await importCards([card(PAN, { isPersistent: true }), card(OTHER, { wanted }), card(OTHER)]);
  assert.deepEqual(codes(results), ['token_altered', 'token_altered', 'created']);
});

describe('a wanted value of scheme 8', () => {
  test('that is a stored card number has the code of a value that is never issued', async () => {
    const space = Array.from({ length: 1000 }, (_, index) => `411111${String(index).padStart(6, '0')}1111`).filter(
      passesLuhn,
    );
    // Half of the values are issued: of some of them the card number is stored before.
    const stored = space.slice(0, 60);
    await importCards(stored.map((pan) => card(pan)));
    const results = await importCards(stored.map((wanted) => card(PAN, { wanted, scheme: 8 })));
    assert.deepEqual(new Set(codes(results)), new Set(['token_unavailable']));
    const others = await importCards(space.slice(60).map((wanted) => card(PAN, { wanted, scheme: 8 })));
    assert.deepEqual(new Set(codes(others)), new Set(['created', 'token_unavailable']));
  });

  test('of another account is accepted where its key was adopted, before the first token', async () => {
    const owner = { ...tenant, purpose: 'token-halves' } as const;
    const issued = await importCards(Array.from({ length: 40 }, () => card(luhnPan('411111'), { scheme: 8 })));
    const tokens = issued.map((result) => ('token' in result ? result.token : ''));
    const pans = await Promise.all(tokens.map(async (token) => (await detokenize(token))?.card.pan ?? ''));
    const material = (await keyring.digestKey(owner)).export();
    const wanted = tokens.map((token, index) => card(pans[index] ?? '', { scheme: 8, wanted: token }));

    tenant = { ...tenant, account: `acc_${accounts++}` };
    assert.equal(await keyring.adoptDigestKey({ ...tenant, purpose: 'token-halves' }, material), true);
    assert.deepEqual(new Set(codes(await importCards(wanted))), new Set(['created']));
    assert.equal(await keyring.adoptDigestKey({ ...tenant, purpose: 'token-halves' }, material), true);

    tenant = { ...tenant, account: `acc_${accounts++}` };
    await importCards([card(PAN)]);
    assert.equal(await keyring.adoptDigestKey({ ...tenant, purpose: 'token-halves' }, material), false);
    assert.ok(codes(await importCards(wanted)).includes('token_unavailable'));
  });
});

test('an import that lasts claims its cards under both keys once the key of fingerprints is rotated', async () => {
  const tokens = await TokenImport.open({ database, keyring, random, tokenUses }, tenant);
  const add = (pan: string) =>
    run((transaction) => tokens.add(transaction, [card(pan, { isPersistent: true })], { checksFirst: false }));
  await add(PAN);
  const transactions = new Transactions({ database, clock, idempotency: undefined as never });
  await startFingerprintRotations({ database, keyring, transactions }, ORIGIN, tenant);
  passed += 5000;
  await add(OTHER);
  assert.deepEqual(codes(await add(PAN)), ['existing']);
  const sql = 'select next_fingerprint from tokens where account = ?account and environment = ?environment';
  const rows = await database.read(sql, tenant.account, tenant.environment);
  assert.deepEqual(rows.map((row) => row['next_fingerprint'] === null).sort(), [false, true]);
});

test('an import is a use of its tokens, so that old ones do not end by the retention rule', async () => {
  const [before, after] = [newUuid(random), newUuid(random)];
  await importCards([card(PAN, { wanted: before, createdAt: 5 })]);
  const rule = { unusedDays: 30, since: 0, announcement: undefined };
  const write = await upsertRule(keyring, tenant, rule, undefined);
  await run(async (transaction) => transaction.write(write));
  await importCards([card(OTHER, { wanted: after, createdAt: 5 })]);
  assert.equal(await findLastUse(database, tenant, before), undefined);
  assert.ok(Number(await findLastUse(database, tenant, after)) > clock() - 2 * DAY);
  await importCards([card(PAN, { wanted: before })]);
  assert.ok(Number(await findLastUse(database, tenant, before)) > clock() - 2 * DAY, 'imported again');
});

test('several imports of one card at once leave one persistent token', async () => {
  const cards = Array.from({ length: 20 }, () => card(luhnPan('555555'), { isPersistent: true }));
  const results = await Promise.all(Array.from({ length: 6 }, () => importCards(cards)));
  for (const [index] of cards.entries()) {
    const tokens = new Set(
      results.map((each) => (each[index] !== undefined && 'token' in each[index] ? each[index].token : '')),
    );
    assert.equal(tokens.size, 1);
  }
});
