import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { type CompactJWSHeaderParameters, calculateJwkThumbprint, compactDecrypt, compactVerify } from 'jose';
import { Refused } from './lines.ts';
import type { JoseMessage, OpenedJose, ReceiverKeys } from './receivers.ts';

/** A processor that opens JOSE by the library most used in JavaScript. */
export async function openJose({ value, encryption, plain }: JoseMessage, keys: ReceiverKeys): Promise<OpenedJose> {
  try {
    const outer = encryption === undefined ? undefined : await verified(encryption, keys.merchant);
    if (outer !== undefined && outer.payload !== value) throw new Error('encryption is of another value');
    const { header, plaintext } = await decrypted(value, keys.processorKey);
    if ((header.cty === 'JWT') === (plain === true)) throw new Error('cty does not fit what is inside');
    const inner = plain === true ? { header: '', payload: plaintext } : await verified(plaintext, keys.merchant);
    return {
      payload: inner.payload,
      header: JSON.stringify(header),
      signedHeader: inner.header,
      encryptionHeader: outer?.header ?? '',
    };
  } catch (error) {
    throw new Refused(error instanceof Error ? error.message : String(error));
  }
}

async function decrypted(jwe: string, processorKey: string) {
  const key = createPrivateKey(processorKey);
  const { plaintext, protectedHeader } = await compactDecrypt(jwe, key, {
    keyManagementAlgorithms: ['RSA-OAEP', 'RSA-OAEP-256'],
    contentEncryptionAlgorithms: ['A128GCM', 'A256GCM', 'A128CBC-HS256', 'A256CBC-HS512'],
  });
  await requireName(protectedHeader.kid, createPublicKey(key));
  return { header: protectedHeader, plaintext: new TextDecoder('utf-8', { fatal: true }).decode(plaintext) };
}

async function verified(jws: string, merchant: string): Promise<{ header: string; payload: string }> {
  const key = createPublicKey(merchant);
  const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
  const { payload, protectedHeader } = await compactVerify(jws, key, { algorithms });
  const header: CompactJWSHeaderParameters = protectedHeader;
  await requireName(header.kid, key);
  if (header.typ !== 'JWT') throw new Error('typ');
  return { header: JSON.stringify(header), payload: new TextDecoder('utf-8', { fatal: true }).decode(payload) };
}

/** RFC 7638. */
async function requireName(kid: string | undefined, key: KeyObject): Promise<void> {
  if (kid !== (await calculateJwkThumbprint(key))) throw new Error('kid of another key');
}
