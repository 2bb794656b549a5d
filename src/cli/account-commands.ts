import type { Command } from 'commander';
import type { Account } from '../accounts/account.ts';
import { formatIso8601 } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { asOperator, type CliContext, type Core, CREATE_IF_MISSING, withCore } from './context.ts';
import { formatDetails, formatTable, parseName, printResult } from './output.ts';

interface Options {
  readonly json?: boolean;
}

const toView = ({ id, name, status, createdAt, isTampered }: Account) => ({
  id,
  name,
  status,
  created_at: formatIso8601(createdAt),
  altered: isTampered,
});

interface NameOption {
  readonly name?: string;
}

/** Lines for operators; authentic rows have no line about their MAC. */
function toLines({ altered, ...view }: ReturnType<typeof toView>): string {
  return formatDetails([...Object.entries(view), ...(altered ? [['altered', ALTERED] as const] : [])]);
}

const ALTERED =
  'yes: its row was changed in the database, so its keys are refused; check it, then run: cardvault account suspend ID --name NAME';

export function accountCommands(program: Command, tools: CliContext): void {
  const account = program.command('account').description('manage the accounts of merchants');
  createCommand(account, tools);
  listCommand(account, tools);
  singleCommand(account, tools, 'show', 'show an account', ({ accounts }, id) => accounts.get(id));
  const suspend = 'deny all keys of an account until it is resumed';
  singleCommand(account, tools, 'suspend', suspend, async (core, id, { name }) => {
    await asOperator(tools, core, (transaction) => core.accounts.suspend(transaction, id, name));
    return core.accounts.get(id);
  }).option(
    '--name <name>',
    'new name of an account whose database row was altered; the row is authenticated again under it',
    (text) => parseName(text, LIMITS.accountNameCharacters, '--name'),
  );
  singleCommand(account, tools, 'resume', 'accept the keys of a suspended account again', async (core, id) => {
    await asOperator(tools, core, (transaction) => core.accounts.resume(transaction, id));
    return core.accounts.get(id);
  });
}

function createCommand(account: Command, tools: CliContext): void {
  account
    .command('create')
    .description('create an account')
    .requiredOption('--name <name>', 'name of the account')
    .option('--json', 'print JSON')
    .action(({ name, json }: Options & { name: string }) =>
      withCore(
        tools,
        async (core) => {
          const parsed = parseName(name, LIMITS.accountNameCharacters, '--name');
          const made = toView(
            await asOperator(tools, core, (transaction) => core.accounts.create(transaction, parsed)),
          );
          const next = `next: cardvault key create --account ${made.id} --environment sandbox --name NAME --ip ADDRESS`;
          printResult(tools, json, made, `${toLines(made)}\n\n${next}`);
        },
        CREATE_IF_MISSING,
      ),
    );
}

function listCommand(account: Command, tools: CliContext): void {
  account
    .command('list')
    .description('list all accounts')
    .option('--json', 'print JSON')
    .action(({ json }: Options) =>
      withCore(tools, async ({ accounts }) => {
        const all = (await accounts.list()).map(toView);
        const rows = all.map(({ id, name, status, created_at, altered }) => {
          return [id, altered ? 'altered' : status, created_at, name];
        });
        printResult(tools, json, all, formatTable(['ID', 'STATUS', 'CREATED', 'NAME'], rows));
      }),
    );
}

/** Adds a command about one account, which prints that account in the end. */
const singleCommand = (
  account: Command,
  tools: CliContext,
  name: string,
  about: string,
  act: (core: Core, id: string, options: NameOption) => Promise<Account>,
): Command =>
  account
    .command(`${name} <id>`)
    .description(about)
    .option('--json', 'print JSON')
    .action((id: string, options: Options & NameOption) =>
      withCore(tools, async (core) => {
        const view = toView(await act(core, id, options));
        printResult(tools, options.json, view, toLines(view));
      }),
    );
