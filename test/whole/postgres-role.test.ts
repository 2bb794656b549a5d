import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { PeriodicVerification } from '../../src/audit/periodic-verification.ts';
import { verifyJournal } from '../../src/audit/verify-journal.ts';
import { DAY, MINUTE } from '../../src/kernel/clock.ts';
import { StorageError } from '../../src/storage/database.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { CAPTURES, capture, cards, dataOf, TOKENIZE } from '../interface/vault-requests.ts';
import { operate } from '../storage/postgres-fixture.ts';

const DOCUMENTED = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'operations.md'), 'utf8');
const GRANTS = /### A service that cannot change the audit log[^#]*?```sql\n([^`]*)```/.exec(DOCUMENTED)?.[1] ?? '';

describe('a service over PostgreSQL that may only add to the audit log', {
  skip: whyNoPostgres(),
  timeout: 120_000,
}, () => {
  let directory: string;
  let owner: string;
  let address: string;
  let service: TestService;
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-role-'));
    const shared = await sharedPostgres();
    owner = await shared.newDatabase();
    address = shared.asService(owner);
    await (await startTestService({ directory, variables: { CARDVAULT_DATABASE_URL: owner } })).stop();
    assert.match(GRANTS, /revoke update, delete on journal/);
    await operate(owner, GRANTS);
    service = await startTestService({ directory, variables: { CARDVAULT_DATABASE_URL: address } });
  });
  after(async () => {
    await service.stop();
    await (await sharedPostgres()).dropDatabase(owner);
    rmSync(directory, { recursive: true, force: true });
  });

  test('serves requests and runs its periodic tasks', async () => {
    const { secret: key } = await service.newKey(await service.newAccount());
    const { id } = dataOf(await service.call('POST', CAPTURES, { key, body: capture({ ttl: 1 }) }));
    assert.equal((await service.call('GET', `${CAPTURES}/${id}`, { key })).status, 200);
    const once = { 'idempotency-key': 'one' };
    const body = cards(['4111111111111111'], { type: 'persistent' });
    const [{ token }] = dataOf(await service.call('POST', TOKENIZE, { key, body, headers: once })).tokens;
    assert.equal((await service.call('DELETE', '/v1/tokens', { key, body: { tokens: [token] } })).status, 200);
    const { database, journalKey, clock } = service.core;
    const verification = new PeriodicVerification({
      ...{ database, journalKey, clock },
      holdsLease: () => Promise.resolve(true),
      pause: () => Promise.resolve(),
      onFault: ({ fault }) => assert.fail(fault),
    });
    await verification.run();
    assert.equal((await verifyJournal(database, journalKey)).fault, undefined);
    service.advance(2 * DAY);
    for (let tries = 0; (await database.read('select id from captures')).length > 0; tries++) {
      assert.ok(tries < 600, 'an expired capture is not removed');
      await pause(MINUTE / 600);
    }
    assert.deepEqual(
      service.log.filter((line) => line.includes('task failed')),
      [],
    );
  });

  test('cannot change or remove a record, a head or the register', async () => {
    const { database } = service.core;
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

  test('gets an error with the role that updates the schema', async () => {
    await service.stop();
    const removed = await operate(owner, 'delete from schema_migrations where version = 1 returning *');
    const start = startTestService({ directory, variables: { CARDVAULT_DATABASE_URL: address } });
    await assert.rejects(start, /42501; run cardvault migrate as the owner of the database/);
    const [row = {}] = removed;
    await operate(
      owner,
      `insert into schema_migrations values (1, '${row['name']}', ${row['applied_at']}, ${row['min_compatible']})`,
    );
    service = await startTestService({ directory, variables: { CARDVAULT_DATABASE_URL: address } });
  });
});
