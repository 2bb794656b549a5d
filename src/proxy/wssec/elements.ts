import { hash } from 'node:crypto';
import { formatIso8601, MINUTE, type Random } from '../../kernel/clock.ts';
import type { EffectiveSettings } from '../settings.ts';
import {
  BASE64,
  ENCRYPTED_KEY,
  EXCLUSIVE_C14N,
  type KEY_TRANSPORT,
  NS,
  passwordTypeUri,
  type SIGNATURES,
  X509_SUBJECT_KEY_IDENTIFIER,
  X509_V3,
} from './algorithms.ts';
import { canonicalText } from './canonical.ts';

/**
 * The parts of an envelope. Each signed part is written in its exclusive canonical form
 * (http://www.w3.org/2001/10/xml-exc-c14n#): each prefix is declared on the first element that uses it, declarations
 * precede attributes, both sorted, and no element is self-closing. So the digest is computed over the text as written.
 */
export interface EnvelopePart {
  readonly id: string;
  readonly xml: string;
}

const LIFETIME_MS = 5 * MINUTE;
const NONCE_BYTES = 16;

export function buildTimestamp(id: string, now: number): EnvelopePart {
  const times = `<wsu:Created>${formatIso8601(now)}</wsu:Created><wsu:Expires>${formatIso8601(now + LIFETIME_MS)}</wsu:Expires>`;
  return { id, xml: `<wsu:Timestamp xmlns:wsu="${NS.wsu}" wsu:Id="${id}">${times}</wsu:Timestamp>` };
}

export function buildBinarySecurityToken(id: string, certificate: string): EnvelopePart {
  const declared = `xmlns:wsse="${NS.wsse}" xmlns:wsu="${NS.wsu}"`;
  const start = `<wsse:BinarySecurityToken ${declared} EncodingType="${BASE64}" ValueType="${X509_V3}" wsu:Id="${id}">`;
  return { id, xml: `${start}${certificate}</wsse:BinarySecurityToken>` };
}

/** UsernameToken Profile 1.1: a digest over nonce, time and password, or the password itself. */
export function buildUsernameToken(
  id: string,
  login: {
    readonly username: string;
    readonly password: string;
    readonly type: EffectiveSettings['wssec.password-type'];
  },
  now: number,
  random: Random,
): EnvelopePart {
  const { username, password, type } = login;
  const nonce = random.bytes(NONCE_BYTES);
  const created = formatIso8601(now);
  const digested = Buffer.concat([nonce, Buffer.from(created + password, 'utf8')]);
  const secret = type === 'PasswordText' ? canonicalText(password) : hash('sha1', digested, 'base64');
  const children = [
    `<wsse:Username>${canonicalText(username)}</wsse:Username>`,
    `<wsse:Password Type="${passwordTypeUri(type)}">${secret}</wsse:Password>`,
    `<wsse:Nonce EncodingType="${BASE64}">${Buffer.from(nonce).toString('base64')}</wsse:Nonce>`,
    `<wsu:Created>${created}</wsu:Created>`,
  ].join('');
  const start = `<wsse:UsernameToken xmlns:wsse="${NS.wsse}" xmlns:wsu="${NS.wsu}" wsu:Id="${id}">`;
  return { id, xml: `${start}${children}</wsse:UsernameToken>` };
}

export function buildBody(id: string, content: string): EnvelopePart {
  const start = `<soapenv:Body xmlns:soapenv="${NS.soapenv}" xmlns:wsu="${NS.wsu}" wsu:Id="${id}">`;
  return { id, xml: `${start}${content}</soapenv:Body>` };
}

/** Replaces an element or the content of one. */
export function buildEncryptedData(
  id: string,
  encrypted: { readonly type: 'Content' | 'Element'; readonly keyId: string; readonly cipherUri: string },
  value: Buffer,
): EnvelopePart {
  const { type, keyId, cipherUri } = encrypted;
  const reference =
    `<wsse:SecurityTokenReference xmlns:wsse="${NS.wsse}" xmlns:wsse11="${NS.wsse11}" wsse11:TokenType="${ENCRYPTED_KEY}">` +
    `<wsse:Reference URI="#${keyId}"></wsse:Reference></wsse:SecurityTokenReference>`;
  const xml =
    `<xenc:EncryptedData xmlns:xenc="${NS.xenc}" Id="${id}" Type="${NS.xenc}${type}">` +
    `<xenc:EncryptionMethod Algorithm="${cipherUri}"></xenc:EncryptionMethod>` +
    `<ds:KeyInfo xmlns:ds="${NS.ds}">${reference}</ds:KeyInfo>${buildCipherData(value)}</xenc:EncryptedData>`;
  return { id, xml };
}

