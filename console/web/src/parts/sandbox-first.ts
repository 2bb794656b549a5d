import { ENVIRONMENTS, type Environment } from '../../../../src/kernel/environment.ts';

/** Environments in the order of use. */
export const SANDBOX_FIRST: readonly Environment[] = ENVIRONMENTS.toReversed();

export const sandboxFirst = <Each extends { readonly environment: Environment }>(all: readonly Each[]): Each[] =>
  SANDBOX_FIRST.flatMap((where) => all.filter(({ environment }) => environment === where));
