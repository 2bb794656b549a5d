import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CONSOLE_TABLES } from '../../console/tables.ts';
import { replaceBeginnings } from '../../src/audit/checkpoint-store.ts';
import { CheckpointWriter, loadVaultId } from '../../src/audit/checkpoints.ts';
import { signStatement } from '../../src/audit/statements.ts';
import { verifyJournal } from '../../src/audit/verify-journal.ts';
import { runCommandLine } from '../../src/cli/command-line.ts';
import type { Core } from '../../src/cli/context.ts';
import { parseConfig } from '../../src/config.ts';
import { systemRandom } from '../../src/crypto/random.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { beginCopy, copyRows, createSchema, identifySource, unfinishedCopy } from '../../src/storage/copy.ts';
import { commitOrThrow, write } from '../../src/storage/database.ts';
import { type OpenedDatabase, openDatabase } from '../../src/storage/open.ts';
import { SadKeyFiles } from '../../src/storage/sqlite/sad-key-files.ts';
import { BIN, type CommandResult, runInProcess, runWithSettings, withoutSettings } from '../fixtures/command.ts';
import { COPY_PATHS, Databases, type Kind } from '../fixtures/copy-databases.ts';
import { readAllRows, seedEmptyTables, seedVault } from '../fixtures/copy-seed.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';
import { COPIED_TABLES } from '../fixtures/tables.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newMerchant, processed } from '../interface/payment-requests.ts';
import { newSender } from '../interface/proxy-requests.ts';
import { CAPTURES, capture, cards, dataOf, TOKENIZE, VISA } from '../interface/vault-requests.ts';
import { inScope, onlyLong } from '../scope.ts';

/** Records of a vault that was used, which it must still serve after a copy. */
interface Used {
  /** The data directory, in which the database is not. */
  readonly directory: string;
  readonly key: string;
  readonly tokens: string[];
  readonly captureId: string;
  readonly payment: string;
  readonly standing: unknown;
  readonly keptAnswer: string;
}

const ONCE = { 'idempotency-key': 'before-the-move' };
const PANS = ['4111111111111111', '5200828282828210', '378282246310005'];

/** Uses every part of the interface; what only the console writes is filled. So every table has rows. */
async function use(service: TestService, directory: string): Promise<Used> {
  const merchant = await newMerchant(service);
  const { account, key } = merchant;
  await newSender(service, { account });
  const tokens = dataOf(await merchant.tokenize(cards(PANS, { type: 'persistent', tags: ['moves'] }))).tokens.map(
    ({ token }: { token: string }) => token,
  );
  const captureId = dataOf(await merchant.send('POST', CAPTURES, capture())).id;
  const keptAnswer = (await merchant.send('POST', CAPTURES, capture(), ONCE)).text;
  const payment = await merchant.opened('authorization');
  processed(await merchant.move('capture', payment, 100));
  processed(await merchant.move('refund', payment, 25));
  await signStatements(service.core);
  await seedEmptyTables(service.core.database);
  return { directory, key, tokens, captureId, payment, standing: await merchant.standing(payment), keptAnswer };
}

/** A checkpoint, and a beginning of the log from which nothing was removed: other rows than signed ones are a fault. */
async function signStatements(core: Core): Promise<void> {
  await new CheckpointWriter(core, () => undefined).write();
  const vault = await loadVaultId(core.database, core.journalKey);
  const times = { time: '2026-01-01T00:00:00.000Z', before: '2025-01-01T00:00:00.000Z' };
  const content = { vault, header: '', part: 1, parts: 1, chains: 0, heads: [] };
  const beginning = await signStatement(core.signingKeys, 'beginning', { ...content, ...times });
  await commitOrThrow(core.database, { writes: replaceBeginnings(undefined, [beginning]) });
}

