import type { MessageSecurity } from '../message-security.ts';
import { encryptCompact } from './jwe.ts';
import { signCompact } from './jws.ts';

/** A payload that only the processor can read, and that it can tell is the merchant's before it reads it. */
export interface JoseMessage {
  /** JWE compact for the processor. */
  readonly value: string;
  /** JWS compact by the merchant over `value`. Never over the plaintext: whoever knows most of it could guess the rest. */
  readonly signature: string;
}

export async function secureWithJose(
  payload: Uint8Array,
  { parties, settings, random }: Omit<MessageSecurity, 'now'>,
): Promise<JoseMessage> {
  const { merchant, processor } = parties;
  const algorithm = settings['jose.signature'];
  const isNested = settings['jose.payload'] === 'nested';
  // RFC 7519, 5.2 and appendix A.2: a signed token inside an encrypted one.
  const plaintext = isNested
    ? Buffer.from(await signCompact(payload, algorithm, merchant, { typ: 'JWT' }), 'ascii')
    : payload;
  const algorithms = { keyManagement: settings['jose.key-management'], content: settings['jose.content'] };
  const header = { typ: 'JWT', ...(isNested && { cty: 'JWT' }) };
  const value = encryptCompact(plaintext, algorithms, processor, header, random);
  const signature = await signCompact(Buffer.from(value, 'ascii'), algorithm, merchant, { typ: 'JWT', cty: 'JWT' });
  return { value, signature };
}
