import { createPrivateKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { respond } from './child.ts';

/**
 * The bare machine: asynchronous RSA-2048 signatures and nothing else, in a process of its own, with enough in progress
 * to keep the thread pool busy on all cores. It has none of the service's code.
 */
export interface SignerOrder {
  readonly seconds: number;
}

export interface SignerReport {
  readonly signatures: number;
  readonly seconds: number;
}

const IN_PROGRESS = 16;
/** About the size of a JOSE payload. */
const DATA_BYTES = 1200;

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const key = createPrivateKey(privateKey);
const data = randomBytes(DATA_BYTES);

const signOnce = (): Promise<void> =>
  new Promise((resolve, reject) => {
    sign('sha256', data, key, (error) => (error ? reject(error) : resolve()));
  });

respond(async ({ seconds }: SignerOrder): Promise<SignerReport> => {
  let signatures = 0;
  const start = performance.now();
  const end = start + seconds * 1000;
  const signOn = async (): Promise<void> => {
    for (; performance.now() < end; signatures++) await signOnce();
  };
  await Promise.all(Array.from({ length: IN_PROGRESS }, signOn));
  return { signatures, seconds: (performance.now() - start) / 1000 };
});
