import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { createSelfSigned } from '../src/crypto/certificate.ts';
import { systemRandom } from '../src/crypto/random.ts';
import { parseCertificate, toPublicKey } from '../src/crypto/rsa-keys.ts';
import { locateInXml } from '../src/placeholders/in-xml.ts';
import { substitute } from '../src/placeholders/located-placeholder.ts';
import type { Parties } from '../src/proxy/message-security.ts';
import { toMerchantKey, toProcessorKey } from '../src/proxy/proxy-configuration.ts';
import { effectiveSettings } from '../src/proxy/settings.ts';
import { secureWithWssec } from '../src/proxy/wssec/wssec.ts';
import { parseDocument } from '../src/proxy/wssec/xml-document.ts';
import { signature } from './bare-signature.ts';
import { purchaseInXml } from './payloads.ts';

/** WS-Security without a server: all that happens between the request's text and the envelope, on one core. */
export const WORKS = ['encrypt-sign', 'sign-encrypt', 'bare signatures'] as const;

export type Work = (typeof WORKS)[number];

export interface EnvelopesOrder {
  readonly work: Work;
  readonly milliseconds: number;
}

/** How many for each second of CPU, all threads together. */
export type EnvelopesReport = { readonly perCoreSecond: number } | { readonly error: string };

const random = systemRandom();
const ON_THE_WAY = 4;
const TOKEN = '4111118372951111';
const DOCUMENT = purchaseInXml(TOKEN);
const VALUES = ['4111111111111111', '12', '29'];
const SIGNED = Buffer.alloc(1200, 'x');

async function makeParties(): Promise<Parties> {
  const pair = () => {
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    return createPrivateKey(privateKey);
  };
  const key = pair();
  const certificate = parseCertificate(await createSelfSigned(key, 'bench', Date.now()));
  return { merchant: toMerchantKey(key, certificate), processor: toProcessorKey(toPublicKey(pair()), undefined) };
}

function envelope(order: 'encrypt-sign' | 'sign-encrypt', parties: Parties): Promise<string> {
  const { text, positionAt } = parseDocument(DOCUMENT);
  const filled = locateInXml(text, positionAt).map((mark, index) => ({ located: mark, value: VALUES[index] ?? '' }));
  const element = substitute(text, filled);
  const settings = effectiveSettings({ 'wssec.order': order });
  return secureWithWssec(element, { parties, settings, now: Date.now(), random });
}

async function run({ work, milliseconds }: EnvelopesOrder, parties: Parties): Promise<number> {
  let count = 0;
  const end = performance.now() + milliseconds;
  const goOn = async (): Promise<void> => {
    for (; performance.now() < end; count++) {
      if (work === 'bare signatures') await signature(SIGNED, parties.merchant.key);
      else await envelope(work, parties);
    }
  };
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: ON_THE_WAY }, goOn));
  const { user, system } = process.cpuUsage(before);
  return count / ((user + system) / 1e6);
}

const parties = makeParties();

process.on('message', async (order: EnvelopesOrder) => {
  try {
    const perCoreSecond = await run(order, await parties);
    process.send?.({ perCoreSecond } satisfies EnvelopesReport);
  } catch (error) {
    process.send?.({ error: (error as Error).message } satisfies EnvelopesReport);
  }
});
process.on('disconnect', () => process.exit(0));
