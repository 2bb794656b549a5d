import type { Endpoint } from './endpoint.ts';
import { capturePayment } from './endpoints/capture-payment.ts';
import { createCapture } from './endpoints/create-capture.ts';
import { createPayment } from './endpoints/create-payment.ts';
import { deleteCapture } from './endpoints/delete-capture.ts';
import { deleteTokens } from './endpoints/delete-tokens.ts';
import { inspectCapture } from './endpoints/inspect-capture.ts';
import { inspectToken } from './endpoints/inspect-token.ts';
import { proxyHash } from './endpoints/proxy-hash.ts';
import { proxyJose } from './endpoints/proxy-jose.ts';
import { proxyWssec } from './endpoints/proxy-wssec.ts';
import { refundPayment } from './endpoints/refund-payment.ts';
import { retrieveCapture } from './endpoints/retrieve-capture.ts';
import { getAccount, showAccount } from './endpoints/show-account.ts';
import { showPayment } from './endpoints/show-payment.ts';
import { tokenizeCapture } from './endpoints/tokenize-capture.ts';
import { tokenizeCards } from './endpoints/tokenize-cards.ts';
import { voidPayment } from './endpoints/void-payment.ts';

/** Every endpoint of the interface. */
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

  // Payments
  createPayment,
  capturePayment,
  refundPayment,
  voidPayment,
  showPayment,

  // Proxy
  proxyJose,
  proxyWssec,
  proxyHash,

  // Account
  showAccount,
  getAccount,
];