async function assertServes(service: TestService, used: Used): Promise<void> {
  const { key, tokens, captureId, payment } = used;
  for (const token of tokens)
    assert.equal((await service.call('GET', `/v1/tokens/${token}/inspect`, { key })).status, 200);
  const again = await service.call('POST', TOKENIZE, { key, body: cards(PANS, { type: 'persistent' }) });
  assert.deepEqual(
    dataOf(again).tokens.map(({ token }: { token: string }) => token),
    tokens,
  );
  const { pan, cvv } = dataOf(await service.call('GET', `${CAPTURES}/${captureId}`, { key }));
  assert.deepEqual([pan, cvv], [VISA, '123']);
  const replayed = await service.call('POST', CAPTURES, { key, body: capture(), headers: ONCE });
  assert.deepEqual([replayed.text, replayed.headers['idempotent-replayed']], [used.keptAnswer, 'true']);
  const shown = await service.call('GET', `/v1/payments/transactions/${payment}`, { key });
  const { status } = processed(shown).transaction_info;
  assert.equal(status, (used.standing as { status: string }).status);
  const { database, journalKey, signingKeys } = service.core;
  const { ok, records } = await verifyJournal(database, journalKey, { signingKeys });
  assert.ok(ok && records > 5, `${records}`);
}

/** Copies from one SQLite database to another are also those of the other tests. */
const STATIONS: readonly (readonly Kind[])[] = inScope({
  usual: [['PostgreSQL', 'SQLite']],
  long: [['SQLite'], ['PostgreSQL', 'SQLite']],
});
const skipOf = (kinds: readonly Kind[]): string | false =>
  kinds.includes('PostgreSQL') && (COPY_PATHS.find(({ to }) => to === 'PostgreSQL')?.skip ?? false);

const copy = (from: string, to: string, ...more: string[]): string[] => ['copy', '--from', from, '--to', to, ...more];

