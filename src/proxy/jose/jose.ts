import type { MessageSecurity } from '../message-security.ts';
import { encryptCompact } from './jwe.ts';
import { signCompact } from './jws.ts';

/** Secures a payload so that only the processor can read it, and can verify that the merchant signed it. */
export interface JoseMessage {
  /** Encrypts for the processor (JWE compact). */
  readonly value: string;
  /**
   * Signs `value` as the merchant (JWS compact). Never sign the plaintext: a receiver who knows most of it could guess
   * the rest and compare.
   */
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
