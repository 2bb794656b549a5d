import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Form } from './sender.ts';

/** Envelopes that WSS4J sealed, once, with keys that exist for tests only. See make-vectors.ts. */
export const VECTORS = join(import.meta.dirname, '..', 'vectors', 'wssec');
export const USER = ['shop', 'a password for tests'] as const;

/** Namespaces declared outside and inside, entities, and letters of several bytes: what canonicalisation can get wrong. */
export const BODY =
  '<pay:Authorise xmlns:pay="urn:example:pay" version="1.0"><pay:Card number="4111111111111111" holder="Zoë &amp; Søn">' +
  '<Expiry xmlns="urn:example:date">2031-12</Expiry></pay:Card><pay:Note> a &lt; b &gt; c — €\n\tnext </pay:Note>' +
  '<pay:Empty></pay:Empty></pay:Authorise>';
export const ENVELOPE =
  '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:other="urn:example:other">' +
  `<soapenv:Header></soapenv:Header><soapenv:Body>${BODY}</soapenv:Body></soapenv:Envelope>`;

const form = (
  order: Form['order'],
  cipher: Form['cipher'],
  transport: Form['transport'],
  digest: Form['digest'],
  signer: Form['signer'],
  user: Form['user'],
): Form => ({ order, cipher, transport, digest, signer, user });

export const FORMS = {
  'encrypted-gcm-oaep': form('encrypt-then-sign', 'gcm', 'oaep', 'sha256', 'token', ''),
  'encrypted-gcm-oaep-sha256': form('encrypt-then-sign', 'gcm', 'oaep-sha256', 'sha256', 'token', 'digest'),
  'encrypted-cbc-oaep-text': form('encrypt-then-sign', 'cbc', 'oaep', 'sha256', 'token', 'text'),
  'encrypted-cbc-rsa-1_5-digest': form('encrypt-then-sign', 'cbc', 'rsa-1_5', 'sha512', 'identifier', 'digest'),
  'signed-gcm-oaep-text': form('sign-then-encrypt', 'gcm', 'oaep', 'sha256', 'token', 'text'),
  'signed-gcm-rsa-1_5': form('sign-then-encrypt', 'gcm', 'rsa-1_5', 'sha512', 'token', ''),
  'signed-cbc-oaep': form('sign-then-encrypt', 'cbc', 'oaep', 'sha512', 'identifier', ''),
  'signed-cbc-rsa-1_5-digest': form('sign-then-encrypt', 'cbc', 'rsa-1_5', 'sha256', 'identifier', 'digest'),
} as const satisfies Readonly<Record<string, Form>>;

export type VectorName = keyof typeof FORMS;
export const vector = (name: VectorName): string => readFileSync(join(VECTORS, `${name}.xml`), 'utf8');
export const vectorKey = (name: string): string => readFileSync(join(VECTORS, `${name}.pem`), 'utf8');

/** When it was made, as it says itself where that can be read. */
export const timeOfVector = (envelope: string): number =>
  Date.parse(/<wsu:Created>([^<]+)</.exec(envelope)?.[1] ?? 'none') + 1000;
