import type { Command } from 'commander';
import { type CliContext, CREATE_IF_MISSING, withCore } from './context.ts';
import type { CopyOptions } from './copy.ts';
import { printResult } from './output.ts';
import { recoveredCommand } from './recovered-command.ts';
import { restoreCommand } from './restore.ts';
import { scrubCommand } from './scrub-command.ts';

/** Commands for the entire database. */
export function databaseCommands(program: Command, tools: CliContext, exit: (code: number) => void): void {
  migrateCommand(program, tools);
  restoreCommand(program, tools);
  recoveredCommand(program, tools);
  copyCommand(program, tools);
  scrubCommand(program, tools, exit);
}

function migrateCommand(program: Command, tools: CliContext): void {
  program
    .command('migrate')
    .description('upgrade the database schema; the service does this automatically when it starts')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withCore(
        tools,
        async ({ database }) => {
          const { schemaVersion } = await import('../storage/migrate.ts');
          const schema = await schemaVersion(database);
          printResult(tools, json, { schema }, `the database has schema ${schema}`);
        },
        CREATE_IF_MISSING,
      ),
    );
}

function copyCommand(program: Command, tools: CliContext): void {
  program
    .command('copy')
    .description(
      'copy the vault to another database; stop the service first; repeat the command to resume an interrupted copy',
    )
    .requiredOption('--from <address>', 'address of the current database, as in CARDVAULT_DATABASE_URL')
    .requiredOption('--to <address>', 'address of the new database, which must be empty')
    .option('--force', 'skip the check that no PostgreSQL node was active within the last minute')
    .option('--as-backup', 'leave out the keys of security codes and track data, as a backup does')
    .option('--json', 'print JSON')
    .action(async (options: CopyOptions) => (await import('./copy.ts')).copy(tools, options));
}
