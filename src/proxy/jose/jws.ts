import { signRsa } from '../../crypto/rsa.ts';
import type { MerchantKey } from '../proxy-configuration.ts';
import type { EffectiveSettings } from '../settings.ts';

/** Returns a JWS in compact serialization (RFC 7515, 7.1). `header` is added to `alg` and `kid`. */
export async function signCompact(
  payload: Uint8Array,
  algorithm: EffectiveSettings['jose.signature'],
  signer: Pick<MerchantKey, 'key' | 'kid'>,
  header: Readonly<Record<string, string>>,
): Promise<string> {
  const protectedHeader = encodeHeader({ alg: algorithm, kid: signer.kid, ...header });
  const input = `${protectedHeader}.${Buffer.from(payload).toString('base64url')}`;
  const signature = await signRsa(algorithm, signer.key, Buffer.from(input, 'ascii'));
  return `${input}.${signature.toString('base64url')}`;
}

export const encodeHeader = (header: Readonly<Record<string, string>>): string =>
  Buffer.from(JSON.stringify(header), 'utf8').toString('base64url');
