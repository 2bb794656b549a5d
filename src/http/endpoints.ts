import type { Endpoint } from './endpoint.ts';
import { capturePayment } from './endpoints/capture-payment.ts';
import { createCapture } from './endpoints/create-capture.ts';
import { createCaptureSession } from './endpoints/create-capture-session.ts';
import { createPayment } from './endpoints/create-payment.ts';
import { createWebhook } from './endpoints/create-webhook.ts';
import { deleteCapture } from './endpoints/delete-capture.ts';
import { deleteCaptureSession } from './endpoints/delete-capture-session.ts';
import { deleteTokens } from './endpoints/delete-tokens.ts';
import { deleteWebhook } from './endpoints/delete-webhook.ts';
import { inspectCapture } from './endpoints/inspect-capture.ts';
import { inspectToken } from './endpoints/inspect-token.ts';
import { listDeliveries } from './endpoints/list-deliveries.ts';
import { listWebhooks } from './endpoints/list-webhooks.ts';
import { proxyHash } from './endpoints/proxy-hash.ts';
import { proxyJose } from './endpoints/proxy-jose.ts';
import { proxyWssec } from './endpoints/proxy-wssec.ts';
import { refundPayment } from './endpoints/refund-payment.ts';
import { replayWebhook } from './endpoints/replay-webhook.ts';
import { retrieveCapture } from './endpoints/retrieve-capture.ts';
import { rotateWebhook } from './endpoints/rotate-webhook.ts';
import { getAccount, showAccount } from './endpoints/show-account.ts';
import { showCaptureSession } from './endpoints/show-capture-session.ts';
import { showPayment } from './endpoints/show-payment.ts';
import { showWebhook } from './endpoints/show-webhook.ts';
import { testWebhook } from './endpoints/test-webhook.ts';
import { tokenizeCapture } from './endpoints/tokenize-capture.ts';
import { tokenizeCards } from './endpoints/tokenize-cards.ts';
import { updateWebhook } from './endpoints/update-webhook.ts';
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

  // Card form
  createCaptureSession,
  showCaptureSession,
  deleteCaptureSession,

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

  // Webhooks
  createWebhook,
  listWebhooks,
  showWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhook,
  testWebhook,
  listDeliveries,
  replayWebhook,

  // Account
  showAccount,
  getAccount,
];
