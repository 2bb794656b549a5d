import { ENVIRONMENTS, type Environment } from '../../../../src/kernel/environment.ts';

/** The order in which people come to them. */
export const SANDBOX_FIRST: readonly Environment[] = ENVIRONMENTS.toReversed();

export const sandboxFirst = <Each extends { readonly environment: Environment }>(all: readonly Each[]): Each[] =>
  SANDBOX_FIRST.flatMap((where) => all.filter(({ environment }) => environment === where));
