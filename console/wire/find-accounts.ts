/** Returns the accounts whose name or id contains a text, in either case. Service and browser find the same ones. */
export function findAccounts<Account extends { readonly id: string; readonly name: string }>(
  accounts: readonly Account[],
  search = '',
): readonly Account[] {
  const needle = search.trim().toLowerCase();
  return accounts.filter(({ id, name }) => `${name}\n${id}`.toLowerCase().includes(needle));
}
