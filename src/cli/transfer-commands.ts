import type { Command } from 'commander';
import { LIMITS } from '../kernel/limits.ts';
import { isScheme, SCHEMES, type Scheme } from '../vault/scheme.ts';
import { type CliContext, withCore } from './context.ts';
import type { ExportOptions } from './export-account.ts';
import type { ImportOptions } from './import-cards.ts';
import { invalidOption, withTenantOptions } from './options.ts';
import { parseName } from './output.ts';

/** Commands that move an account out of a vault, and cards into it. */
export function transferCommands(program: Command, tools: CliContext, exit: (code: number) => void): void {
  exportCommand(program, tools, exit);
  importCommand(program, tools, exit);
}

function exportCommand(program: Command, tools: CliContext, exit: (code: number) => void): void {
  withTenantOptions(program.command('export'))
    .description(
      'write the tokens with card numbers, captures, payments and audit log of an account to an encrypted file',
    )
    .requiredOption('--recipient <recipient>', 'age recipient who can open the file; may be repeated', collectText)
    .requiredOption('--output <file>', 'file to create')
    .option('--rate <number>', 'largest number of records a second', parseRate, LIMITS.accountExportRecordsPerSecond)
    .action((options: ExportOptions) =>
      withCore(tools, async (core) => (await import('./export-account.ts')).exportAccount(tools, core, options, exit)),
    );
}

function importCommand(program: Command, tools: CliContext, exit: (code: number) => void): void {
  withTenantOptions(program.command('import').argument('<file>', 'CSV, JSON Lines or an export; - for standard input'))
    .description('import cards and their tokens')
    .option('--identity <file>', 'file with the age identity that opens an encrypted file')
    .option('--sha256 <digest>', 'SHA-256 that the file must have', parseSha256)
    .option('--scheme <number>', 'token format of lines without one', parseScheme, 7 as Scheme)
    .option('--persistent', 'give one token for each card number to lines without a type')
    .option('--bin <digits>', 'digits to keep of long card numbers, 6 or 8, of lines without a value', parseBin, 6)
    .option('--created-by <name>', 'creator of the tokens of lines without one', parseCreator, 'import')
    .option('--mapping <file>', 'file to create with the token of each line')
    .option('--rejects <file>', 'file to create with the lines that were not imported, and why')
    .option('--check', 'check every line and change nothing')
    .option('--resume', 'continue an import that was interrupted')
    .option('--name <name>', 'name of an import from standard input, by which it is resumed', parseImportName)
    .option('--rate <number>', 'largest number of cards a second', parseRate)
    .action((file: string, options: ImportOptions) =>
      withCore(tools, async (core) => (await import('./import-cards.ts')).importFile(tools, core, file, options, exit)),
    );
}

const collectText = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

function parseRate(text: string): number {
  const rate = /^[1-9][0-9]{0,6}$/.test(text) ? Number(text) : Number.NaN;
  return rate <= LIMITS.transferRate ? rate : invalidOption(`expected a number, 1 to ${LIMITS.transferRate}`);
}

function parseScheme(text: string): Scheme {
  const scheme = /^[0-9]$/.test(text) ? Number(text) : Number.NaN;
  return isScheme(scheme) ? scheme : invalidOption(`expected ${Object.keys(SCHEMES).join(', ')}`);
}

const parseBin = (text: string): 6 | 8 => (text === '6' ? 6 : text === '8' ? 8 : invalidOption('expected 6 or 8'));

const parseSha256 = (text: string): string =>
  /^[0-9a-fA-F]{64}$/.test(text) ? text.toLowerCase() : invalidOption('expected 64 hexadecimal digits');

const parseCreator = (text: string): string => parseName(text, LIMITS.apiKeyNameCharacters, '--created-by');

const parseImportName = (text: string): string => parseName(text, LIMITS.importNameCharacters, '--name');
