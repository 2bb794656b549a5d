import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import type { Parties } from '../../src/proxy/message-security.ts';
import { toMerchantKey, toProcessorKey } from '../../src/proxy/proxy-configuration.ts';
import { newIdentity } from '../receivers/receivers.ts';

/** A merchant and a processor, as receivers know them and as our own code does. */
export const merchant = await newIdentity('merchant');
export const processor = await newIdentity('processor');
export const parties: Parties = {
  merchant: toMerchantKey(createPrivateKey(merchant.privateKey), new X509Certificate(merchant.certificate)),
  processor: toProcessorKey(createPublicKey(processor.publicKey), undefined),
};
