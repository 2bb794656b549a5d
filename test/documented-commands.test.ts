import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type Command, CommanderError } from 'commander';
import { operatorCommands } from '../console/open.ts';
import { createProgram } from '../src/cli/command-line.ts';
import type { CliContext } from '../src/cli/context.ts';
import { listCommandsOfMessages, listNamedCommands, listShellCommands } from './fixtures/documented-commands.ts';

/** Commands that documents, messages and the console name are parsed by the program itself, and not executed. */
const ROOT = join(import.meta.dirname, '..');
const DOCUMENTS = ['README.md', 'SECURITY.md', 'docs/**/*.md', 'sdk/README.md'];
const SOURCES = ['{src,console}/**/*.{ts,tsx}'];

/** The program, which parses a command and does nothing. */
function newProgram(): Command {
  const unused = () => undefined;
  const tools = { out: unused, err: unused, addConsoleCommands: operatorCommands } as unknown as CliContext;
  const program = createProgram(tools, false, unused);
  const withoutActions = (command: Command): void => {
    if (command.commands.length === 0 || command.registeredArguments.length > 0) command.action(unused);
    command.commands.forEach(withoutActions);
  };
  withoutActions(program);
  return program;
}

/** Returns why the program does not accept a line; undefined when it does. */
function findFaultOfLine(words: readonly string[]): string | undefined {
  try {
    PROGRAM.parse(words, { from: 'user' });
    return undefined;
  } catch (error) {
    // Its option exists: a file that it names does not, or its value is a placeholder.
    if (!(error instanceof CommanderError)) return undefined;
    if (error.code === 'commander.invalidArgument' && words.some((word) => /…|\.\.\.$|\$\(/.test(word)))
      return undefined;
    return error.exitCode === 0 ? undefined : error.message;
  }
}

/** The same for a command in a sentence, which may lack values: subcommands and options exist. */
function findFaultOfName(words: readonly string[]): string | undefined {
  let command = PROGRAM;
  const rest = [...words];
  while (command.commands.length > 0 && rest[0] !== undefined && !rest[0].startsWith('-')) {
    const child = command.commands.find((each) => [each.name(), ...each.aliases()].includes(rest[0] ?? ''));
    if (child === undefined) return command.registeredArguments.length > 0 ? undefined : `no command ${rest[0]}`;
    command = child;
    rest.shift();
  }
  const names = [...command.options.map(({ long }) => long), '--help'];
  return rest
    .filter((word) => word.startsWith('--'))
    .map((word) => word.replace(/[=,.].*$/, ''))
    .find((word) => !names.includes(word));
}

interface Examined {
  readonly count: number;
  readonly faults: readonly string[];
}

function examine(named: readonly string[][], lines: readonly string[][]): Examined {
  const faults = [
    ...named.map((words) => ({ words, fault: findFaultOfName(words) })),
    ...lines.map((words) => ({ words, fault: findFaultOfLine(words) })),
  ];
  return {
    count: faults.length,
    faults: faults.flatMap(({ words, fault }) => (fault === undefined ? [] : [`${words.join(' ')}: ${fault}`])),
  };
}

const examinePage = (text: string): Examined => examine(listNamedCommands(text, GROUPS), listShellCommands(text));
const examineMessages = (text: string): Examined => examine(listCommandsOfMessages(text), []);

const PROGRAM = newProgram();
const GROUPS = PROGRAM.commands.filter(({ commands }) => commands.length > 0).map((command) => command.name());

describe('the program accepts the commands of', () => {
  const paths = globSync([...DOCUMENTS, ...SOURCES], { cwd: ROOT, exclude: ['**/*.test.ts', '**/dist/**'] }).sort();
  for (const path of paths) {
    const text = readFileSync(join(ROOT, path), 'utf8');
    const { count, faults } = path.endsWith('.md') ? examinePage(text) : examineMessages(text);
    if (count > 0) test(path, () => assert.deepEqual(faults, []));
  }
});

describe('a command that does not exist is found', () => {
  const page = (text: string): readonly string[] => examinePage(text).faults;

  test('in the blocks of a page, with its options and values', () => {
    const block = `
    npx cardvault account list --json | jq .
    ACCOUNT=$(npx cardvault account lists --json)   # of all
    sudo cardvault key create --account $ACCOUNT --environment \\
      sandbox --name 'a b' --ips 203.0.113.7

\`\`\`console
$ cardvault key list
docker exec vault node bin/cardvault.mjs key list --account a && npx cardvault key list --account a b
\`\`\`
`;
    assert.deepEqual(page(block), [
      "account lists --json: error: unknown command 'lists'\n(Did you mean list?)",
      "key create --account $ACCOUNT --environment sandbox --name a b --ips 203.0.113.7: error: unknown option '--ips'\n(Did you mean --ip?)",
      "key list: error: required option '--account <id>' not specified",
      "key list --account a b: error: too many arguments for 'list'. Expected 0 arguments but got 1.",
    ]);
  });

  test('in a sentence of a page, which may leave values out', () => {
    assert.deepEqual(
      page(
        'Run `npx cardvault key list`, `cardvault keys`, `sudo cardvault audit\nverifies`, `key edit ID --nam N`, ' +
          '`key usage not saved` or `keyring custody status|state --json`.\n',
      ),
      [
        'keys: no command keys',
        'audit verifies: no command verifies',
        'key edit ID --nam N: --nam',
        'keyring custody state --json: no command state',
      ],
    );
  });

  test('in a message', () => {
    const { faults } = examineMessages("'stop it, then run cardvault migrate as the owner; see: cardvault key lists'");
    assert.deepEqual(faults, ['key lists: no command lists']);
  });
});
