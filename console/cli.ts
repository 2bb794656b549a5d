import type { Command } from 'commander';
import {
  asOperator,
  type CliContext,
  type Core,
  CREATE_IF_MISSING,
  type OpenOptions,
  type PathSettings,
  withCore,
} from '../src/cli/context.ts';
import { formatDetails, formatTable, printResult } from '../src/cli/output.ts';
import type { Transaction } from '../src/idempotency/transaction.ts';
import { formatIso8601 } from '../src/kernel/clock.ts';
import { notPossible } from '../src/kernel/failure.ts';
import type { InvitationLink } from './people/invitations.ts';
import type { Profile } from './people/people.ts';
import type { PeopleServices } from './people/people-services.ts';
import { OPERATOR } from './people/roles.ts';
import type { Member } from './people/team.ts';

interface Options {
  readonly json?: boolean;
}

/** Returns the URL of the console; empty when only the running service knows its port. */
const findConsoleUrl = ({ consoleUrl, ports }: PathSettings): string =>
  consoleUrl ?? (ports.console === 0 ? '' : `https://localhost:${ports.console}`);

const UNKNOWN_PORT_NOTE =
  'Put it after the address of the console, which the service prints when it starts: CARDVAULT_CONSOLE_PORT is 0.';

/** Returns the link for the browser. The secret is behind the `#`, so that no server and no log receives it. */
export const formatJoinUrl = (console: string, { secret }: Pick<InvitationLink, 'secret'>): string =>
  `${console}/join#${secret}`;

const toView = ({ person, name, email, signIn, createdAt }: Member) => ({
  id: person,
  name,
  email,
  locked: signIn === 'locked',
  status: signIn,
  created_at: formatIso8601(createdAt),
});

export function addOperatorCommands(program: Command, tools: CliContext): void {
  const group = program.command('operator').description('manage the operators of this service, who use the console');
  inviteCommand(group, tools);
  listCommand(group, tools);
  userCommand(
    group,
    tools,
    'remove',
    'remove the role of operator from a user',
    async (transaction, { team }, { id }) => {
      if ((await team.findRole(OPERATOR.account, id)) === undefined) throw notPossible('notOperator');
      await team.remove(transaction, OPERATOR.account, id);
    },
  );
  userCommand(
    group,
    tools,
    'unlock',
    'end the locks after failed sign-ins of a user',
    (transaction, { people }, { id }) => people.unlock(transaction, id),
  );
}

function inviteCommand(group: Command, tools: CliContext): void {
  group
    .command('invite')
    .description('create a link by which an operator joins, or by which one replaces password and second factor')
    .option('--email <email>', 'email of the user; without it, the user enters one')
    .option('--json', 'print JSON')
    .action(({ email, json }: Options & { email?: string }) =>
      withPeople(
        tools,
        async (people, core) => {
          const link = await asOperator(tools, core, (transaction) => invite(transaction, people, email));
          const console = findConsoleUrl(tools.paths());
          const made = { invitation: formatJoinUrl(console, link), expires_at: formatIso8601(link.expiresAt) };
          const notes = [
            'The link is valid once, and is shown only now.',
            ...(console === '' ? [UNKNOWN_PORT_NOTE] : []),
          ];
          printResult(tools, json, made, `${formatDetails(Object.entries(made))}\n\n${notes.join('\n')}`);
        },
        CREATE_IF_MISSING,
      ),
    );
}

function listCommand(group: Command, tools: CliContext): void {
  group
    .command('list')
    .description('list all operators')
    .option('--json', 'print JSON')
    .action(({ json }: Options) =>
      withPeople(tools, async (people) => {
        const all = (await people.team.members(OPERATOR.account)).map(toView);
        const rows = all.map(({ id, name, email, status, created_at }) => [id, status, created_at, email, name]);
        printResult(tools, json, all, formatTable(['ID', 'STATUS', 'SINCE', 'EMAIL', 'NAME'], rows));
      }),
    );
}

/** Adds a command that changes one user. */
function userCommand(
  group: Command,
  tools: CliContext,
  name: string,
  description: string,
  act: (transaction: Transaction, people: PeopleServices, person: Profile) => Promise<void>,
): void {
  group
    .command(`${name} <email>`)
    .description(description)
    .option('--json', 'print JSON')
    .action((email: string, { json }: Options) =>
      withPeople(tools, async (people, core) => {
        const person = await people.people.findByEmail(email);
        if (person === undefined) throw notPossible('emailUnknown');
        await asOperator(tools, core, (transaction) => act(transaction, people, person));
        const view = { id: person.id, name: person.name, email: person.email };
        printResult(tools, json, view, formatDetails(Object.entries(view)));
      }),
    );
}

async function invite(
  transaction: Transaction,
  people: PeopleServices,
  email: string | undefined,
): Promise<InvitationLink> {
  const known = email === undefined ? undefined : await people.people.findByEmail(email);
  if (known !== undefined && (await people.team.findRole(OPERATOR.account, known.id)) !== undefined)
    return people.invitations.reset(transaction, known.id, OPERATOR);
  const to = { ...OPERATOR, ...(email !== undefined && { email }) };
  return people.invitations.invite(transaction, to, OPERATOR);
}

const withPeople = (
  tools: CliContext,
  act: (people: PeopleServices, core: Core) => Promise<void>,
  opening?: OpenOptions,
): Promise<void> =>
  withCore(
    tools,
    async (core) => {
      const { createPeopleServices } = await import('./people/people-services.ts');
      await act(createPeopleServices(core), core);
    },
    opening,
  );