/** `dataIds` are the EncryptedData elements under this key. */
export function buildEncryptedKey(
  id: string,
  transport: (typeof KEY_TRANSPORT)[keyof typeof KEY_TRANSPORT],
  recipientKeyIdentifier: string,
  value: Buffer,
  dataIds: readonly string[],
): EnvelopePart {
  const { uri, digestUri, maskUri } = transport;
  const digest =
    digestUri === undefined ? '' : `<ds:DigestMethod xmlns:ds="${NS.ds}" Algorithm="${digestUri}"></ds:DigestMethod>`;
  const mask =
    maskUri === undefined ? '' : `<xenc11:MGF xmlns:xenc11="${NS.xenc11}" Algorithm="${maskUri}"></xenc11:MGF>`;
  const references = dataIds.map((dataId) => `<xenc:DataReference URI="#${dataId}"></xenc:DataReference>`).join('');
  const xml =
    `<xenc:EncryptedKey xmlns:xenc="${NS.xenc}" Id="${id}">` +
    `<xenc:EncryptionMethod Algorithm="${uri}">${digest}${mask}</xenc:EncryptionMethod>` +
    `<ds:KeyInfo xmlns:ds="${NS.ds}">${buildTokenReference(buildKeyIdentifier(recipientKeyIdentifier))}</ds:KeyInfo>` +
    `${buildCipherData(value)}<xenc:ReferenceList>${references}</xenc:ReferenceList></xenc:EncryptedKey>`;
  return { id, xml };
}

/** The signed info: the digest of each part. */
export function buildSignedInfo(
  signing: (typeof SIGNATURES)[keyof typeof SIGNATURES],
  parts: readonly { readonly id: string; readonly canonical: string }[],
): string {
  const references = parts.map(
    ({ id, canonical }) =>
      `<ds:Reference URI="#${id}"><ds:Transforms><ds:Transform Algorithm="${EXCLUSIVE_C14N}"></ds:Transform></ds:Transforms>` +
      `<ds:DigestMethod Algorithm="${signing.digestUri}"></ds:DigestMethod>` +
      `<ds:DigestValue>${hash(signing.digest, canonical, 'base64')}</ds:DigestValue></ds:Reference>`,
  );
  return (
    `<ds:SignedInfo xmlns:ds="${NS.ds}">` +
    `<ds:CanonicalizationMethod Algorithm="${EXCLUSIVE_C14N}"></ds:CanonicalizationMethod>` +
    `<ds:SignatureMethod Algorithm="${signing.uri}"></ds:SignatureMethod>${references.join('')}</ds:SignedInfo>`
  );
}

export function buildSignature(id: string, info: string, value: Buffer, key: string): EnvelopePart {
  const xml =
    `<ds:Signature xmlns:ds="${NS.ds}" Id="${id}">${info}` +
    `<ds:SignatureValue>${value.toString('base64')}</ds:SignatureValue>` +
    `<ds:KeyInfo>${buildTokenReference(key)}</ds:KeyInfo></ds:Signature>`;
  return { id, xml };
}

/** The key of the certificate in a BinarySecurityToken. */
export const buildDirectReference = (tokenId: string): string =>
  `<wsse:Reference URI="#${tokenId}" ValueType="${X509_V3}"></wsse:Reference>`;

export const buildKeyIdentifier = (value: string): string =>
  `<wsse:KeyIdentifier EncodingType="${BASE64}" ValueType="${X509_SUBJECT_KEY_IDENTIFIER}">${value}</wsse:KeyIdentifier>`;

export function buildEnvelope(header: readonly EnvelopePart[], { xml }: EnvelopePart): string {
  const security = header.map((part) => part.xml).join('');
  return (
    `<soapenv:Envelope xmlns:soapenv="${NS.soapenv}"><soapenv:Header>` +
    `<wsse:Security xmlns:wsse="${NS.wsse}" soapenv:mustUnderstand="1">${security}</wsse:Security>` +
    `</soapenv:Header>${xml}</soapenv:Envelope>`
  );
}

const buildTokenReference = (content: string): string =>
  `<wsse:SecurityTokenReference xmlns:wsse="${NS.wsse}">${content}</wsse:SecurityTokenReference>`;

const buildCipherData = (value: Buffer): string =>
  `<xenc:CipherData><xenc:CipherValue>${value.toString('base64')}</xenc:CipherValue></xenc:CipherData>`;
