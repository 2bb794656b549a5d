import { encryptRsa, signRsa } from '../../crypto/rsa.ts';
import { newUuid } from '../../kernel/ids.ts';
import type { MessageSecurity } from '../message-security.ts';
import { CONTENT_ENCRYPTION, KEY_TRANSPORT, newContentKey, SIGNATURES } from './algorithms.ts';
import { canonicalElement } from './canonical.ts';
import {
  buildBinarySecurityToken,
  buildBody,
  buildDirectReference,
  buildEncryptedData,
  buildEncryptedKey,
  buildEnvelope,
  buildKeyIdentifier,
  buildSignature,
  buildSignedInfo,
  buildTimestamp,
  buildUsernameToken,
  type EnvelopePart,
} from './elements.ts';

/** Returns a SOAP 1.1 envelope around an element, as WS-Security 1.1 and the Basic Security Profile define it. */
export function secureWithWssec(element: string, security: MessageSecurity): Promise<string> {
  return security.settings['wssec.order'] === 'encrypt-sign'
    ? encryptThenSign(element, security)
    : signThenEncrypt(element, security);
}

/**
 * The signature covers nothing but ciphertext and our own elements. Receivers process the header from top to bottom, so
 * the last operation comes first: the signature before the key.
 */
async function encryptThenSign(element: string, security: MessageSecurity): Promise<string> {
  const { key, data } = encryptAll([{ type: 'Content', plaintext: element }], security);
  const encryptedBody = buildBody(newId('body', security), data.map(({ xml }) => xml).join(''));
  const tokens = buildTokens(security);
  const signed = [...tokens.all, encryptedBody].map(({ id, xml }) => ({ id, canonical: xml }));
  const signaturePart = await signParts(signed, tokens.certificate, security);
  return buildEnvelope([...tokens.all, signaturePart, key], encryptedBody);
}

/**
 * The signature covers the plaintext, so the signature is encrypted itself: in clear, its digest would allow an
 * attacker who knows the rest of the body to find the card number by trying.
 */
async function signThenEncrypt(element: string, security: MessageSecurity): Promise<string> {
  const plainBody = buildBody(newId('body', security), element);
  const tokens = buildTokens(security);
  const signed = [
    ...tokens.all.map(({ id, xml }) => ({ id, canonical: xml })),
    { id: plainBody.id, canonical: canonicalElement(plainBody.xml) },
  ];
  const signaturePart = await signParts(signed, tokens.certificate, security);
  const content = { type: 'Content', plaintext: element } as const;
  const { key, data } = encryptAll([content, { type: 'Element', plaintext: signaturePart.xml }], security);
  const [encryptedBody, ...encryptedSignature] = data;
  return buildEnvelope([...tokens.all, key, ...encryptedSignature], buildBody(plainBody.id, encryptedBody?.xml ?? ''));
}

/** Starts with letters: an XML id must not start with a digit. */
const newId = (prefix: string, { random }: MessageSecurity): string => `${prefix}-${newUuid(random)}`;

function buildTokens(security: MessageSecurity): { all: EnvelopePart[]; certificate: EnvelopePart } {
  const { parties, settings, now, random } = security;
  const certificate = buildBinarySecurityToken(newId('x509', security), parties.merchant.certificateText);
  const { 'wssec.username': username, 'wssec.password': password = '', 'wssec.password-type': type } = settings;
  const login =
    username === undefined
      ? []
      : [buildUsernameToken(newId('username', security), { username, password, type }, now, random)];
  return { all: [buildTimestamp(newId('timestamp', security), now), certificate, ...login], certificate };
}

async function signParts(
  parts: readonly { readonly id: string; readonly canonical: string }[],
  certificate: EnvelopePart,
  security: MessageSecurity,
): Promise<EnvelopePart> {
  const { parties, settings } = security;
  const signing = SIGNATURES[settings['wssec.signature']];
  const info = buildSignedInfo(signing, parts);
  const value = await signRsa(signing.algorithm, parties.merchant.key, Buffer.from(info, 'utf8'));
  const key =
    settings['wssec.reference'] === 'binary-security-token'
      ? buildDirectReference(certificate.id)
      : buildKeyIdentifier(parties.merchant.subjectKeyIdentifier);
  return buildSignature(newId('signature', security), info, value, key);
}

interface EncryptionTarget {
  /** Element or content, whichever the ciphertext replaces. */
  readonly type: 'Content' | 'Element';
  readonly plaintext: string;
}

/** Encrypts all parts under one new key, and that key for the processor. */
function encryptAll(
  targets: readonly EncryptionTarget[],
  security: MessageSecurity,
): { key: EnvelopePart; data: EnvelopePart[] } {
  const { parties, settings, random } = security;
  const cipher = CONTENT_ENCRYPTION[settings['wssec.content']];
  const transport = KEY_TRANSPORT[settings['wssec.key-transport']];
  const keyId = newId('key', security);
  const contentKey = newContentKey(random);
  try {
    const data = targets.map(({ type, plaintext }) => {
      const value = cipher.encrypt(contentKey, plaintext, random);
      return buildEncryptedData(newId('data', security), { type, keyId, cipherUri: cipher.uri }, value);
    });
    const wrapped = encryptRsa(transport.padding, parties.processor.key, contentKey);
    const dataIds = data.map(({ id }) => id);
    const key = buildEncryptedKey(keyId, transport, parties.processor.subjectKeyIdentifier, wrapped, dataIds);
    return { key, data };
  } finally {
    contentKey.fill(0);
  }
}
