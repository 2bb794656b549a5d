import { encryptRsa, signRsa } from '../../crypto/rsa.ts';
import type { Random } from '../../kernel/clock.ts';
import { newUuid } from '../../kernel/ids.ts';
import type { MerchantKey, ProcessorKey } from '../configuration.ts';
import type { Settings } from '../settings.ts';
import { CONTENT, KEY_TRANSPORT, newContentKey, SIGNING } from './algorithms.ts';
import { canonicalElement } from './canonical.ts';
import {
  binarySecurityToken,
  body,
  directReference,
  encryptedData,
  encryptedKey,
  envelope,
  keyIdentifier,
  type Part,
  signature,
  signedInfo,
  timestamp,
  usernameToken,
} from './elements.ts';

export interface WssecParties {
  readonly merchant: MerchantKey;
  readonly processor: ProcessorKey;
}

/** What one envelope is made with. */
interface Making {
  readonly parties: WssecParties;
  readonly settings: Settings;
  readonly now: number;
  readonly random: Random;
}

/** A SOAP 1.1 envelope around an element, as WS-Security 1.1 and the Basic Security Profile have it. */
export function secureWithWssec(element: string, making: Making): Promise<string> {
  return making.settings['wssec.order'] === 'encrypt-sign'
    ? encryptThenSign(element, making)
    : signThenEncrypt(element, making);
}

/**
 * The signature covers nothing but ciphertext and our own elements. Receivers work from the top down, so the last
 * operation stands first: the signature before the key.
 */
async function encryptThenSign(element: string, making: Making): Promise<string> {
  const encryption = new Encryption(making);
  const content = encryption.encrypt('Content', element);
  const wrapped = body(newId('body', making), content.xml);
  const tokens = tokensOf(making);
  const signed = [...tokens.all, wrapped].map(({ id, xml }) => ({ id, canonical: xml }));
  const proof = await sign(signed, tokens.certificate, making);
  return envelope([...tokens.all, proof, encryption.key()], wrapped);
}

/**
 * The signature covers the plaintext, so it is encrypted itself: in clear, its digest would let whoever knows the rest of
 * the body find the card number by trying.
 */
async function signThenEncrypt(element: string, making: Making): Promise<string> {
  const plain = body(newId('body', making), element);
  const tokens = tokensOf(making);
  const signed = [
    ...tokens.all.map(({ id, xml }) => ({ id, canonical: xml })),
    { id: plain.id, canonical: canonicalElement(plain.xml) },
  ];
  const proof = await sign(signed, tokens.certificate, making);
  const encryption = new Encryption(making);
  const content = encryption.encrypt('Content', element);
  const hiddenProof = encryption.encrypt('Element', proof.xml);
  return envelope([...tokens.all, encryption.key(), hiddenProof], body(plain.id, content.xml));
}

/** Letters first: an id of XML must not begin with a digit. */
const newId = (what: string, { random }: Making): string => `${what}-${newUuid(random)}`;

function tokensOf(making: Making): { all: Part[]; certificate: Part } {
  const { parties, settings, now, random } = making;
  const certificate = binarySecurityToken(newId('x509', making), parties.merchant.certificateText);
  const { 'wssec.username': username, 'wssec.password': password = '', 'wssec.password-type': type } = settings;
  const login =
    username === undefined ? [] : [usernameToken(newId('username', making), { username, password, type }, now, random)];
  return { all: [timestamp(newId('timestamp', making), now), certificate, ...login], certificate };
}

async function sign(
  parts: readonly { readonly id: string; readonly canonical: string }[],
  certificate: Part,
  making: Making,
): Promise<Part> {
  const { parties, settings } = making;
  const signing = SIGNING[settings['wssec.signature']];
  const info = signedInfo(signing, parts);
  const value = await signRsa(signing.algorithm, parties.merchant.key, Buffer.from(info, 'utf8'));
  const key =
    settings['wssec.reference'] === 'binary-security-token'
      ? directReference(certificate.id)
      : keyIdentifier(parties.merchant.subjectKeyIdentifier);
  return signature(newId('signature', making), info, value, key);
}

/** Everything that one key of its own encrypts. */
class Encryption {
  readonly #making: Making;
  readonly #contentKey: Uint8Array;
  readonly #id: string;
  readonly #dataIds: string[] = [];

  constructor(making: Making) {
    this.#making = making;
    this.#contentKey = newContentKey(making.random);
    this.#id = newId('key', making);
  }

  encrypt(type: 'Content' | 'Element', plaintext: string): Part {
    const { settings, random } = this.#making;
    const cipher = CONTENT[settings['wssec.content']];
    const id = newId('data', this.#making);
    this.#dataIds.push(id);
    const value = cipher.encrypt(this.#contentKey, plaintext, random);
    return encryptedData(id, { type, keyId: this.#id, cipherUri: cipher.uri }, value);
  }

  /** The key itself, encrypted for the processor; the last that is asked of it. */
  key(): Part {
    const { parties, settings } = this.#making;
    const transport = KEY_TRANSPORT[settings['wssec.key-transport']];
    const value = encryptRsa(transport.padding, parties.processor.key, this.#contentKey);
    this.#contentKey.fill(0);
    return encryptedKey(this.#id, transport, parties.processor.subjectKeyIdentifier, value, this.#dataIds);
  }
}
