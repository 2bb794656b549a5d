import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { link, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { SadKeyStore, WrappedSadKey } from '../../src/crypto/sad-keys.ts';
import { HOUR } from '../../src/kernel/clock.ts';
import { sadKeyTable } from '../../src/storage/sad-key-table.ts';
import { SadKeyFiles, sadKeyFolder } from '../../src/storage/sqlite/sad-key-files.ts';
import { SqliteDatabase } from '../../src/storage/sqlite/sqlite.ts';
import { openAddress } from '../fixtures/database.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { whyNoPostgres } from '../fixtures/postgres-binaries.ts';

const PERIOD = 493_021;

const newKey = (more: Partial<WrappedSadKey> = {}): WrappedSadKey => ({
  environment: 'sandbox',
  period: PERIOD,
  id: randomBytes(8).toString('hex'),
  wrapped: new Uint8Array(randomBytes(69)),
  closedAt: undefined,
  ...more,
});

const plain = (key: WrappedSadKey | undefined) => key && { ...key, wrapped: Buffer.from(key.wrapped).toString('hex') };
const sorted = (keys: readonly WrappedSadKey[]) =>
  keys.map(plain).sort((one, two) => (one?.id ?? '').localeCompare(two?.id ?? ''));

/** `open`: the same store as another process sees it. */
interface Rig {
  open(): SadKeyStore;
  remove(): Promise<void>;
}

function contract(kind: string, skip: string | false, make: () => Promise<Rig>): void {
  describe(`keys of sensitive authentication data in ${kind}`, { skip }, () => {
    let rig: Rig;
    let store: SadKeyStore;
    beforeEach(async () => {
      rig = await make();
      store = rig.open();
    });
    afterEach(() => rig.remove());

    test('are found by period while they are open, and by id, also in another process', async () => {
      assert.deepEqual(await store.list(), []);
      assert.equal(await store.findOpen('sandbox', PERIOD), undefined);
      const [key, other] = [newKey(), newKey({ environment: 'production' })];
      assert.deepEqual([await store.insert(key), await store.insert(other)], [true, true]);
      const again = rig.open();
      assert.deepEqual(plain(await again.findOpen('sandbox', PERIOD)), plain(key));
      assert.deepEqual(plain(await again.findById(other.id)), plain(other));
      assert.equal(await again.findOpen('sandbox', PERIOD + 1), undefined);
      assert.equal(await again.findById('0'.repeat(16)), undefined);
      assert.deepEqual(sorted(await again.list()), sorted([key, other]));
    });

    test('are created once for a period when many processes insert concurrently', async () => {
      const keys = Array.from({ length: 8 }, () => newKey());
      const stored = await Promise.all(keys.map((key) => rig.open().insert(key)));
      assert.equal(stored.filter((isStored) => isStored).length, 1);
      assert.deepEqual(sorted(await store.list()), sorted([keys[stored.indexOf(true)] as WrappedSadKey]));
    });

    test('allow another one for the period when they are closed', async () => {
      const [key, next] = [newKey(), newKey()];
      await store.insert(key);
      await store.close(key, 5);
      assert.equal(await store.findOpen('sandbox', PERIOD), undefined);
      assert.equal(await store.insert(next), true);
      await store.close(key, 9);
      assert.deepEqual(plain(await store.findOpen('sandbox', PERIOD)), plain(next));
      assert.deepEqual(sorted(await store.list()), sorted([{ ...key, closedAt: 5 }, next]));
      const copied = newKey({ closedAt: 7 });
      assert.equal(await store.insert(copied), true);
      assert.equal(await store.insert(copied), false);
    });

    test('no longer exist when they are destroyed, open or closed, also twice', async () => {
      const [key, closed] = [newKey(), newKey({ closedAt: 7 })];
      await store.insert(key);
      await store.insert(closed);
      for (const each of [key, closed, key]) await store.destroy(each);
      assert.deepEqual(await rig.open().list(), []);
    });
  });
}

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'cardvault-sad-keys-'));

contract('files', false, async () => {
  const folder = newFolder();
  return {
    open: () => new SadKeyFiles(join(folder, 'vault.db')),
    remove: async () => rmSync(folder, { recursive: true }),
  };
});

contract('a table of SQLite', false, async () => {
  const folder = newFolder();
  const database = new SqliteDatabase(join(folder, 'vault.db'));
  await database.migrate(() => 1);
  return {
    open: () => sadKeyTable(database),
    remove: async () => {
      await database.close();
      rmSync(folder, { recursive: true });
    },
  };
});

contract('a table of PostgreSQL', whyNoPostgres(), async () => {
  const { newDatabase, dropDatabase } = await sharedPostgres();
  const address = await newDatabase();
  const database = openAddress(address);
  await database.migrate(() => 1);
  return {
    open: () => sadKeyTable(database),
    remove: async () => {
      await database.close();
      await dropDatabase(address);
    },
  };
});

