import { createHash, X509Certificate } from 'node:crypto';
import { canonicalise } from './exclusive-c14n.ts';
import { Refused } from './lines.ts';
import { decryptAll } from './node-decryption.ts';
import { verifySignature } from './node-signature.ts';
import type { OpenedEnvelope, ReceiverKeys } from './receivers.ts';
import { DS, SOAP, WSSE, WSU, XENC } from './ws-names.ts';
import {
  attributeOf,
  childrenOf,
  type Element,
  elementsOf,
  isElement,
  only,
  parseXml,
  serialize,
  textOf,
} from './xml-tree.ts';

/**
 * A processor that opens WS-Security envelopes on node:crypto alone, for machines without any other. Written from the
 * standards, not from the code that it tests.
 */
export function openEnvelope(envelope: string, keys: ReceiverKeys, at: number): OpenedEnvelope {
  try {
    return open(parseXml(envelope), keys, at);
  } catch (error) {
    throw new Refused(error instanceof Error ? error.message : String(error));
  }
}

/** Times of other machines may be ahead by this; the same as WSS4J grants. */
const CLOCK_SKEW_MS = 60_000;
const OLDEST_MS = 300_000;

function open(root: Element, keys: ReceiverKeys, at: number): OpenedEnvelope {
  if (root.uri !== SOAP || root.local !== 'Envelope') throw new Error('no SOAP envelope');
  refuseSameIds(root);
  const security = only(only(root, SOAP, 'Header'), WSSE, 'Security');
  if (attributeOf(security, 'mustUnderstand', SOAP) !== '1') throw new Error('the header need not be understood');
  const certificate = new X509Certificate(keys.merchant);
  if (certificate.validFromDate.getTime() > at || certificate.validToDate.getTime() <= at) {
    throw new Error('the certificate is not valid at this time');
  }
  const { actions, signed, encrypted } = process(root, security, keys.processorKey, certificate);
  const body = only(root, SOAP, 'Body');
  if (!encrypted.includes('Body')) throw new Error('the Body is not encrypted');
  requireSigned(signed, [body, only(security, WSU, 'Timestamp'), ...tokensOf(security)]);
  requireTime(only(security, WSU, 'Timestamp'), at);
  return {
    actions,
    signed: signed.map(({ local }) => local),
    encrypted,
    content: body.children.map(serialize).join(''),
    canonical: body.children.map((child) => canonicalise(child)).join(''),
    user: userOf(security, keys.users ?? {}, at),
  };
}

interface Processed {
  readonly actions: string[];
  readonly signed: Element[];
  readonly encrypted: string[];
}

/** In the order of the header, which shows the last operation first. */
function process(root: Element, security: Element, processorKey: string, certificate: X509Certificate): Processed {
  const done: Processed = { actions: [], signed: [], encrypted: [] };
  for (let index = 0; index < security.children.length; index++) {
    const child = security.children[index];
    if (!isElement(child)) continue;
    if (child.uri === XENC && child.local === 'EncryptedKey') {
      done.actions.push('Encrypt');
      done.encrypted.push(...decryptAll(root, child, processorKey));
      refuseSameIds(root);
    } else {
      done.actions.push(child.local);
      if (child.uri === DS && child.local === 'Signature')
        done.signed.push(...verifySignature(root, child, certificate));
    }
  }
  return done;
}

const tokensOf = (security: Element): Element[] =>
  ['BinarySecurityToken', 'UsernameToken'].flatMap((name) => childrenOf(security, WSSE, name));

/** The very elements, not some of the same name: that is what wrapping attacks confuse. */
function requireSigned(signed: readonly Element[], needed: readonly Element[]): void {
  const bare = needed.find((element) => !signed.includes(element));
  if (bare !== undefined) throw new Error(`the ${bare.local} is not signed`);
}

function refuseSameIds(root: Element): void {
  const seen = new Set<string>();
  for (const element of elementsOf(root)) {
    for (const id of [attributeOf(element, 'Id'), attributeOf(element, 'Id', WSU)]) {
      if (id === undefined) continue;
      if (seen.has(id)) throw new Error('an Id twice');
      seen.add(id);
    }
  }
}

function requireTime(timestamp: Element, at: number): void {
  const created = timeOf(only(timestamp, WSU, 'Created'));
  const expires = timeOf(only(timestamp, WSU, 'Expires'));
  if (created > at + CLOCK_SKEW_MS || created < at - OLDEST_MS || expires <= at) throw new Error('not at this time');
}

function timeOf(element: Element): number {
  const text = textOf(element);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)) throw new Error(`time ${text}`);
  return Date.parse(text);
}

function userOf(security: Element, users: Readonly<Record<string, string>>, at: number): string {
  const [token] = childrenOf(security, WSSE, 'UsernameToken');
  if (token === undefined) return '';
  const user = textOf(only(token, WSSE, 'Username'));
  const known = users[user];
  if (known === undefined) throw new Error('an unknown user');
  const password = only(token, WSSE, 'Password');
  const isDigest = attributeOf(password, 'Type')?.endsWith('#PasswordDigest') === true;
  const expected = isDigest ? passwordDigest(token, known, at) : known;
  if (textOf(password) !== expected) throw new Error('another password');
  return user;
}

function passwordDigest(token: Element, password: string, at: number): string {
  const nonce = Buffer.from(textOf(only(token, WSSE, 'Nonce')), 'base64');
  const created = only(token, WSU, 'Created');
  const age = at - timeOf(created);
  if (age > OLDEST_MS || age < -CLOCK_SKEW_MS) throw new Error('a token of another time');
  return createHash('sha1').update(nonce).update(textOf(created)).update(password).digest('base64');
}