describe('a vault with records of every kind', { timeout: 240_000 }, () => {
  let databases: Databases;
  let used: Used;
  let source: string;
  /** A data directory without a root key: nothing that a copy does needs one. */
  let keyless: string;
  const run = (...args: string[]): Promise<CommandResult> => runInProcess(keyless, ...args);

  before(async () => {
    databases = new Databases();
    const directory = join(databases.directory, 'used');
    keyless = join(databases.directory, 'keyless');
    source = await databases.address('SQLite');
    const service = await startTestService({ directory, variables: { CARDVAULT_DATABASE_URL: source } });
    try {
      used = await use(service, directory);
    } finally {
      await service.stop();
    }
  });
  after(() => databases.remove());

  for (const stations of STATIONS) {
    test(`serves the same records after copies to ${stations.join(' and to ')}`, {
      skip: skipOf(stations),
    }, async () => {
      let from = source;
      for (const kind of stations) {
        const to = await databases.address(kind);
        const ran = await run(...copy(from, to, '--json'));
        assert.deepEqual([ran.code, ran.err], [0, '']);
        const { tables, rows, copied, milliseconds, sad_keys: sadKeys } = ran.json;
        assert.deepEqual(
          tables.map(({ name }: { name: string }) => name),
          COPIED_TABLES.map(({ name }) => name),
        );
        for (const { name, rows, sha256 } of tables) {
          assert.ok(rows > 0, `${name} is empty`);
          assert.match(sha256, /^[0-9a-f]{64}$/);
        }
        assert.equal(
          rows,
          tables.reduce((sum: number, each: { rows: number }) => sum + each.rows, 0),
        );
        assert.equal(copied, true);
        // Two when an hour began between the captures.
        assert.ok(sadKeys === 1 || sadKeys === 2, `${sadKeys}`);
        assert.ok(milliseconds >= 0);
        assert.ok(!existsSync(keyless), 'a copy makes nothing beside the database');
        const service = await startTestService({
          directory: used.directory,
          variables: { CARDVAULT_DATABASE_URL: to },
        });
        try {
          await assertServes(service, used);
        } finally {
          await service.stop();
        }
        from = to;
      }
      const verified = await runWithSettings(
        { CARDVAULT_DATA_DIR: used.directory, CARDVAULT_DATABASE_URL: from },
        ...['audit', 'verify', '--json'],
      );
      assert.equal(verified.code, 0, verified.out);
    });
  }

  test('omits the keys of security codes when it is a backup', async () => {
    const to = await databases.address('SQLite');
    const ran = await run(...copy(source, to, '--as-backup', '--json'));
    assert.deepEqual([ran.code, ran.err, ran.json.copied, ran.json.sad_keys], [0, '', true, 0]);
    const { out } = await run(...copy(source, to, '--as-backup'));
    assert.match(out, /\nkeys of security codes and track data left out, as in a backup\n/);
    assert.match(out, /\n {2}2\. Start the service again, with the database that it had\.\n$/);
    const service = await startTestService({ directory: used.directory, variables: { CARDVAULT_DATABASE_URL: to } });
    try {
      const { pan, cvv } = dataOf(await service.call('GET', `${CAPTURES}/${used.captureId}`, { key: used.key }));
      assert.deepEqual([pan, cvv], [VISA, undefined]);
    } finally {
      await service.stop();
    }
  });

  test('is rejected as a backup when an interrupted copy has left keys, and as a move when other keys exist', async () => {
    const to = await databases.address('SQLite');
    const keys = new SadKeyFiles(to.slice('sqlite:'.length));
    const other = { environment: 'sandbox', period: 1, id: 'a'.repeat(16), wrapped: new Uint8Array(69) } as const;
    await keys.insert({ ...other, closedAt: undefined });
    for (const [options, message] of [
      [['--as-backup'], /the target holds keys of sensitive authentication data; empty it, and begin again/],
      [[], /the target holds other keys of sensitive authentication data than the source/],
    ] as const) {
      const { code, err } = await run(...copy(source, to, ...options, '--json'));
      assert.notEqual(code, 0);
      assert.match(JSON.parse(err).error, message);
    }
  });

  test('prints what was copied and the next step, and the state when it is run again', async () => {
    const to = await databases.address('SQLite');
    const { code, err, out } = await run(...copy(source, to));
    assert.deepEqual([code, err], [0, '']);
    assert.match(out, /^TABLE +ROWS +SHA-256\n(?:.+\n)*wrapped_keys +[0-9]+ +[0-9a-f]{64}\n/);
    assert.match(
      out,
      /\n[0-9]+ rows copied and compared, in [0-9.]+ s\n[12] keys of security codes and track data copied\nthe audit log has no record of the copy: .*\n\nWhat to do next:\n {2}1\. Leave the root key/,
    );
    const again = await run(...copy(source, to));
    assert.deepEqual([again.code, again.err], [0, '']);
    assert.match(again.out, /\n[0-9]+ rows compared; copied until 20[^ ]+Z, in/);
    assert.equal((await run(...copy(source, to, '--json'))).json.copied, false);
    // Once the new one is used, they differ; nothing is said of emptying it.
    const database = databases.open(to);
    await commitOrThrow(database, { writes: [write('update accounts set name = ?', ['changed'])] });
    await database.close();
    const later = await run(...copy(source, to, '--json'));
    assert.equal(later.code, 1);
    assert.match(JSON.parse(later.err).error, /table accounts differs.*; go on with the one that was used/);
    assert.doesNotMatch(later.err, /empty the target/);
  });

  /** Runs a command that opens no vault. `onOpen`: called with each database that it opens. */
  async function runWith(clock: Clock, onOpen: (opened: OpenedDatabase, address: string) => void, ...args: string[]) {
    let [out, err] = ['', ''];
    const config = parseConfig({ CARDVAULT_DATA_DIR: keyless });
    const code = await runCommandLine(args, {
      clock,
      paths: () => config,
      custodyFor: () => config.rootKey,
      holdRootKey: () => Promise.reject(new Error('a copy holds no root key')),
      open: () => Promise.reject(new Error('a copy opens no vault')),
      openDatabase: async (address) => {
        const opened = openDatabase(parseConfig({ CARDVAULT_DATABASE_URL: address }).database, clock, systemRandom());
        onOpen(opened, address);
        return opened;
      },
      openConfiguredDatabase: () => Promise.reject(new Error('a copy names its databases')),
      unlockJournal: () => Promise.resolve(false),
      start: () => Promise.reject(new Error('nothing serves')),
      surroundings: { installation: () => config, variables: [], stopwatch: clock, random: systemRandom() },
      untilStopped: () => Promise.resolve(),
      standardOutput: 'other',
      command: 'npx cardvault',
      listConsoleTables: () => Promise.resolve(CONSOLE_TABLES),
      listRotatedConsoleColumns: undefined,
      addConsoleCommands: undefined,
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
    });
    return { code, out, err };
  }

  test('is rejected when the source has changed behind the comparison, and stays unfinished', async () => {
    const [from, to] = [await databases.address('SQLite'), await databases.address('SQLite')];
    const file = from.slice('sqlite:'.length);
    copyFileSync(source.slice('sqlite:'.length), file);
    let reads = 0;
    const onOpen = ({ database }: OpenedDatabase, address: string): void => {
      if (address !== from) return;
      const readStored = database.readStored.bind(database);
      database.readStored = async (sql, ...values) => {
        const rows = await readStored(sql, ...values);
        // Its sizes and its rows are read to copy the table, and again to compare it.
        if (sql.includes(' from journal_heads') && ++reads === 4) {
          const other = new DatabaseSync(file);
          other.exec('update journal_heads set sequence = sequence + 1');
          other.close();
        }
        return rows;
      };
    };
    const { code, out, err } = await runWith(() => Date.now(), onOpen, ...copy(from, to, '--json'));
    assert.deepEqual([reads >= 4, code, out], [true, 1, '']);
    assert.match(JSON.parse(err).error, /table journal_heads differs.*the copy is not finished.*empty the target/);
    assert.equal(await unfinishedCopy(databases.open(to)), true);
  });

  test('prints its progress when it is slow, but not in JSON', async () => {
    for (const json of [[], ['--json']]) {
      let now = Date.now();
      const clock = (): number => {
        now += 3000;
        return now;
      };
      const args = [...copy(source, await databases.address('SQLite')), ...json];
      const { code, out, err } = await runWith(clock, () => undefined, ...args);
      assert.equal(code, 0, err);
      if (json.length > 0) assert.deepEqual([err, JSON.parse(out).copied], ['', true]);
      else {
        assert.match(err, /^[a-z_]+: [0-9]+ rows copied\n/);
        assert.match(err, /\n[a-z_]+: [1-9][0-9]* rows compared\n/);
        assert.ok(err.split('\n').length < 2 * COPIED_TABLES.length, 'not at every step');
      }
    }
  });

  test('is not opened when its copy is incomplete', async () => {
    const to = await databases.address('SQLite');
    const [one, other] = [databases.open(source), databases.open(to)];
    await createSchema(other, Date.now);
    await beginCopy(other, { source: await identifySource(one), tables: COPIED_TABLES }, 1);
    await copyRows({ source: one, target: other, tables: COPIED_TABLES, progress: () => undefined });
    await Promise.all([one.close(), other.close()]);
    const variables = { CARDVAULT_DATA_DIR: used.directory, CARDVAULT_DATABASE_URL: to };
    const opened = await runWithSettings(variables, 'account', 'list', '--json');
    assert.notEqual(opened.code, 0);
    assert.match(JSON.parse(opened.err).error, /copy.*not/);
  });

  describe('is rejected', () => {
    const refused = async (args: string[], problem: RegExp, code = 2): Promise<void> => {
      const ran = await run(...args, '--json');
      assert.match(JSON.parse(ran.err).error, problem);
      assert.deepEqual([ran.code, ran.out], [code, '']);
    };

    test('from a location without a vault, and nothing is created', async () => {
      const [nowhere, to] = [await databases.address('SQLite'), await databases.address('SQLite')];
      await refused(copy(nowhere, to), /there is no vault at/);
      const other = join(databases.directory, 'other.db');
      writeFileSync(other, 'no database '.repeat(1000));
      await refused(copy(`sqlite:${other}`, to), /other\.db cannot be copied: it is no cardvault database/);
      for (const address of [nowhere, to]) assert.ok(!existsSync(address.slice('sqlite:'.length)));
    });

    test('from or to a malformed address, without repeating it', async () => {
      for (const address of [
        '',
        'mysql://user:secret@host/x',
        'sqlite:',
        'user:secret@host',
        'postgres://user:secret@',
      ])
        for (const args of [copy(address, source), copy(source, address)]) {
          const { code, err } = await runInProcess(keyless, ...args, '--json');
          assert.equal(code, 2);
          assert.match(JSON.parse(err).error, /expected (hosts|sqlite:PATH|postgres:)/);
          assert.doesNotMatch(err, /secret/);
        }
    });

    test('with a warning about a password in an address, except in JSON', async () => {
      const [secret, other] = ['postgres://user:secret@127.0.0.1:1/x', 'postgres://user@127.0.0.1:1/x'];
      const { code, err } = await run(...copy(secret, secret));
      assert.equal(code, 2);
      assert.match(err, /^warning: .* password in --from and --to .*CARDVAULT_DATABASE_PASSWORD_FILE.*\n.*same/);
      assert.doesNotMatch(err, /secret/);
      assert.doesNotMatch((await run(...copy(other, other))).err, /warning/);
      await refused(copy(secret, secret), /the same database/);
    });

    test('onto itself, also by another name', async () => {
      await refused(copy(source, source), /the same database/);
      const other = `${source.slice('sqlite:'.length)}.link`;
      symlinkSync(source.slice('sqlite:'.length), other);
      await refused(copy(source, `sqlite:${other}`), /the same database/);
      if (whyNoPostgres() !== false) return;
      const one = await databases.address('PostgreSQL');
      assert.equal((await run(...copy(source, one), '--json')).err, '');
      const again = one.replace('127.0.0.1', 'localhost');
      await refused([...copy(one, again), '--force'], /the same database/);
    });

    test('while either side is in use', async () => {
      const to = await databases.address('SQLite');
      const user = databases.open(source);
      await user.read('select 1 as one from accounts');
      await refused(copy(source, to), /the source is in use; stop the service first/);
      assert.ok(!existsSync(to.slice('sqlite:'.length)));
      await user.close();
      const other = databases.open(to);
      await other.migrate(Date.now);
      await refused(copy(source, to), /the target is in use; stop the service first/);
      await other.close();
      assert.equal((await run(...copy(source, to))).code, 0);
    });

    test('from a file whose pages are damaged', async () => {
      const damaged = join(databases.directory, 'damaged.db');
      const bytes = readFileSync(source.slice('sqlite:'.length));
      bytes.fill(0x5a, 5 * 4096, 6 * 4096);
      writeFileSync(damaged, bytes);
      await refused(copy(`sqlite:${damaged}`, await databases.address('SQLite')), /cannot be copied/);
    });

    test('to a target that has a vault', async () => {
      const address = await databases.address('SQLite');
      const variables = { CARDVAULT_DATABASE_URL: address };
      await startTestService({ directory: join(databases.directory, 'another'), variables }).then((service) =>
        service.stop(),
      );
      const reader = databases.open(address);
      const before = await readAllRows(reader);
      await reader.close();
      await refused(copy(source, address), /the target is not empty: table [a-z_]+ has rows/);
      const again = databases.open(address);
      assert.deepEqual(await readAllRows(again), before);
      assert.equal(await unfinishedCopy(again), false);
      await again.close();
    });

    test('while nodes are active on PostgreSQL, unless they were killed', {
      skip: skipOf(['PostgreSQL']),
    }, async () => {
      const [to, back] = [await databases.address('PostgreSQL'), await databases.address('SQLite')];
      assert.equal((await run(...copy(source, to))).code, 0);
      const node = databases.open(to);
      await commitOrThrow(node, { writes: [write('update accounts set name = name', [])] });
      await refused(copy(to, back), /the source was used by a node within the last minute.*--force/);
      assert.ok(!existsSync(back.slice('sqlite:'.length)));
      await refused(copy(source, to), /the target was used by a node within the last minute/);
      assert.equal((await run(...copy(to, back, '--force'))).code, 0);
      await node.close();
    });
  });
});

