import { type Command, InvalidArgumentError } from 'commander';
import { ENVIRONMENTS, type Environment, type Tenant } from '../kernel/environment.ts';
import type { Core } from './context.ts';

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
