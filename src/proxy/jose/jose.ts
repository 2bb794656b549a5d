import type { Random } from '../../kernel/clock.ts';
import type { Settings } from '../settings.ts';
import { encryptCompact, type Recipient } from './jwe.ts';
import { type Signer, signCompact } from './jws.ts';

/** A payload that only the processor can read, and that it can tell is the merchant's before it reads it. */
export interface JoseMessage {
  /** JWE compact for the processor. */
  readonly value: string;
  /** JWS compact by the merchant over `value`. Never over the plaintext: whoever knows most of it could guess the rest. */
  readonly encryption: string;
}

export interface JoseParties {
  readonly merchant: Signer;
  readonly processor: Recipient;
}

export async function secureWithJose(
  payload: Uint8Array,
  { merchant, processor }: JoseParties,
  settings: Settings,
  random: Random,
): Promise<JoseMessage> {
  const signature = settings['jose.signature'];
  const isNested = settings['jose.payload'] === 'nested';
  // RFC 7519, 5.2 and appendix A.2: a signed token inside an encrypted one.
  const plaintext = isNested
    ? Buffer.from(await signCompact(payload, signature, merchant, { typ: 'JWT' }), 'ascii')
    : payload;
  const algorithms = { keyManagement: settings['jose.key-management'], content: settings['jose.content'] };
  const header = { typ: 'JWT', ...(isNested && { cty: 'JWT' }) };
  const value = encryptCompact(plaintext, algorithms, processor, header, random);
  const encryption = await signCompact(Buffer.from(value, 'ascii'), signature, merchant, { typ: 'JWT', cty: 'JWT' });
  return { value, encryption };
}
