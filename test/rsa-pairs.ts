import { generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { createSelfSigned } from '../src/crypto/certificate.ts';
import { merchantKey, processorKey } from '../src/proxy/configuration.ts';
import type { Parties } from '../src/proxy/securing.ts';

/** RSA keys of merchants and processors, as tests make and hand them over. */
export interface Pair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

export const newPair = (bits = 2048): Pair => generateKeyPairSync('rsa', { modulusLength: bits });

export const publicPem = ({ publicKey }: Pick<Pair, 'publicKey'>): string =>
  publicKey.export({ type: 'spki', format: 'pem' }).toString();

export const privatePem = ({ privateKey }: Pick<Pair, 'privateKey'>): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** Self-signed, made at this time. */
export const newCertificate = async (
  { privateKey }: Pick<Pair, 'privateKey'>,
  now = Date.now(),
): Promise<X509Certificate> => new X509Certificate(await createSelfSigned(privateKey, 'A Merchant', now));

export async function partiesOf(merchant: Pair, processor: Pair, now = Date.now()): Promise<Parties> {
  const certificate = await newCertificate(merchant, now);
  return {
    merchant: merchantKey(merchant.privateKey, certificate),
    processor: processorKey(processor.publicKey, undefined),
  };
}
