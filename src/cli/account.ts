import type { Command } from 'commander';
import type { Account } from '../accounts/account.ts';
import { iso8601 } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Core, MAKES_VAULT, type Tools, withCore } from './core.ts';
import { details, operator, print, readableName, table } from './output.ts';

interface Options {
  readonly json?: boolean;
}

const shown = ({ id, name, status, createdAt }: Account) => ({ id, name, status, created_at: iso8601(createdAt) });

export function accountCommands(program: Command, tools: Tools): void {
  const account = program.command('account').description('merchants that use this service');

  account
    .command('create')
    .description('make an account')
    .requiredOption('--name <name>', 'name of the account')
    .option('--json', 'print JSON')
    .action(({ name, json }: Options & { name: string }) =>
      withCore(
        tools,
        async ({ accounts }) => {
          const made = shown(
            await accounts.create(readableName(name, LIMITS.accountNameCharacters, '--name'), operator()),
          );
          const next = `next: cardvault key create --account ${made.id} --environment sandbox --name NAME --ip ADDRESS`;
          print(tools, json, made, `${details(Object.entries(made))}\n\n${next}`);
        },
        MAKES_VAULT,
      ),
    );

  account
    .command('list')
    .description('list all accounts')
    .option('--json', 'print JSON')
    .action(({ json }: Options) =>
      withCore(tools, async ({ accounts }) => {
        const all = (await accounts.list()).map(shown);
        const rows = all.map(({ id, name, status, created_at }) => [id, status, created_at, name]);
        print(tools, json, all, table(['ID', 'STATUS', 'CREATED', 'NAME'], rows));
      }),
    );

  const single = (name: string, about: string, act: (core: Core, id: string) => Promise<Account>): void => {
    account
      .command(`${name} <id>`)
      .description(about)
      .option('--json', 'print JSON')
      .action((id: string, { json }: Options) =>
        withCore(tools, async (core) => {
          const value = shown(await act(core, id));
          print(tools, json, value, details(Object.entries(value)));
        }),
      );
  };
  single('show', 'show an account', ({ accounts }, id) => accounts.get(id));
  single('suspend', 'refuse all keys of an account until it is resumed', ({ accounts }, id) =>
    accounts.suspend(id, operator()),
  );
  single('resume', 'take the keys of a suspended account again', ({ accounts }, id) => accounts.resume(id, operator()));
}
