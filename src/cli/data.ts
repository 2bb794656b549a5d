import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import type { Command } from 'commander';
import { iso8601 } from '../kernel/clock.ts';
import { listWrappedKeys } from '../storage/key-store.ts';
import { checkBackup, isInUse } from '../storage/sqlite/check-file.ts';
import { MAKES_VAULT, withCore } from './account.ts';
import type { Tools } from './core.ts';
import { print, table, UsageError } from './output.ts';

/** Commands about the database and its keys as a whole. */
export function dataCommands(program: Command, tools: Tools): void {
  program
    .command('migrate')
    .description('bring the database up to date; the service does it by itself when it starts')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withCore(
        tools,
        async ({ database }) => {
          const [row] = await database.read('select max(version) as version from schema_migrations');
          const schema = Number(row?.['version']);
          print(tools, json, { schema }, `the database has schema ${schema}`);
        },
        MAKES_VAULT,
      ),
    );

  program
    .command('backup')
    .description('copy the database into a new file, also while the service runs')
    .requiredOption('--to <file>', 'the file to make')
    .option('--json', 'print JSON')
    .action(({ to, json }: { to: string; json?: boolean }) =>
      withCore(tools, async ({ database }) => {
        if (existsSync(to)) throw new UsageError(`--to: ${to} exists already`);
        await database.backup(to);
        const reminder = `Keep the root key (${tools.paths().rootKeyFile}) too, apart from it: without that key the copy cannot be read.`;
        print(tools, json, { file: to }, `copied to ${to}\n${reminder}`);
      }),
    );

  program
    .command('restore')
    .description('put a backup in the place of the database; stop the service first')
    .requiredOption('--from <file>', 'a file that backup made')
    .option('--force', 'put the present database aside')
    .option('--json', 'print JSON')
    .action(async ({ from, force, json }: { from: string; force?: boolean; json?: boolean }) => {
      const { databaseFile } = tools.paths();
      if (!existsSync(from)) throw new UsageError(`--from: there is no file ${from}`);
      const fault = checkBackup(from);
      if (fault !== undefined) throw new UsageError(`--from: ${from} is no intact backup: ${fault}`);
      if (existsSync(databaseFile) && isInUse(databaseFile))
        throw new UsageError(`${databaseFile} is in use; stop the service first`);
      const aside = existsSync(databaseFile) ? putAside(databaseFile, force === true, tools) : undefined;
      copyFileSync(from, databaseFile);
      // Opens it: the root key must fit.
      await withCore(tools, async () => undefined);
      print(tools, json, { database: databaseFile, ...(aside !== undefined && { aside }) }, `restored ${databaseFile}`);
    });

  program
    .command('keyring')
    .description('the keys that seal the data')
    .command('status')
    .description('list data keys with their versions and use')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withCore(tools, async ({ database }) => {
        const keys = (await listWrappedKeys(database)).map(
          ({ id, account, environment, purpose, version, reserved, createdAt }) => ({
            id,
            account,
            environment,
            purpose,
            version,
            reserved_uses: reserved,
            created_at: iso8601(createdAt),
          }),
        );
        const rows = keys.map((key) => [
          key.id,
          key.environment,
          key.account || '-',
          key.purpose,
          String(key.version),
          String(key.reserved_uses),
        ]);
        print(tools, json, keys, table(['ID', 'ENVIRONMENT', 'ACCOUNT', 'PURPOSE', 'VERSION', 'RESERVED USES'], rows));
      }),
    );
}

function putAside(databaseFile: string, force: boolean, tools: Tools): string {
  if (!force) throw new UsageError(`${databaseFile} exists; --force puts it aside`);
  const aside = `${databaseFile}.${iso8601(tools.clock()).replace(/[:.]/g, '-')}`;
  renameSync(databaseFile, aside);
  for (const suffix of ['-wal', '-shm']) {
    if (existsSync(databaseFile + suffix)) renameSync(databaseFile + suffix, aside + suffix);
    rmSync(databaseFile + suffix, { force: true });
  }
  return aside;
}
