import { notPossible } from '../../src/kernel/failure.ts';
import type { Definition } from '../wire/definition.ts';
import type { AnyCall } from './route.ts';

type AccountScope = Pick<AnyCall, 'services'> & { readonly account: string };

export const isSuspended = async ({ services, account }: AccountScope): Promise<boolean> =>
  (await services.accounts.find(account))?.status === 'suspended';

/**
 * Throws `not_possible` for calls that a suspended account does not allow. Its keys are rejected; its users may read
 * and revoke access. Calls that create or extend access, change records and settings, or move money are rejected until
 * it is resumed.
 */
export async function assertNotSuspended(
  { method, allowedWhileSuspended }: Definition,
  scope: AccountScope,
): Promise<void> {
  // Calls without an account, and calls of operators, are not affected.
  if (method === 'GET' || allowedWhileSuspended === true || scope.account === '') return;
  if (await isSuspended(scope)) throw notPossible('accountSuspended');
}
