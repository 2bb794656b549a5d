export { CardvaultClient, type FieldEncryption, type ListDeliveries, type ProxyOptions } from './client.ts';
export {
  AccessDeniedError,
  CardvaultError,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  RateLimitError,
  type Refusal,
  RefusedError,
  ServiceError,
  TimeoutError,
  WebhookVerificationError,
} from './errors.ts';
export * from './schema.ts';
export type { CallOptions, ClientOptions, Timing } from './transport.ts';
export { type ReceivedWebhook, type VerificationOptions, verifyWebhook, type WebhookEvent } from './webhook.ts';