describe('files of keys of sensitive authentication data', () => {
  let folder: string;
  let keys: string;
  let store: SadKeyFiles;
  beforeEach(() => {
    folder = newFolder();
    store = new SadKeyFiles(join(folder, 'vault.db'));
    keys = sadKeyFolder(join(folder, 'vault.db'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('are readable by their user only, and contain no key until one is needed', async () => {
    await store.list();
    assert.deepEqual(readdirSync(folder), []);
    await store.insert(newKey());
    assert.equal(statSync(keys).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(keys), [`sandbox-${PERIOD}`]);
    assert.equal(statSync(join(keys, `sandbox-${PERIOD}`)).mode & 0o777, 0o600);
  });

  test('are overwritten in place before they are removed', async () => {
    const key = newKey();
    await store.insert(key);
    const name = join(keys, `sandbox-${PERIOD}`);
    // A second name of the same bytes on disk.
    await link(name, join(folder, 'same-bytes'));
    assert.match(readFileSync(join(folder, 'same-bytes'), 'utf8'), new RegExp(key.id));
    await store.destroy(key);
    assert.ok(!existsSync(name));
    assert.ok(readFileSync(join(folder, 'same-bytes')).every((byte) => byte === 0));
  });

  test('that are damaged do not prevent the next key of the period', async () => {
    const key = newKey();
    for (const content of ['', '\0'.repeat(100), '{"id":', '[]', '{"id":"x","wrapped":"AA=="}', `{"id":"${key.id}"}`]) {
      await store.insert(newKey({ environment: 'production' }));
      writeFileSync(join(keys, `sandbox-${PERIOD}`), content);
      writeFileSync(join(keys, 'something else'), content);
      assert.deepEqual(
        (await store.list()).map(({ environment }) => environment),
        ['production'],
      );
      assert.equal(await store.findOpen('sandbox', PERIOD), undefined);
      assert.equal(await store.insert(key), true, content);
      await store.destroy(key);
    }
  });

  /** Runs work that reads this content from the open key of the period, and lets `meanwhile` run before the read ends. */
  async function readMeanwhile<Result>(
    content: string,
    act: () => Promise<Result>,
    meanwhile: () => unknown,
  ): Promise<Result> {
    const name = join(keys, `sandbox-${PERIOD}`);
    rmSync(name);
    execFileSync('mkfifo', [name]);
    const acting = act();
    const pipe = await open(name, 'w');
    rmSync(name);
    await meanwhile();
    await pipe.writeFile(content);
    await pipe.close();
    return acting;
  }

  test('that two processes close replace no other key, and are destroyed by the id that they contain', async () => {
    const [key, next] = [newKey(), newKey()];
    await store.insert(key);
    await readMeanwhile(
      readFileSync(join(keys, `sandbox-${PERIOD}`), 'utf8'),
      () => store.close(key, 5),
      async () => {
        // Another process closes the key at the same time, and a capture needs the next one.
        await store.insert({ ...key, closedAt: 5 });
        await store.insert(next);
      },
    );
    const closed = await store.list();
    assert.deepEqual(sorted(closed), sorted([key, next].map((each) => ({ ...each, closedAt: 5 }))));
    for (const each of closed) await store.destroy(each);
    assert.deepEqual(readdirSync(keys), []);
  });

  test('that are damaged, and that another process has replaced meanwhile, do not take the new key away', async () => {
    const key = newKey();
    await store.insert(newKey());
    const found = await readMeanwhile(
      'damaged',
      () => store.findOpen('sandbox', PERIOD),
      () => store.insert(key),
    );
    assert.equal(found, undefined);
    const closedAt = (PERIOD + 1) * HOUR;
    assert.deepEqual(plain(await store.findById(key.id)), plain({ ...key, closedAt }));
    assert.equal(await store.insert(newKey()), true);
  });

  test('that another process closes while they are listed are listed', async () => {
    const [key, other, next] = [newKey({ period: 1 }), newKey(), newKey()];
    for (const each of [key, other]) await store.insert(each);
    const content = readFileSync(join(keys, `sandbox-${PERIOD}`), 'utf8');
    // The name is listed, and its file does not exist when it is read.
    const [name, closed] = ['sandbox-1', `sandbox-1-5-${'a'.repeat(16)}`].map((each) => join(keys, each)) as [
      string,
      string,
    ];
    renameSync(name, join(keys, 'hidden'));
    symlinkSync('missing', name);
    const listed = await readMeanwhile(
      content,
      () => store.list(),
      () => {
        rmSync(name);
        renameSync(join(keys, 'hidden'), closed);
      },
    );
    assert.deepEqual(sorted(listed), sorted([{ ...key, closedAt: 5 }, other]));

    // The name is that of the next key when it is read.
    await store.insert(other);
    const found = await readMeanwhile(
      content.replace(other.id, next.id),
      () => store.findById(other.id),
      () => store.insert({ ...other, closedAt: 5 }),
    );
    assert.deepEqual(plain(found), plain({ ...other, closedAt: 5 }));
  });

  test('that cannot be written are a storage error', async () => {
    writeFileSync(keys, 'no folder');
    await assert.rejects(store.insert(newKey()), { name: 'StorageError', message: /cannot be used: (EEXIST|ENOTDIR)/ });
  });

  test('are written again when the folder was removed, and temporary files of a crash are deleted', async () => {
    await store.insert(newKey());
    rmSync(keys, { recursive: true });
    assert.equal(await store.insert(newKey()), true);
    writeFileSync(join(keys, `${'a'.repeat(16)}.new`), 'half a k');
    assert.equal(await new SadKeyFiles(join(folder, 'vault.db')).insert(newKey({ period: 1 })), true);
    assert.deepEqual(readdirSync(keys).sort(), ['sandbox-1', `sandbox-${PERIOD}`]);
  });
});
