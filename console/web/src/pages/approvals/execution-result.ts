import type { Environment } from '../../../../../src/kernel/environment.ts';
import type { Json } from '../../../../../src/kernel/json.ts';
import type { Approval } from './approvals-page.tsx';

/** What a change has made when it was carried out, of which the answer tells this one time. */
export type ExecutionResult =
  | { readonly kind: 'key'; readonly secret: string; readonly environment: Environment }
  /** `whose`: of an invitation the address, of a new way in the name. */
  | {
      readonly kind: 'link';
      readonly isReset: boolean;
      readonly recipient: string;
      readonly url: string;
      readonly expiresAt: string;
    };

/** Undefined: nothing that is shown once. */
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
