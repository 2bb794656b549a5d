import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { iso8601 } from '../kernel/clock.ts';
import { schemaVersion } from '../storage/migrate.ts';
import { checkBackup, isInUse } from '../storage/sqlite/check-file.ts';
import { dropDraft, makeDraft, takeIntoUse } from '../storage/sqlite/restore.ts';
import { MAKES_VAULT, type Tools, withCore } from './core.ts';
import { print, UsageError } from './output.ts';

/** Commands about the database as a whole. */
export function dataCommands(program: Command, tools: Tools): void {
  migrateCommand(program, tools);
  backupCommand(program, tools);
  restoreCommand(program, tools);
}

function migrateCommand(program: Command, tools: Tools): void {
  program
    .command('migrate')
    .description('bring the database up to date; the service does it by itself when it starts')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withCore(
        tools,
        async ({ database }) => {
          const schema = await schemaVersion(database);
          print(tools, json, { schema }, `the database has schema ${schema}`);
        },
        MAKES_VAULT,
      ),
    );
}

function backupCommand(program: Command, tools: Tools): void {
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
}

function restoreCommand(program: Command, tools: Tools): void {
  program
    .command('restore')
    .description('put a backup in the place of the database; stop the service first')
    .requiredOption('--from <file>', 'a file that backup made')
    .option('--force', 'put the present database aside')
    .option('--json', 'print JSON')
    .action(async ({ from, force, json }: { from: string; force?: boolean; json?: boolean }) => {
      const { database } = tools.paths();
      if (database.kind !== 'sqlite')
        throw new UsageError('PostgreSQL is restored with its own tools; a SQLite file goes in by: cardvault copy');
      const databaseFile = database.file;
      if (!existsSync(from)) throw new UsageError(`--from: there is no file ${from}`);
      refuseInUse(databaseFile);
      if (existsSync(databaseFile) && force !== true)
        throw new UsageError(`${databaseFile} exists; --force puts it aside`);
      const aside = await restore(from, databaseFile, tools);
      print(tools, json, { database: databaseFile, ...(aside !== undefined && { aside }) }, `restored ${databaseFile}`);
    });
}

/** Nothing of the present database is touched before the backup has been opened with the root key. */
async function restore(from: string, databaseFile: string, tools: Tools): Promise<string | undefined> {
  const draft = makeDraft(from, databaseFile);
  try {
    const fault = checkBackup(draft);
    if (fault !== undefined) throw new UsageError(`--from: ${from} is no intact backup: ${fault}`);
    await withCore(tools, async () => undefined, { databaseFile: draft });
    // Opening takes its time, in which a service may have been started.
    refuseInUse(databaseFile);
    return takeIntoUse(draft, databaseFile, iso8601(tools.clock()).replace(/[:.]/g, '-'));
  } finally {
    dropDraft(draft);
  }
}

function refuseInUse(databaseFile: string): void {
  if (existsSync(databaseFile) && isInUse(databaseFile))
    throw new UsageError(`${databaseFile} is in use; stop the service first`);
}
