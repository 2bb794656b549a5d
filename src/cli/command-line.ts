import { Command, CommanderError } from 'commander';
import type { Origin } from '../audit/audit.ts';
import { Failure } from '../kernel/failure.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { VERSION } from '../version.ts';
import { accountCommands } from './account-commands.ts';
import { auditCommands } from './audit-commands.ts';
import { backupCommands } from './backup-commands.ts';
import { clockCommands } from './clock-commands.ts';
import type { CliContext, CliEnvironment } from './context.ts';
import { databaseCommands } from './database-commands.ts';
import { doctorCommand } from './doctor-command.ts';
import { keyCommands } from './key-commands.ts';
import { keyringCommands } from './keyring-commands.ts';
import { describeOperator, identifyOperator } from './operator-identity.ts';
import { EXIT, UsageError } from './output.ts';
import { paymentsCommands } from './payments-commands.ts';
import { proxyCommands } from './proxy-commands.ts';
import { receiptCommands } from './receipt-commands.ts';
import { retentionCommands } from './retention-commands.ts';
import { serveCommand } from './serve-command.ts';
import { transferCommands } from './transfer-commands.ts';
import { unsealCommand } from './unseal-command.ts';
import { webhookCommands } from './webhook-commands.ts';

/** Runs one command and returns its exit code. */
export async function runCommandLine(args: readonly string[], surroundings: CliEnvironment): Promise<number> {
  const tools = withOperator(surroundings);
  let code: number = EXIT.done;
  const json = args.includes('--json');
  const program = createProgram(tools, json, (wanted) => {
    code = wanted;
  });
  try {
    if (json) assertSubcommand(program, args);
    await program.parseAsync(args, { from: 'user' });
    const recorded = tools.recordedOperator();
    if (recorded !== undefined && !json) tools.err(`${describeOperator(recorded)}\n`);
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usageError;
    printError(tools, json, error);
    return isUsageError(error) ? EXIT.usageError : EXIT.failed;
  }
}

/** Returns all commands; `exit` is called with the exit code of one that succeeded with a finding. */
export function createProgram(tools: CliContext, json: boolean, exit: (code: number) => void): Command {
  const program = new Command('cardvault')
    .description(
      'Command line of cardvault for operators. Settings are CARDVAULT_… environment variables, see docs/operations.md.',
    )
    .version(VERSION)
    .showHelpAfterError(json ? false : '(add --help for more)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => tools.out(text),
      writeErr: (text) => {
        const safeText = redactOptionValue(text);
        tools.err(json ? `${JSON.stringify({ error: firstLine(safeText) })}\n` : safeText);
      },
    });
  serveCommand(program, tools);
  accountCommands(program, tools);
  keyCommands(program, tools);
  tools.addConsoleCommands?.(program, tools);
  paymentsCommands(program, tools);
  proxyCommands(program, tools);
  webhookCommands(program, tools);
  auditCommands(program, tools, exit);
  receiptCommands(program, tools, exit);
  retentionCommands(program, tools);
  databaseCommands(program, tools, exit);
  transferCommands(program, tools, exit);
  backupCommands(program, tools, exit);
  keyringCommands(program, tools);
  unsealCommand(program, tools);
  clockCommands(program, tools);
  doctorCommand(program, tools, exit);
  for (const command of listCommands(program)) command.copyInheritedSettings(program);
  return program;
}

/** Adds the operator, who is identified once and only for a command that records them. */
function withOperator(surroundings: CliEnvironment): CliContext {
  let recorded: Origin | undefined;
  return {
    ...surroundings,
    operatorOrigin: () => {
      recorded ??= identifyOperator(surroundings.paths().operatorName);
      return recorded;
    },
    recordedOperator: () => recorded?.actor,
  };
}

/** The message of the parser would quote a mistyped option with its value, which may be a secret. */
const redactOptionValue = (text: string): string => text.replace(/^(error: unknown option '[^'=]*)=.*'/s, "$1'");

const listCommands = (command: Command): Command[] =>
  command.commands.flatMap((child) => [child, ...listCommands(child)]);

/** An operator gets the help of a group whose subcommand is missing; a program gets an error. */
function assertSubcommand(program: Command, args: readonly string[]): void {
  let command: Command | undefined = program;
  for (const word of args.filter((arg) => arg !== '--json')) {
    command = command.commands.find((child) => child.name() === word);
    if (command === undefined) return;
  }
  const names = command.commands.map((child) => child.name());
  // A command with an argument of its own works without a subcommand.
  if (names.length > 0 && command.registeredArguments.length === 0)
    throw new UsageError(`a subcommand is missing: ${names.join(', ')}`);
}

const firstLine = (text: string): string => (text.split('\n', 1)[0] ?? '').replace(/^error: /, '');

/**
 * Describes an unexpected error by the system's error code and the file concerned, otherwise by its type; messages may
 * contain data.
 */
function describeUnexpected(error: unknown): string {
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  if (typeof syscall === 'string') return `${path ?? 'the system'}: ${code} (${syscall})`;
  return `unexpected error (${error instanceof Error ? error.name : typeof error})`;
}

const isUsageError = (error: unknown): boolean =>
  error instanceof Failure ? error.code === 'usage' : error instanceof OperatorError && error.isUsageError;

function printError(tools: CliContext, json: boolean, error: unknown): void {
  const known = error instanceof OperatorError;
  const text = known || error instanceof Failure ? error.message : describeUnexpected(error);
  const problems = known ? error.problems : [];
  const extra = known ? error.details : {};
  if (json) {
    tools.err(`${JSON.stringify({ error: [text, ...problems].join('; '), ...extra })}\n`);
    return;
  }
  const lines = [...problems, ...Object.entries(extra).map(([name, value]) => `${name}: ${value}`)];
  const hint = known && error.hint !== undefined ? `${error.hint}\n` : '';
  tools.err(`cardvault: ${text}\n${lines.map((line) => `  - ${line}\n`).join('')}${hint}`);
}
