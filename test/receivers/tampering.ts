import { USER } from './vectors.ts';
import { WSU } from './ws-names.ts';

/** Changes that an attacker on the network could make, and that every receiver must detect. */
export type Tamper = (envelope: string) => string;

/** Fails when there was nothing to change, which would let the test pass for nothing. */
function change(envelope: string, what: RegExp, by: (...groups: string[]) => string): string {
  const changed = envelope.replace(what, (_whole, ...groups: string[]) => by(...groups));
  if (changed === envelope) throw new Error(`nothing to change: ${what}`);
  return changed;
}

const PROFILE = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0';
const OTHER: Tamper = (text) => (text.startsWith('A') ? 'B' : 'A') + text.slice(1);
const BODY = /(<soapenv:Body[^>]*>)(.*)(<\/soapenv:Body>)/s;
/** Late enough to be past the initialisation vector. */
const CIPHERTEXT = /(.*<xenc:CipherValue>[^<]{64})([^<]+)/s;

export const TAMPERS: Readonly<Record<string, Tamper>> = {
  'a body with another attribute': (envelope) =>
    change(envelope, /<soapenv:Body /, () => '<soapenv:Body changed="yes" '),
  'a body of more': (envelope) => change(envelope, /<\/soapenv:Body>/, () => '<more/></soapenv:Body>'),
  'a body in the clear': (envelope) => change(envelope, BODY, (start, _, end) => `${start}<pay/>${end}`),
  'another ciphertext': (envelope) => change(envelope, CIPHERTEXT, (before, rest = '') => before + OTHER(rest)),
  'a later timestamp': (envelope) =>
    change(envelope, /(<wsu:Expires>)(\d{4})/, (start, year) => `${start}${Number(year) + 1}`),
  'no timestamp': (envelope) => change(envelope, /<wsu:Timestamp.*<\/wsu:Timestamp>/s, () => ''),
  'a token without a signature': (envelope) =>
    change(envelope.replace(/<wsse:UsernameToken.*<\/wsse:UsernameToken>/s, ''), /(?=<\/wsse:Security>)/, () => TOKEN),
  'the signed body in the header, another in its place': (envelope) => wrapped(envelope, ''),
  'the signed body in the header, another of the same id': (envelope) =>
    wrapped(envelope, ` xmlns:wsu="${WSU}" wsu:Id="${/<soapenv:Body[^>]* wsu:Id="([^"]*)/.exec(envelope)?.[1]}"`),
  'no signature': (envelope) =>
    envelope.includes('<ds:Signature ')
      ? change(envelope, /<ds:Signature .*<\/ds:Signature>/s, () => '')
      : change(envelope, SEALED_SIGNATURE, () => ''),
};

/** An EncryptedData of the header is a signature. */
const SEALED_SIGNATURE =
  /<xenc:DataReference URI="#[^"]*"><\/xenc:DataReference>(?=<xenc:DataReference)|<xenc:EncryptedData(?:(?!<xenc:EncryptedData).)*<\/xenc:EncryptedData>(?=.*<\/wsse:Security>)/gs;

const TOKEN =
  `<wsse:UsernameToken><wsse:Username>${USER[0]}</wsse:Username>` +
  `<wsse:Password Type="${PROFILE}#PasswordText">${USER[1]}</wsse:Password></wsse:UsernameToken>`;

const wrapped = (envelope: string, attributes: string): string =>
  change(
    change(envelope, /<\/soapenv:Header>/, () => `<wrap>${BODY.exec(envelope)?.[0]}</wrap></soapenv:Header>`),
    /(<\/soapenv:Header>)<soapenv:Body.*<\/soapenv:Body>/s,
    (end) => `${end}<soapenv:Body${attributes}><pay/></soapenv:Body>`,
  );

/** For envelopes with a BinarySecurityToken. */
export const withCertificate = (envelope: string, pem: string): string =>
  change(envelope, /(<wsse:BinarySecurityToken[^>]*>)[^<]*/, (start) => start + pem.replace(/-----[^-]+-----|\s/g, ''));
