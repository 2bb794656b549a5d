import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { readMigrations } from '../../src/storage/migrate.ts';
import { type ServiceProcess, spawnService, startProcess } from '../fixtures/service-process.ts';
import { onlyLong } from '../scope.ts';
import { checkReads, checkReplays } from './check-vault.ts';
import { addMigrations, COMPATIBLE, copyProgram } from './next-version.ts';
import {
  listReleases,
  type ReleasedProgram,
  readExpected,
  unpackProgram,
  unpackVault,
  whyNotFinal,
} from './releases.ts';

/** The new version is killed in the middle of a long migration of the vault that a release left over SQLite. */
const CLOCK = pathToFileURL(join(import.meta.dirname, '..', 'chaos', 'wall-clock.ts')).href;
const KILLS = 3;
const REACHED_WITHIN_MS = 60_000;
/** Bytes of the log that the transaction of the migration has written when it is killed. */
const WRITTEN = [300_000, 5_000_000, 20_000_000];
const PRESENT = readMigrations().length;
/** Writes some 60 MB. */
const LONG = `${COMPATIBLE}create table later_rows (id integer not null primary key, filler text not null);
insert into later_rows (id, filler)
  with recursive numbers(number) as (select 1 union all select number + 1 from numbers where number < 300000)
  select number, hex(zeroblob(100)) from numbers;
alter table tokens add column region text;
`;

for (const release of listReleases())
  describe(`the vault of ${release} over SQLite`, { skip: onlyLong || whyNotFinal(release), timeout: 600_000 }, () => {
    const vault = readExpected(release, 'sqlite');
    const folder = mkdtempSync(join(tmpdir(), 'cardvault-upgrade-'));
    const directory = join(folder, 'vault');
    const file = join(directory, 'cardvault.db');
    let old: ReleasedProgram;
    let next: ReleasedProgram;
    before(() => {
      old = unpackProgram(release, join(folder, 'old'));
      next = copyProgram(join(folder, 'next'));
      addMigrations(next, LONG);
      unpackVault(release, directory);
    });
    after(() => rmSync(folder, { recursive: true, force: true }));

    /** The time continues a minute after the vault was left: captures in it expire. */
    const variables = (): Record<string, string> => ({
      CARDVAULT_DATABASE_URL: `sqlite:${file}`,
      NODE_OPTIONS: `--import ${CLOCK}`,
      CHAOS_CLOCK_AHEAD: String(vault.leftAt + 60_000 - Date.now()),
    });
    const serve = ({ bin }: ReleasedProgram): Promise<ServiceProcess> => startProcess(directory, variables(), bin);
    const logSize = (): number => statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    const schema = (): number => {
      const database = new DatabaseSync(file);
      try {
        return Number(database.prepare('select max(version) as version from schema_migrations').get()?.['version']);
      } finally {
        database.close();
      }
    };

    async function killWithin(bytes: number): Promise<void> {
      const { child } = await spawnService(directory, variables(), next.bin);
      const ended = once(child, 'exit');
      for (const until = Date.now() + REACHED_WITHIN_MS; logSize() < bytes; await wait(1))
        assert.ok(Date.now() < until && child.exitCode === null, 'the migration was not reached');
      child.kill('SIGKILL');
      await ended;
    }

    for (const bytes of WRITTEN.slice(0, KILLS))
      test(`is unchanged after the new version was killed with ${bytes} bytes written`, async () => {
        const known = schema();
        await killWithin(bytes);
        assert.equal(schema(), known);
        const service = await serve(old);
        await checkReads(service, vault);
        assert.equal(await service.stop(), 0);
      });

    test('is upgraded afterwards, and goes back', async () => {
      const newer = await serve(next);
      await checkReads(newer, vault);
      await checkReplays(newer, vault);
      assert.equal(await newer.stop(), 0);
      assert.equal(schema(), PRESENT + 1);
      const back = await serve(old);
      await checkReads(back, vault);
      assert.equal(await back.stop(), 0);
      assert.equal(schema(), PRESENT + 1);
    });
  });
