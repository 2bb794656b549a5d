import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { loadBeginnings } from '../../src/audit/beginnings.ts';
import { checkExport } from '../../src/audit/check-export.ts';
import { CheckpointWriter, verifyCheckpoints } from '../../src/audit/checkpoints.ts';
import { exportToFile } from '../../src/audit/export-file.ts';
import { measureLag } from '../../src/audit/journal-tail.ts';
import { PeriodicVerification } from '../../src/audit/periodic-verification.ts';
import { readLines } from '../../src/audit/read-lines.ts';
import { LogReview } from '../../src/audit/review.ts';
import { listFindings } from '../../src/audit/review-store.ts';
import { listPublicKeys } from '../../src/audit/statements.ts';
import { verifyJournal } from '../../src/audit/verify-journal.ts';
import { DAY, MINUTE } from '../../src/kernel/clock.ts';
import { StorageError } from '../../src/storage/database.ts';
import { runAt } from '../fixtures/command.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { CAPTURES, capture, cards, dataOf, TOKENIZE } from '../interface/vault-requests.ts';
import { operate } from '../storage/postgres-fixture.ts';

const DOCUMENTED = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'operations.md'), 'utf8');
const [, PRUNING_GRANTS = ''] =
  /### A service that cannot change the audit log[^#]*?```sql\n[^`]*```[^#]*?```sql\n([^`]*)```/.exec(DOCUMENTED) ?? [];
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

  test('signs checkpoints and reviews the log', async () => {
    const { core } = service;
    await service.newAccount();
    await new CheckpointWriter(core, () => undefined).write();
    const review = new LogReview(core);
    await review.run();
    const findings = await listFindings(core.database, core.clock(), 100);
    assert.ok(findings.some(({ rule }) => rule === 'operator-commands'));
    // The periodic tasks of the service may just have written a record.
    await untilPasses(async () => {
      await review.run();
      assert.deepEqual(await measureLag(core.database, 'review'), { records: 0, oldest: undefined });
    });
    const { records, oldest } = await measureLag(core.database, 'syslog');
    assert.ok(records > 0 && oldest !== undefined);
    const beginnings = await loadBeginnings(core.database, core.signingKeys);
    assert.ok(beginnings !== 'altered');
    const { checkpoints, fault } = await verifyCheckpoints(core.database, core.signingKeys, beginnings);
    assert.deepEqual([fault, checkpoints > 0], [undefined, true]);
  });

  test('cannot change or remove a record, a head, a checkpoint or the register', async () => {
    const { database } = service.core;
    for (const sql of [
      "update journal set record = '{}'",
      "update audit_checkpoints set statement = '{}'",
      'delete from audit_checkpoints',
      'delete from audit_beginnings',
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

  test('needs another role to prune the log', async () => {
    const settings = (url: string) => ({ CARDVAULT_DATA_DIR: directory, CARDVAULT_DATABASE_URL: url });
    const before = new Date(service.now()).toISOString();
    const prune = ['audit', 'prune', '--before', before, '--to', join(directory, 'removed.jsonl')];
    const later = (): number => service.now() + 400 * DAY;
    assert.equal((await runAt(later, settings(address), 'clock', 'confirm')).code, 0);
    const denied = await runAt(later, settings(address), ...prune);
    assert.equal(denied.code, 2);
    assert.match(denied.err, /may not delete from the journal; run this command with the role for pruning/);
    assert.match(PRUNING_GRANTS, /revoke update on journal/);
    await operate(owner, PRUNING_GRANTS);
    const pruning = address.replace('cardvault_service', 'cardvault_pruning');
    const { code, err } = await runAt(later, settings(pruning), ...prune);
    assert.deepEqual([code, err], [0, '']);
    const { database, journalKey, signingKeys } = service.core;
    assert.equal((await verifyJournal(database, journalKey, { signingKeys })).fault, undefined);
    assert.equal((await database.read('select 1 as found from audit_beginnings')).length, 1);
    await exportToFile(service.core, join(directory, 'export.jsonl'));
    const check = await checkExport(readLines(join(directory, 'export.jsonl')), await listPublicKeys(signingKeys));
    assert.equal(check.fault, undefined);
  });

  test('gets an error with the role that updates the schema', async () => {
    await service.stop();
    const removed = await operate(owner, 'delete from schema_migrations where version = 1 returning *');
    const start = startTestService({ directory, variables: { CARDVAULT_DATABASE_URL: address } });
    await assert.rejects(start, /42501; run cardvault migrate as the owner of the database/);
    const [row = {}] = removed;
    await operate(
      owner,
      `insert into schema_migrations
        values (1, '${row['name']}', '${row['release']}', ${row['applied_at']}, ${row['min_compatible']})`,
    );
    service = await startTestService({ directory, variables: { CARDVAULT_DATABASE_URL: address } });
  });
});
