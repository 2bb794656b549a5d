// node open-wssec.mjs ENVELOPE PROCESSOR_PRIVATE_KEY MERCHANT_CERTIFICATE
// Opens an envelope of POST /proxy/wssec (default settings) and prints the payload. Needs the package saxes.
//
// cardvault writes everything that it signs in canonical form, so the digest of an element is that of its text. An
// envelope that was serialized again on its way is rejected. Elements are not found by their ids: each one is found by
// its position, and its own text must be what the merchant signed. So signature wrapping is impossible.
import { constants, createDecipheriv, hash, privateDecrypt, verify, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { SaxesParser } from 'saxes';

const OASIS = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-';
const SOAP = 'http://schemas.xmlsoap.org/soap/envelope/';
const WSSE = `${OASIS}secext-1.0.xsd`;
const WSU = `${OASIS}utility-1.0.xsd`;
const DS = 'http://www.w3.org/2000/09/xmldsig#';
const XENC = 'http://www.w3.org/2001/04/xmlenc#';
const CLOCK_SKEW_MS = 60_000;

/** Elements with their unchanged text of the document (`xml`); comments and CDATA are ignored. */
function read(text) {
  const parser = new SaxesParser({ xmlns: true });
  const open = [{ children: [] }];
  const refuse = (what) => () => {
    throw new Error(`${what} in the envelope`);
  };
  parser.on('error', refuse('malformed XML'));
  parser.on('doctype', refuse('a DOCTYPE'));
  parser.on('processinginstruction', refuse('a processing instruction'));
  parser.on('text', (value) => {
    open.at(-1).text += value;
  });
  parser.on('opentag', ({ uri, local, attributes }) => {
    const start = text.lastIndexOf('<', parser.position - 1);
    const element = { uri, local, attributes: Object.values(attributes), children: [], text: '', start };
    open.at(-1).children.push(element);
    open.push(element);
  });
  parser.on('closetag', () => {
    const element = open.pop();
    element.xml = text.slice(element.start, parser.position);
  });
  parser.write(text).close();
  return open[0];
}

const require = (holds, otherwise) => {
  if (!holds) throw new Error(otherwise);
};

/** The only element at the end of a path of children; two of a name are rejected. */
const only = (element, ...path) =>
  path.reduce((at, [namespace, name]) => {
    const found = at.children.filter(({ uri, local }) => uri === namespace && local === name);
    require(found.length === 1, `${found.length} of ${name}`);
    return found[0];
  }, element);

const attribute = (element, local, uri = '') =>
  element.attributes.find((each) => each.local === local && each.uri === uri)?.value;

const bytes = ({ text }) => Buffer.from(text, 'base64');

const [xml, privateKey, merchant] = process.argv.slice(2).map((file) => readFileSync(file, 'utf8'));
const certificate = new X509Certificate(merchant);
const envelope = only(read(xml), [SOAP, 'Envelope']);
const security = only(envelope, [SOAP, 'Header'], [WSSE, 'Security']);

// 1. Verify the signature by the certificate of the merchant and by no other, with RSA-SHA256 whatever the message names.
const signature = only(security, [DS, 'Signature']);
const signedInfo = only(signature, [DS, 'SignedInfo']);
const value = bytes(only(signature, [DS, 'SignatureValue']));
require(verify('sha256', Buffer.from(signedInfo.xml), certificate.publicKey, value), 'the signature does not hold');

// 2. Check what it covers: Body, Timestamp and BinarySecurityToken, the very ones that are used below. From here on only
// signed text is read, each part separately, so that nothing around it has a meaning.
const { children } = only(read(signedInfo.xml), [DS, 'SignedInfo']);
const references = children.filter(({ uri, local }) => uri === DS && local === 'Reference');
const digests = new Map(references.map((each) => [attribute(each, 'URI'), only(each, [DS, 'DigestValue']).text]));
function signed(parent, namespace, name) {
  const text = only(parent, [namespace, name]).xml;
  const element = only(read(text), [namespace, name]);
  const digest = digests.get(`#${attribute(element, 'Id', WSU)}`);
  require(digest === hash('sha256', text, 'base64'), `the ${name} is not signed`);
  return element;
}
const body = signed(envelope, SOAP, 'Body');
const timestamp = signed(security, WSU, 'Timestamp');
const token = signed(security, WSSE, 'BinarySecurityToken');

// 3. Check signer and time. Store accepted signatures until they expire, and accept none twice.
const now = Date.now();
const timeOf = (name) => Date.parse(only(timestamp, [WSU, name]).text);
require(bytes(token).equals(certificate.raw), 'the certificate is another one');
const { validFrom, validTo } = certificate;
require(Date.parse(validFrom) <= now && now < Date.parse(validTo), 'the certificate is not valid now');
require(timeOf('Created') <= now + CLOCK_SKEW_MS && now < timeOf('Expires'), 'the envelope is not of this time');

// 4. Decrypt. The key is not signed: with another one the tag of the content is invalid.
require(body.children.length === 1 && body.text === '', 'the Body contains more than its content');
const cipherValue = [
  [XENC, 'CipherData'],
  [XENC, 'CipherValue'],
];
const wrapped = bytes(only(security, [XENC, 'EncryptedKey'], ...cipherValue));
const sealed = bytes(only(body, [XENC, 'EncryptedData'], ...cipherValue));
const oaep = { key: privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' };
const contentKey = privateDecrypt(oaep, wrapped);
const decipher = createDecipheriv('aes-256-gcm', contentKey, sealed.subarray(0, 12), { authTagLength: 16 });
decipher.setAuthTag(sealed.subarray(-16));
const payload = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
process.stdout.write(payload);
