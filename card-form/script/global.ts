import { CardVaultError, mount } from './cardvault.ts';

declare global {
  /** The global of a page that loads the script of the vault. */
  var CardVault: { readonly mount: typeof mount; readonly CardVaultError: typeof CardVaultError };
}

globalThis.CardVault = { mount, CardVaultError };
