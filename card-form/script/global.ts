import { CardVaultError, mount } from './cardvault.ts';

/** `window.CardVault` of a page that loads the script. */
(globalThis as { CardVault?: object }).CardVault = { mount, CardVaultError };
