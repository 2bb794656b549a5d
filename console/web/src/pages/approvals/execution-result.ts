import type { Environment } from '../../../../../src/kernel/environment.ts';
import type { Json } from '../../../../../src/kernel/json.ts';
import type { Approval } from './approval.ts';

/** Result of an executed change that the service returns only once. */
export type ExecutionResult =
  | { readonly kind: 'key'; readonly secret: string; readonly environment: Environment }
  /** `recipient`: the address of an invitation, the name of a user whose sign-in is reset. */
  | {
      readonly kind: 'link';
      readonly isReset: boolean;
      readonly recipient: string;
      readonly url: string;
      readonly expiresAt: string;
    };

/** Returns undefined when the result holds nothing that is shown once. */
export function parseExecutionResult(
  { action, environment, summary }: Approval,
  result: Json | undefined,
): ExecutionResult | undefined {
  if (typeof result !== 'object' || result === null) return undefined;
  const { secret, url, expires_at: expiresAt } = result as { readonly [name: string]: Json };
  if (typeof secret === 'string') return { kind: 'key', secret, environment };
  if (typeof url !== 'string' || typeof expiresAt !== 'string') return undefined;
  const isReset = action === 'team.reset';
  const recipient = summary.find(({ name }) => name === (isReset ? 'person' : 'email'))?.value ?? '';
  return { kind: 'link', isReset, recipient, url, expiresAt };
}
