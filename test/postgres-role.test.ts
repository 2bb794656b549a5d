import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { PeriodicVerification } from '../src/audit/periodic-verification.ts';
import { verifyJournal } from '../src/audit/verify.ts';
import { DAY, MINUTE } from '../src/kernel/clock.ts';
import { StorageError } from '../src/storage/database.ts';
import { type House, startHouse } from './house.ts';
import { CAPTURES, capture, cards, dataOf, TOKENIZE } from './interface/vault.ts';
import { sharedPostgres } from './postgres.ts';
import { noPostgres } from './postgres-binaries.ts';
import { operate } from './stores/postgres-rig.ts';

const DOCUMENTED = readFileSync(join(import.meta.dirname, '..', 'docs', 'operations.md'), 'utf8');
const GRANTS = /### A service that cannot change the audit log[^#]*?```sql\n([^`]*)```/.exec(DOCUMENTED)?.[1] ?? '';

describe('a service over PostgreSQL that may only add to the audit log', {
  skip: noPostgres(),
  timeout: 120_000,
}, () => {
  let directory: string;
  let owner: string;
  let address: string;
  let house: House;
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-role-'));
    const shared = await sharedPostgres();
    owner = await shared.newDatabase();
    address = shared.asService(owner);
    await (await startHouse({ directory, variables: { CARDVAULT_DATABASE_URL: owner } })).stop();
    assert.match(GRANTS, /revoke update, delete on journal/);
    await operate(owner, GRANTS);
    house = await startHouse({ directory, variables: { CARDVAULT_DATABASE_URL: address } });
  });
  after(async () => {
    await house.stop();
    await (await sharedPostgres()).dropDatabase(owner);
    rmSync(directory, { recursive: true, force: true });
  });

  test('does its work, and what is due', async () => {
    const { secret: key } = await house.newKey(await house.newAccount());
    const { id } = dataOf(await house.call('POST', CAPTURES, { key, body: capture({ ttl: 1 }) }));
    assert.equal((await house.call('GET', `${CAPTURES}/${id}`, { key })).status, 200);
    const once = { 'idempotency-key': 'one' };
    const body = cards(['4111111111111111'], { type: 'persistent' });
    const [{ token }] = dataOf(await house.call('POST', TOKENIZE, { key, body, headers: once })).tokens;
    assert.equal((await house.call('DELETE', '/v1/tokens', { key, body: { tokens: [token] } })).status, 200);
    const { database, journalKey, clock } = house.core;
    const verification = new PeriodicVerification({
      ...{ database, journalKey, clock },
      isOurTurn: () => Promise.resolve(true),
      pause: () => Promise.resolve(),
      onFault: ({ fault }) => assert.fail(fault),
    });
    await verification.run();
    assert.equal((await verifyJournal(database, journalKey)).fault, undefined);
    house.advance(2 * DAY);
    for (let tries = 0; (await database.read('select id from captures')).length > 0; tries++) {
      assert.ok(tries < 600, 'an expired capture is not removed');
      await pause(MINUTE / 600);
    }
    assert.deepEqual(
      house.log.filter((line) => line.includes('sweep failed')),
      [],
    );
  });

  test('cannot change or remove a record, a head or the register', async () => {
    const { database } = house.core;
    for (const sql of [
      "update journal set record = '{}'",
      'delete from journal',
      'delete from journal_heads',
      'delete from lane_register',
    ]) {
      await assert.rejects(database.commit({ writes: [{ sql, rows: [[]] }] }), (error: Error) => {
        assert.match(error.message, /42501/, sql);
        return error instanceof StorageError;
      });
      await assert.rejects(operate(address, sql), /permission denied/);
    }
    await assert.rejects(operate(address, 'truncate journal'), /permission denied/);
    await assert.rejects(operate(address, 'drop table journal'), /must be owner/);
  });

  test('is told who brings the schema up to date', async () => {
    await house.stop();
    const removed = await operate(owner, 'delete from schema_migrations where version = 8 returning *');
    const start = startHouse({ directory, variables: { CARDVAULT_DATABASE_URL: address } });
    await assert.rejects(start, /42501; run cardvault migrate as the owner of the database/);
    const [row = {}] = removed;
    await operate(
      owner,
      `insert into schema_migrations values (8, '${row['name']}', ${row['applied_at']}, ${row['oldest']})`,
    );
    house = await startHouse({ directory, variables: { CARDVAULT_DATABASE_URL: address } });
  });
});
