import { encryptRsa, signRsa } from '../../crypto/rsa.ts';
import { newUuid } from '../../kernel/ids.ts';
import type { Securing } from '../securing.ts';
import { CONTENT, KEY_TRANSPORT, newContentKey, SIGNING } from './algorithms.ts';
import { canonicalElement } from './canonical.ts';
import {
  binarySecurityToken,
  body,
  directReference,
  type EnvelopePart,
  encryptedData,
  encryptedKey,
  envelope,
  keyIdentifier,
  signature,
  signedInfo,
  timestamp,
  usernameToken,
} from './elements.ts';

/** A SOAP 1.1 envelope around an element, as WS-Security 1.1 and the Basic Security Profile have it. */
export function secureWithWssec(element: string, securing: Securing): Promise<string> {
  return securing.settings['wssec.order'] === 'encrypt-sign'
    ? encryptThenSign(element, securing)
    : signThenEncrypt(element, securing);
}

/**
 * The signature covers nothing but ciphertext and our own elements. Receivers work from the top down, so the last
 * operation stands first: the signature before the key.
 */
async function encryptThenSign(element: string, securing: Securing): Promise<string> {
  const { key, data } = encryptAll([{ type: 'Content', plaintext: element }], securing);
  const wrapped = body(newId('body', securing), data.map(({ xml }) => xml).join(''));
  const tokens = tokensOf(securing);
  const signed = [...tokens.all, wrapped].map(({ id, xml }) => ({ id, canonical: xml }));
  const proof = await sign(signed, tokens.certificate, securing);
  return envelope([...tokens.all, proof, key], wrapped);
}

/**
 * The signature covers the plaintext, so it is encrypted itself: in clear, its digest would let whoever knows the rest of
 * the body find the card number by trying.
 */
async function signThenEncrypt(element: string, securing: Securing): Promise<string> {
  const plain = body(newId('body', securing), element);
  const tokens = tokensOf(securing);
  const signed = [
    ...tokens.all.map(({ id, xml }) => ({ id, canonical: xml })),
    { id: plain.id, canonical: canonicalElement(plain.xml) },
  ];
  const proof = await sign(signed, tokens.certificate, securing);
  const content = { type: 'Content', plaintext: element } as const;
  const { key, data } = encryptAll([content, { type: 'Element', plaintext: proof.xml }], securing);
  const [hiddenBody, ...hiddenProof] = data;
  return envelope([...tokens.all, key, ...hiddenProof], body(plain.id, hiddenBody?.xml ?? ''));
}

/** Letters first: an id of XML must not begin with a digit. */
const newId = (what: string, { random }: Securing): string => `${what}-${newUuid(random)}`;

function tokensOf(securing: Securing): { all: EnvelopePart[]; certificate: EnvelopePart } {
  const { parties, settings, now, random } = securing;
  const certificate = binarySecurityToken(newId('x509', securing), parties.merchant.certificateText);
  const { 'wssec.username': username, 'wssec.password': password = '', 'wssec.password-type': type } = settings;
  const login =
    username === undefined
      ? []
      : [usernameToken(newId('username', securing), { username, password, type }, now, random)];
  return { all: [timestamp(newId('timestamp', securing), now), certificate, ...login], certificate };
}

async function sign(
  parts: readonly { readonly id: string; readonly canonical: string }[],
  certificate: EnvelopePart,
  securing: Securing,
): Promise<EnvelopePart> {
  const { parties, settings } = securing;
  const signing = SIGNING[settings['wssec.signature']];
  const info = signedInfo(signing, parts);
  const value = await signRsa(signing.algorithm, parties.merchant.key, Buffer.from(info, 'utf8'));
  const key =
    settings['wssec.reference'] === 'binary-security-token'
      ? directReference(certificate.id)
      : keyIdentifier(parties.merchant.subjectKeyIdentifier);
  return signature(newId('signature', securing), info, value, key);
}

interface Piece {
  /** What it is of the element in whose place its ciphertext stands. */
  readonly type: 'Content' | 'Element';
  readonly plaintext: string;
}

/** All pieces under one key of their own, and that key, encrypted for the processor. */
function encryptAll(pieces: readonly Piece[], securing: Securing): { key: EnvelopePart; data: EnvelopePart[] } {
  const { parties, settings, random } = securing;
  const cipher = CONTENT[settings['wssec.content']];
  const transport = KEY_TRANSPORT[settings['wssec.key-transport']];
  const keyId = newId('key', securing);
  const contentKey = newContentKey(random);
  try {
    const data = pieces.map(({ type, plaintext }) => {
      const value = cipher.encrypt(contentKey, plaintext, random);
      return encryptedData(newId('data', securing), { type, keyId, cipherUri: cipher.uri }, value);
    });
    const wrapped = encryptRsa(transport.padding, parties.processor.key, contentKey);
    const dataIds = data.map(({ id }) => id);
    const key = encryptedKey(keyId, transport, parties.processor.subjectKeyIdentifier, wrapped, dataIds);
    return { key, data };
  } finally {
    contentKey.fill(0);
  }
}
