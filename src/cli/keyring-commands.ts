import type { Command } from 'commander';
import { ceremonyCommands } from './ceremony-commands.ts';
import type { CliContext } from './context.ts';
import { custodyCommands } from './custody-commands.ts';
import { keyringRotationCommands } from './keyring-rotation-commands.ts';
import { keyringStatusCommand } from './keyring-status-command.ts';

export function keyringCommands(program: Command, tools: CliContext): void {
  const keyring = program
    .command('keyring')
    .description('inspect, rotate and destroy the keys that encrypt the data, and change the custody of the root key');
  keyringStatusCommand(keyring, tools);
  keyringRotationCommands(keyring, tools);
  custodyCommands(keyring, tools);
  ceremonyCommands(keyring, tools);
}
