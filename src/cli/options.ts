import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { ENVIRONMENTS, type Environment, type Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Core } from './context.ts';
import { UsageError } from './output.ts';

/** Option parsers that several commands share. */

export const invalidOption = (what: string): never => {
  throw new InvalidArgumentError(what);
};

export const parseEnvironment = (text: string): Environment =>
  ENVIRONMENTS.find((name) => name === text) ?? invalidOption('expected sandbox or production');

const MAX_OVERLAP_MINUTES = 43_200;

export function parseOverlap(text: string): number {
  const minutes = /^[0-9]{1,6}$/.test(text) ? Number(text) : Number.NaN;
  return minutes <= MAX_OVERLAP_MINUTES ? minutes : invalidOption(`expected minutes, 0 to ${MAX_OVERLAP_MINUTES}`);
}

/** Adds the options of commands for an account in an environment. */
export interface TenantOptions {
  readonly account: string;
  readonly environment: Environment;
  readonly json?: boolean;
}

export const withTenantOptions = (command: Command): Command =>
  command
    .requiredOption('--account <id>', 'id of the account')
    .requiredOption('--environment <environment>', 'sandbox or production', parseEnvironment)
    .option('--json', 'print JSON');

export async function resolveTenant(
  accounts: Core['accounts'],
  { account, environment }: TenantOptions,
): Promise<Tenant> {
  await accounts.get(account);
  return { account, environment };
}

/** `--setting NAME=VALUE` and options that name files. */

export function collectSetting(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  // The error does not repeat the argument, which may be a password.
  if (name === undefined || value === undefined) throw new UsageError('--setting: expected NAME=VALUE');
  return { ...before, [name]: value };
}

/**
 * Replaces values of the form `@FILE` with the content of the files. Throws `UsageError` for another value of a secret
 * setting than an empty one, which removes it: other users of the machine can read arguments.
 */
export const resolveSettings = (
  settings: Readonly<Record<string, string>>,
  table: readonly { readonly name: string; readonly isSecret: boolean }[],
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(settings).map(([name, value]): [string, string] => {
      if (value.startsWith('@')) return [name, readSecretFile(value.slice(1))];
      if (value !== '' && table.some((each) => each.name === name && each.isSecret))
        throw new UsageError(
          `--setting: ${name} is secret, and other users of this machine can read arguments; write it to a file and give ${name}=@FILE`,
        );
      return [name, value];
    }),
  );

/** Reads a file with a secret, without the line end that editors add. */
export const readSecretFile = (file: string): string =>
  (readFileOption(file) ?? Buffer.alloc(0)).toString('utf8').replace(/\r?\n$/, '');

export function readFileOption(file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined;
  const bytes = readBytes(file);
  if (bytes.length > LIMITS.keyFileBytes)
    throw new UsageError(`${file}: a file has at most ${LIMITS.keyFileBytes} bytes`);
  return bytes;
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(code === 'ENOENT' ? `${file}: there is no such file` : `${file}: cannot be read (${code})`);
  }
}
