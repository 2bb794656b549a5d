import { Command, CommanderError } from 'commander';
import { VERSION } from '../version.ts';
import { accountCommands } from './account.ts';
import { auditCommands } from './audit.ts';
import type { Tools } from './core.ts';
import { dataCommands } from './data.ts';
import { keyCommands } from './key.ts';
import { EXIT } from './output.ts';
import { serveCommand } from './serve.ts';

/** Errors whose text was written for the operator; of any other only the kind is told. */
const FOR_OPERATORS = new Set([
  'UsageError',
  'AccountError',
  'CustodyError',
  'ConfigError',
  'ListenError',
  'TlsError',
  'StorageError',
  'WrongRootKeyError',
]);

/** Runs one command and returns its exit code. */
export async function runCommandLine(args: readonly string[], tools: Tools): Promise<number> {
  let code: number = EXIT.done;
  const json = args.includes('--json');
  const program = new Command('cardvault')
    .description(
      'The operator’s command line of cardvault. Settings come from CARDVAULT_… variables, see docs/operations.md.',
    )
    .version(VERSION)
    .showHelpAfterError(json ? false : '(add --help for more)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => tools.out(text),
      writeErr: (text) => tools.err(json ? `${JSON.stringify({ error: firstLine(text) })}\n` : text),
    });
  serveCommand(program, tools);
  accountCommands(program, tools);
  keyCommands(program, tools);
  auditCommands(program, tools, (wanted) => {
    code = wanted;
  });
  dataCommands(program, tools);
  for (const command of everyCommand(program)) command.copyInheritedSettings(program);
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.wrongUse;
    tell(tools, json, error);
    return isWrongUse(error) ? EXIT.wrongUse : EXIT.failed;
  }
}

const everyCommand = (command: Command): Command[] =>
  command.commands.flatMap((child) => [child, ...everyCommand(child)]);

const firstLine = (text: string): string => (text.split('\n', 1)[0] ?? '').replace(/^error: /, '');

const isWrongUse = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'UsageError' || error.name === 'ConfigError');

function tell(tools: Tools, json: boolean, error: unknown): void {
  const known = error instanceof Error && FOR_OPERATORS.has(error.name);
  const text = known ? error.message : `unexpected error (${error instanceof Error ? error.name : typeof error})`;
  const problems = known && 'problems' in error ? (error.problems as readonly string[]) : [];
  if (json) tools.err(`${JSON.stringify({ error: [text, ...problems].join('; ') })}\n`);
  else tools.err(`cardvault: ${text}\n${problems.map((problem) => `  - ${problem}\n`).join('')}`);
}
