import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { verifyJournal } from '../../src/audit/verify-journal.ts';
import { blob, integer, text } from '../../src/storage/database.ts';
import { type Head, isHeadSealValid, sealHead } from '../../src/storage/journal.ts';
import { readRegister } from '../../src/storage/lane-register.ts';
import { insertAccounts } from '../fixtures/accounts.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { COMMITTED, PostgresFixture } from './postgres-fixture.ts';

const NODES = 12;
const WRITERS = 4;

/** Each takes another lane, so that all of them begin one. */
const spread = () => {
  let drawn = 0;
  return (bound: number): number => drawn++ % bound;
};

describe('lanes over PostgreSQL', { skip: whyNoPostgres(), timeout: 120_000 }, () => {
  let rig: PostgresFixture;
  before(async () => {
    rig = await PostgresFixture.shared();
  });
  after(() => rig.remove());

  const lanes = async (): Promise<number[]> => {
    const register = await readRegister(rig.eyes, rig.journalKey);
    assert.ok(typeof register !== 'string');
    return register.lanes.map(({ lane }) => lane).sort((one, other) => one - other);
  };
  const entry = (account: string) => ({ account, environment: 'sandbox', at: 1, record: '{}' });

  test('of nodes that start concurrently are each registered once, with their first record', async () => {
    const below = spread();
    await insertAccounts(rig.eyes, ['acct_later', ...Array.from({ length: NODES }, (_, index) => `acct_${index}`)], 2);
    const nodes = Array.from({ length: NODES }, () => rig.open(rig.address, { writers: WRITERS, below }));
    const outcomes = await Promise.all(
      nodes.flatMap((node, index) =>
        Array.from({ length: WRITERS * 3 }, () => node.commit({ writes: [], journal: [entry(`acct_${index}`)] })),
      ),
    );
    assert.ok(outcomes.every(({ committed }) => committed));
    const { fault } = await verifyJournal(rig.eyes, rig.journalKey);
    assert.equal(fault, undefined);
    const used = (await rig.eyes.read('select distinct lane from journal order by lane')).map(({ lane }) => lane);
    assert.deepEqual(await lanes(), used);
    assert.ok(used.length >= NODES, `${used.length} lanes`);
    await Promise.all(nodes.map((node) => node.close()));
  });

  test('keep a valid seal when they are sealed again after a writer has read them', async () => {
    const lane = 60;
    await insertAccounts(rig.eyes, ['acct_resealed'], 500);
    const open = () => rig.open(rig.address, { below: () => lane - 1 });
    const first = open();
    assert.deepEqual(await first.commit({ writes: [], journal: [entry('acct_resealed')] }), COMMITTED);
    await first.close();
    const second = open();
    // It reads the head of the chain without account, and does not extend it.
    assert.deepEqual(await second.commit({ writes: [], journal: [entry('acct_resealed')] }), COMMITTED);
    const key = rig.journalKey;
    const former = key.versions;
    const next = { version: 2, key: createSecretKey(randomBytes(32)), createdAt: 0 };
    const listHeads = async (): Promise<(Head & { seal: Uint8Array })[]> => {
      const rows = await rig.eyes.read(
        'select account, lane, sequence, hash, seal from journal_heads where lane = ?',
        lane,
      );
      return rows.map((row) => ({
        ...{ account: text(row, 'account'), lane, sequence: integer(row, 'sequence'), hash: text(row, 'hash') },
        seal: blob(row, 'seal'),
      }));
    };
    const sealAgain = async (): Promise<void> => {
      for (const head of await listHeads()) {
        const seal = Buffer.from(sealHead(key, head)).toString('hex');
        await rig.operate(
          `update journal_heads set seal = '\\x${seal}' where lane = ${lane} and hash = '${head.hash}'`,
        );
      }
    };
    key.replace([next, ...former], 2);
    await sealAgain();
    key.replace([next], 2);
    assert.deepEqual(await second.commit({ writes: [], journal: [entry('')] }), COMMITTED);
    const heads = await listHeads();
    assert.equal(heads.length, 2);
    for (const head of heads) assert.ok(isHeadSealValid(key, head, head.seal), head.account);
    await second.close();
    key.replace(former, 1);
    await sealAgain();
  });

  test('keep an invalid seal, whatever is appended', async () => {
    const lane = 61;
    const open = () => rig.open(rig.address, { below: () => lane - 1 });
    const first = open();
    assert.deepEqual(await first.commit({ writes: [], journal: [entry('acct_resealed')] }), COMMITTED);
    await first.close();
    const forged = 'f'.repeat(64);
    await rig.operate(`update journal_heads set hash = '${forged}' where lane = ${lane} and account = 500`);
    const second = open();
    for (let count = 0; count < 2; count++)
      assert.deepEqual(await second.commit({ writes: [], journal: [entry('acct_resealed')] }), COMMITTED);
    await second.close();
    const { fault } = await verifyJournal(rig.eyes, rig.journalKey);
    assert.match(fault ?? '', /lane 61: .*seal/);
    await rig.operate(`delete from journal where lane = ${lane} and account = 500;
      delete from journal_heads where lane = ${lane} and account = 500`);
  });

  test('that were removed with all their rows are found, also after a writer chose one of them again', async () => {
    const [newest = 0] = (await lanes()).slice(-1);
    const remove = async (lane: number): Promise<void> => {
      await rig.operate(`delete from journal where lane = ${lane}; delete from journal_heads where lane = ${lane}`);
    };
    await remove(newest);
    const missing = `lane ${newest}: the chain that announces the others is missing`;
    assert.equal((await verifyJournal(rig.eyes, rig.journalKey)).fault, missing);
    const again = rig.open(rig.address, { below: () => newest - 1 });
    assert.deepEqual(await again.commit({ writes: [], journal: [entry('')] }), COMMITTED);
    const anew = `lane ${newest}: the first record is not the registered one`;
    assert.equal((await verifyJournal(rig.eyes, rig.journalKey)).fault, anew);
  });

  test('and their register removed are found, and the service continues to write', async () => {
    await rig.operate('delete from journal; delete from journal_heads; delete from lane_register');
    const node = rig.open();
    assert.deepEqual(await node.commit({ writes: [], journal: [entry('acct_later')] }), COMMITTED);
    assert.equal((await verifyJournal(rig.eyes, rig.journalKey)).fault, 'the register of lanes is missing');
    assert.equal((await rig.eyes.read('select record from journal')).length, 2);
  });
});
