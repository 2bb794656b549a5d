import type { Command } from 'commander';
import { formatIso8601 } from '../kernel/clock.ts';
import { ceremonyCommands } from './ceremony-commands.ts';
import { type CliContext, withCore } from './context.ts';
import { custodyCommands } from './custody-commands.ts';
import { formatTable, printResult } from './output.ts';

export function keyringCommands(program: Command, tools: CliContext): void {
  const keyring = program
    .command('keyring')
    .description('inspect the keys that encrypt the data, and change the custody of the root key');
  statusCommand(keyring, tools);
  custodyCommands(keyring, tools);
  ceremonyCommands(keyring, tools);
}

function statusCommand(keyring: Command, tools: CliContext): void {
  keyring
    .command('status')
    .description('list the data keys with their versions and reserved uses')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withCore(tools, async ({ database }) => {
        const { listWrappedKeys } = await import('../storage/wrapped-key-store.ts');
        const keys = (await listWrappedKeys(database)).map(
          ({ id, account, environment, purpose, version, reserved, createdAt }) => ({
            id,
            account,
            environment,
            purpose,
            version,
            reserved_uses: reserved,
            created_at: formatIso8601(createdAt),
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
        printResult(
          tools,
          json,
          keys,
          formatTable(['ID', 'ENVIRONMENT', 'ACCOUNT', 'PURPOSE', 'VERSION', 'RESERVED USES'], rows),
        );
      }),
    );
}
