import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { merchantKey, processorKey } from '../../src/proxy/configuration.ts';
import type { Parties } from '../../src/proxy/securing.ts';
import { newIdentity } from '../receivers/receivers.ts';

/** A merchant and a processor, as receivers know them and as our own code does. */
export const merchant = await newIdentity('merchant');
export const processor = await newIdentity('processor');
export const parties: Parties = {
  merchant: merchantKey(createPrivateKey(merchant.privateKey), new X509Certificate(merchant.certificate)),
  processor: processorKey(createPublicKey(processor.publicKey), undefined),
};
