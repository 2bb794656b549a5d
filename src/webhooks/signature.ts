import { createHmac, type KeyObject } from 'node:crypto';

/** Signatures of Standard Webhooks 1.0.0, symmetric, version `v1`. Pure. */

export const SECRET_BYTES = 32;
const SECRET_PREFIX = 'whsec_';

/** Returns the text of a secret, as libraries of Standard Webhooks expect it. */
export const formatSecret = (bytes: Uint8Array): string => `${SECRET_PREFIX}${Buffer.from(bytes).toString('base64')}`;

/** The signed parts of an attempt to deliver one event. */
interface SignedMessage {
  readonly id: string;
  /** Unix time of the attempt in seconds. */
  readonly timestamp: number;
  readonly body: Uint8Array;
}

/** Returns the header `webhook-signature`: one signature for each key, in their order, separated by a blank. */
export const signMessage = (keys: readonly KeyObject[], { id, timestamp, body }: SignedMessage): string =>
  keys
    .map((key) => {
      const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
      return `v1,${mac.digest('base64')}`;
    })
    .join(' ');
