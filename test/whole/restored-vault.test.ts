import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parseConfig } from '../../src/config.ts';
import { type OpenCore, openCore } from '../../src/core.ts';
import { DAY, formatIso8601, HOUR } from '../../src/kernel/clock.ts';
import { type AgeKey, newAgeKey } from '../fixtures/age-keys.ts';
import { TestClock } from '../fixtures/clock.ts';
import { runAt, runWithSettings } from '../fixtures/command.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { RuledTenant } from '../fixtures/ruled-tenant.ts';
import { luhnPan } from '../fixtures/test-service.ts';

type Variables = Readonly<Record<string, string>>;

/** The members that `backup` and `backup list` both print. */
interface ListedBackup {
  readonly id: string;
  readonly file: string;
  readonly created_at: string;
  readonly bytes: number;
  readonly root_key: string;
}

const toFacts = ({ id, file, created_at, bytes, root_key }: ListedBackup) => [id, file, created_at, bytes, root_key];

const UNUSED_DAYS = 30;
const WAIT_DAYS = 14;

for (const kind of ['SQLite', 'PostgreSQL'] as const) {
  describe(`a vault that was restored from a backup of ${kind}`, {
    timeout: 120_000,
    skip: kind === 'PostgreSQL' && whyNoPostgres(),
  }, () => {
    const clock = new TestClock();
    const databases: string[] = [];
    const opened: OpenCore[] = [];
    let directory: string;
    let keys: AgeKey;
    let original: Variables;
    let restored: Variables;
    let backup: ListedBackup;
    let later: ListedBackup;
    const inFolder = (...names: string[]): string => join(directory, ...names);
    const newDatabase = async (): Promise<string> => {
      const address = await (await sharedPostgres()).newDatabase();
      databases.push(address);
      return address;
    };
    const newFolder = async (name: string): Promise<Variables> => {
      mkdirSync(inFolder(name));
      return {
        CARDVAULT_DATA_DIR: inFolder(name),
        CARDVAULT_CLOCK: 'system',
        CARDVAULT_WORKERS: '1',
        ...(kind === 'PostgreSQL' && { CARDVAULT_DATABASE_URL: await newDatabase() }),
      };
    };
    const open = async (variables: Variables): Promise<OpenCore> => {
      const core = await openCore(parseConfig(variables), clock);
      opened.push(core);
      core.time.accept(core.time.read());
      return core;
    };
    const closeAll = async (): Promise<void> => {
      for (const core of opened.splice(0)) await core.close();
    };
    const run = (variables: Variables, ...args: string[]) => runAt(clock.clock, variables, ...args, '--json');
    const done = async (variables: Variables, ...args: string[]) => {
      const { code, out, err, json } = await run(variables, ...args);
      assert.equal(code, 0, err + out);
      return json;
    };
    const createBackup = (variables: Variables, name: string): Promise<ListedBackup> =>
      done(variables, 'backup', inFolder(name), '--recipient', keys.recipient);
    const listIds = async (): Promise<string[]> =>
      (await done(restored, 'backup', 'list')).map(({ id }: ListedBackup) => id);
    /** Creates a token of which the deletion is announced. */
    const announceDeletion = async (core: OpenCore): Promise<{ owner: RuledTenant; token: string }> => {
      const owner = await RuledTenant.create(core, UNUSED_DAYS);
      const token = await owner.tokenize(luhnPan('411111'), 'Ana Lopez');
      clock.advance((UNUSED_DAYS + 1) * DAY);
      await core.retention.sweep(clock.clock());
      assert.equal((await owner.findRule())?.announcement?.count, 1);
      return { owner, token };
    };

    before(async () => {
      clock.stop();
      directory = mkdtempSync(join(tmpdir(), 'cardvault-restored-'));
      keys = await newAgeKey(directory, 'identity');
      original = await newFolder('original');
      restored = await newFolder('restored');
    });
    after(async () => {
      await closeAll();
      rmSync(directory, { recursive: true, force: true });
      for (const address of databases) await (await sharedPostgres()).dropDatabase(address);
    });

    test('starts its retention rules again after a recovery to a point in time', {
      skip: kind === 'SQLite' && 'only PostgreSQL is recovered to a time',
    }, async () => {
      const { owner } = await announceDeletion(await open(original));
      clock.advance(HOUR);
      const recovered = await done(original, 'recovered', '--to', formatIso8601(clock.clock()), '--force');
      assert.equal(recovered.retention_rules, 1);
      const rule = await owner.findRule();
      assert.deepEqual([rule?.unusedDays, rule?.since, rule?.announcement], [UNUSED_DAYS, clock.clock(), undefined]);
      await owner.setRule(undefined);
      await closeAll();
    });

    test('deletes no token by what was announced before, and counts uses from the restore on', async () => {
      const { owner, token } = await announceDeletion(await open(original));
      clock.advance(WAIT_DAYS * DAY - HOUR);
      backup = await createBackup(original, 'backup.age');
      await owner.use(token);
      later = await createBackup(original, 'later.age');
      await closeAll();
      clock.advance(6 * HOUR);
      copyFileSync(inFolder('original', 'root.key'), inFolder('restored', 'root.key'));
      const result = await done(restored, 'restore', backup.file, '--identity', keys.file);
      assert.equal(result.retention_rules, 1);

      const core = await open(restored);
      const again = new RuledTenant(core, owner.tenant);
      const rule = await again.findRule();
      assert.deepEqual([rule?.unusedDays, rule?.since, rule?.announcement], [UNUSED_DAYS, clock.clock(), undefined]);
      for (const days of [0, UNUSED_DAYS - 1]) {
        clock.advance(days * DAY);
        await core.retention.sweep(clock.clock());
        assert.equal(await again.hasToken(token), true);
        assert.equal((await again.findRule())?.announcement, undefined);
      }
      clock.advance(2 * DAY);
      await core.retention.sweep(clock.clock());
      assert.equal((await again.findRule())?.announcement?.count, 1);
      assert.deepEqual(
        (await again.listRecords('retention.set')).map(({ detail }) => detail),
        [
          { old_unused_days: 'none', unused_days: UNUSED_DAYS },
          { old_unused_days: UNUSED_DAYS, unused_days: UNUSED_DAYS, reason: 'restored' },
        ],
      );
      await closeAll();
      assert.equal((await done(restored, 'audit', 'verify')).ok, true);
    });

    test('lists the backup that it comes from, and a later one after its drill', async () => {
      const [listed, ...others] = await done(restored, 'backup', 'list');
      assert.deepEqual(others, []);
      assert.deepEqual(toFacts(listed), toFacts(backup));
      await done(restored, 'drill', '--from', later.file, '--identity', keys.file);
      assert.deepEqual((await listIds()).sort(), [backup.id, later.id].sort());
    });

    test('keeps the former root key until both have ended', async () => {
      await done(restored, 'keyring', 'rotate', 'root');
      clock.advance(HOUR);
      await createBackup(restored, 'newest.age');
      const refused = await run(restored, 'keyring', 'destroy', 'root');
      assert.notEqual(refused.code, 0);
      assert.match(refused.err, /2 backups from before its rotation have not ended/);
      for (const { id, file } of [backup, later]) {
        rmSync(file);
        await done(restored, 'backup', 'end', id);
      }
      await done(restored, 'keyring', 'destroy', 'root');
    });
  });
}

