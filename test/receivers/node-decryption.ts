import { constants, createDecipheriv, privateDecrypt } from 'node:crypto';
import { keyIdentifierOf, publicOf } from './certificates.ts';
import { DS, SOAP, WSSE, WSU, XENC, XENC11 } from './ws-names.ts';
import {
  attributeOf,
  childrenOf,
  type Element,
  elementsOf,
  isElement,
  only,
  parseXml,
  replaceByText,
  textOf,
} from './xml-tree.ts';

const SKI = '#X509SubjectKeyIdentifier';
const KEY_BYTES = 32;
const GCM_TAG_BYTES = 16;

/** Puts what an EncryptedKey opens in its places. Returns the names of what was encrypted, or whose content. */
export function decryptAll(root: Element, encryptedKey: Element, processorKey: string): string[] {
  const identifier = only(only(encryptedKey, DS, 'KeyInfo'), WSSE, 'SecurityTokenReference', 'KeyIdentifier');
  requireIdentifier(identifier, publicOf(processorKey));
  const session = openKey(encryptedKey, processorKey);
  return childrenOf(only(encryptedKey, XENC, 'ReferenceList'), XENC, 'DataReference').map((reference) => {
    const data = byReference(root, attributeOf(reference, 'URI'));
    if (data.uri !== XENC || data.local !== 'EncryptedData') throw new Error('no EncryptedData');
    return decrypt(data, session);
  });
}

/** A SubjectKeyIdentifier names this key. */
export function requireIdentifier(identifier: Element, publicKey: string): void {
  if (attributeOf(identifier, 'ValueType')?.endsWith(SKI) !== true) throw new Error('kind of key identifier');
  if (!bytesOf(identifier).equals(keyIdentifierOf(publicKey))) throw new Error('the identifier of another key');
}

export function byReference(root: Element, uri: string | undefined): Element {
  if (uri?.startsWith('#') !== true) throw new Error('a reference elsewhere');
  const id = uri.slice(1);
  const found = [...elementsOf(root)].filter(
    (element) => attributeOf(element, 'Id') === id || attributeOf(element, 'Id', WSU) === id,
  );
  const [element] = found;
  if (element === undefined || found.length > 1) throw new Error('not one element of this Id');
  return element;
}

export function bytesOf(element: Element): Buffer {
  const text = textOf(element).replace(/[\t\n\r ]/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) throw new Error('base64');
  return Buffer.from(text, 'base64');
}

const cipherValue = (element: Element): Buffer => bytesOf(only(element, XENC, 'CipherData', 'CipherValue'));
const algorithmOf = (element: Element): string => attributeOf(element, 'Algorithm') ?? '';

/** The session key of an EncryptedKey. */
export function openKey(encryptedKey: Element, key: string): Buffer {
  const method = only(encryptedKey, XENC, 'EncryptionMethod');
  const wrapped = cipherValue(encryptedKey);
  const algorithm = algorithmOf(method);
  const session =
    algorithm === `${XENC}rsa-1_5`
      ? privateDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, wrapped)
      : privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: oaepHash(method) }, wrapped);
  if (session.length !== KEY_BYTES) throw new Error('size of the key');
  return session;
}

/** Supports the two kinds of OAEP, and of those only equal hashes of label and mask: node:crypto has one hash. */
function oaepHash(method: Element): 'sha1' | 'sha256' {
  const [digest] = childrenOf(method, DS, 'DigestMethod').map(algorithmOf);
  const [mask] = childrenOf(method, XENC11, 'MGF').map(algorithmOf);
  const is = [algorithmOf(method), digest ?? `${DS}sha1`, mask ?? `${XENC11}mgf1sha1`].join(' ');
  if (is === `${XENC}rsa-oaep-mgf1p ${DS}sha1 ${XENC11}mgf1sha1`) return 'sha1';
  if (is === `${XENC11}rsa-oaep ${XENC}sha256 ${XENC11}mgf1sha256`) return 'sha256';
  throw new Error(`key transport ${is}`);
}

/** Returns the content of each EncryptedData of an envelope, as it was written, in the order of the document. */
export function plaintextsOf(envelope: string, processorKey: string): string[] {
  const root = parseXml(envelope);
  const security = only(only(root, SOAP, 'Header'), WSSE, 'Security');
  const session = openKey(only(security, XENC, 'EncryptedKey'), processorKey);
  return [...elementsOf(root)]
    .filter(({ uri, local }) => uri === XENC && local === 'EncryptedData')
    .map((data) => plaintextOf(data, session));
}

function plaintextOf(data: Element, session: Buffer): string {
  const plaintext = openData(algorithmOf(only(data, XENC, 'EncryptionMethod')), session, cipherValue(data));
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(plaintext);
}

function decrypt(data: Element, session: Buffer): string {
  const text = plaintextOf(data, session);
  const type = attributeOf(data, 'Type');
  const parent = data.parent?.local ?? '';
  const nodes = replaceByText(data, text);
  if (type === `${XENC}Content`) return parent;
  const [element, ...others] = nodes;
  if (type !== `${XENC}Element` || !isElement(element) || others.length > 0) throw new Error(`type ${type}`);
  return element.local;
}

function openData(algorithm: string, session: Buffer, sealed: Buffer): Buffer {
  if (algorithm === `${XENC11}aes256-gcm`) return openGcm(session, sealed);
  if (algorithm === `${XENC}aes256-cbc`) return openCbc(session, sealed);
  throw new Error(`cipher ${algorithm}`);
}

function openGcm(session: Buffer, sealed: Buffer): Buffer {
  const end = sealed.length - GCM_TAG_BYTES;
  const decipher = createDecipheriv('aes-256-gcm', session, sealed.subarray(0, 12));
  decipher.setAuthTag(sealed.subarray(end));
  return Buffer.concat([decipher.update(sealed.subarray(12, end)), decipher.final()]);
}

/** XML Encryption pads like ISO 10126: the last byte counts, the others may be anything. */
function openCbc(session: Buffer, sealed: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-cbc', session, sealed.subarray(0, 16)).setAutoPadding(false);
  const padded = Buffer.concat([decipher.update(sealed.subarray(16)), decipher.final()]);
  const padding = padded.at(-1) ?? 0;
  if (padding < 1 || padding > 16) throw new Error('padding');
  return padded.subarray(0, padded.length - padding);
}
