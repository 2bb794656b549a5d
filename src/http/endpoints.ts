import type { Endpoint } from './endpoint.ts';
import { createCapture } from './endpoints/create-capture.ts';
import { deleteCapture } from './endpoints/delete-capture.ts';
import { deleteTokens } from './endpoints/delete-tokens.ts';
import { inspectCapture } from './endpoints/inspect-capture.ts';
import { inspectToken } from './endpoints/inspect-token.ts';
import { proxyHash } from './endpoints/proxy-hash.ts';
import { proxyJose } from './endpoints/proxy-jose.ts';
import { proxyWssec } from './endpoints/proxy-wssec.ts';
import { retrieveCapture } from './endpoints/retrieve-capture.ts';
import { getAccount, showAccount } from './endpoints/show-account.ts';
import { tokenizeCapture } from './endpoints/tokenize-capture.ts';
import { tokenizeCards } from './endpoints/tokenize-cards.ts';

/** Every line of the interface that is served. */
export const ENDPOINTS: readonly Endpoint[] = [
  // Permanent tokens
  tokenizeCards,
  inspectToken,
  deleteTokens,

  // Captures
  createCapture,
  tokenizeCapture,
  retrieveCapture,
  inspectCapture,
  deleteCapture,

  // Proxy
  proxyJose,
  proxyWssec,
  proxyHash,

  // Account
  showAccount,
  getAccount,
];
