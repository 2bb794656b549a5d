import { Failure } from '../kernel/failure.ts';
import type { Call } from './route.ts';

type Place = Pick<Call<unknown, unknown>, 'services'> & { readonly account: string };

export const isSuspended = async ({ services, account }: Place): Promise<boolean> =>
  (await services.accounts.find(account))?.status === 'suspended';

/** What no key of a suspended account may do, its people may not do either. Throws `not_possible`. */
export async function mustNotBeSuspended(place: Place): Promise<void> {
  if (await isSuspended(place)) throw new Failure('not_possible', { message: 'The account is suspended.' });
}