// Between two of a kind nothing is different.
for (const { from, to, skip } of COPY_PATHS.filter((way) => way.from !== way.to)) {
  const otherWay = to === 'SQLite' && onlyLong;
  describe(`a copy from ${from} to ${to} whose process is killed`, { skip: skip || otherWay, timeout: 280_000 }, () => {
    const KILLS = inScope({ usual: 1, long: 3 });
    let databases: Databases;
    before(() => {
      databases = new Databases();
    });
    after(() => databases.remove());

    const start = (source: string, target: string): ChildProcess =>
      spawn(process.execPath, [BIN, ...copy(source, target, '--force', '--json')], {
        env: { ...withoutSettings(process.env), CARDVAULT_DATA_DIR: databases.directory },
        stdio: ['ignore', 'pipe', 'pipe'],
      });

    test('continues when it is run again, and ends with the same rows', async () => {
      const source = await databases.address(from);
      let target = await databases.address(to);
      const filled = databases.open(source);
      await filled.migrate(Date.now);
      await seedVault(filled, { rows: 400, wide: (index) => (index % 4 === 0 ? 20_000 : 0) });
      const expected = await readAllRows(filled);
      await filled.close();

      // The time that an undisturbed one takes.
      const undisturbed = Date.now();
      const [code] = await once(start(source, await databases.address(to)), 'close');
      assert.equal(code, 0);
      let duration = Date.now() - undisturbed;

      const killedAfter: number[] = [];
      for (let kill = 0; kill < KILLS; kill++) {
        const child = start(source, target);
        const wait = Math.round((0.2 + 0.6 * Math.random()) * duration);
        const closed = once(child, 'close') as Promise<[number | null, string | null]>;
        await Promise.race([pause(wait), closed]);
        child.kill('SIGKILL');
        const [, signal] = await closed;
        if (signal === null) {
          if (killedAfter.length > 0) break;
          // The machine has become faster since.
          [target, duration, kill] = [await databases.address(to), duration / 2, kill - 1];
          continue;
        }
        killedAfter.push(wait);
        if (!(await isFinished(target))) continue;
        break;
      }
      const child = start(source, target);
      let output = '';
      child.stderr?.on('data', (text) => {
        output += text;
      });
      const [last] = await once(child, 'close');
      assert.equal(last, 0, `${output} after ${killedAfter.join()} of ${duration} ms`);
      const moved = databases.open(target);
      assert.equal(await unfinishedCopy(moved), false);
      assert.deepEqual(await readAllRows(moved), expected);
    });

    async function isFinished(target: string): Promise<boolean> {
      if (target.startsWith('sqlite:') && !existsSync(target.slice('sqlite:'.length))) return false;
      const database = databases.open(target);
      try {
        return !(await unfinishedCopy(database)) && (await database.read('select id from copies')).length > 0;
      } catch {
        // Killed before the schema was made.
        return false;
      } finally {
        await database.close();
      }
    }
  });
}
