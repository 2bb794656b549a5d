import { notPossible } from '../../src/kernel/failure.ts';
import type { Definition } from '../wire/definition.ts';
import type { ConsoleCall } from './route.ts';

type AccountScope = Pick<ConsoleCall<unknown, unknown>, 'services'> & { readonly account: string };

export const isSuspended = async ({ services, account }: AccountScope): Promise<boolean> =>
  (await services.accounts.find(account))?.status === 'suspended';

/**
 * Keys of a suspended account do nothing, and its people read, and take access away: whatever makes or widens access, changes
 * records and settings, or moves money, waits until it is resumed. Throws `not_possible`.
 */
export async function assertNotSuspended(
  { method, allowedWhileSuspended: evenSuspended }: Definition,
  scope: AccountScope,
): Promise<void> {
  // Calls without an account, and calls of operators, are not affected.
  if (method === 'GET' || evenSuspended === true || scope.account === '') return;
  if (await isSuspended(scope)) throw notPossible('accountSuspended');
}