describe('a vault that was restored from a copy without encryption', () => {
  let directory: string;
  const inFolder = (...names: string[]): string => join(directory, ...names);
  const done = async (...args: string[]) => {
    const { code, out, err, json } = await runWithSettings({ CARDVAULT_DATA_DIR: inFolder('data') }, ...args, '--json');
    assert.equal(code, 0, err + out);
    return json;
  };
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-restored-'));
    mkdirSync(inFolder('data'));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('lists it once, under an id made of its digest', async () => {
    await done('account', 'create', '--name', 'Store');
    const startedAt = Date.now();
    const { root_key: rootKey } = await done('backup', inFolder('copy.db'), '--plain');
    const finishedAt = Date.now();
    const copy = readFileSync(inFolder('copy.db'));
    const digest = createHash('sha256').update(copy).digest('hex');
    for (let times = 0; times < 2; times++) {
      await done('restore', inFolder('copy.db'), '--force');
      const [listed, ...others] = await done('backup', 'list');
      assert.deepEqual(others, []);
      assert.deepEqual(
        [listed.id, listed.file, listed.root_key],
        [`bkp_${digest.slice(0, 20)}`, inFolder('copy.db'), rootKey],
      );
      const createdAt = Date.parse(listed.created_at);
      assert.ok(startedAt <= createdAt && createdAt <= finishedAt, listed.created_at);
    }
  });

  test('lists no file that an interrupted restore left', async () => {
    const remainder = inFolder('data', 'cardvault.db.restored');
    copyFileSync(inFolder('copy.db'), remainder);
    await done('restore', remainder, '--force');
    assert.deepEqual(await done('backup', 'list'), []);
  });
});
