import { CBC_IV_BYTES, encryptCbc, encryptGcm, GCM_IV_BYTES } from '../../crypto/aes.ts';
import type { EncryptionPadding, SignatureAlgorithm } from '../../crypto/rsa.ts';
import type { Random } from '../../kernel/clock.ts';
import type { EffectiveSettings } from '../settings.ts';

/** Namespaces of a WS-Security 1.1 envelope. */
export const NS = {
  soapenv: 'http://schemas.xmlsoap.org/soap/envelope/',
  wsse: 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd',
  wsse11: 'http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd',
  wsu: 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd',
  ds: 'http://www.w3.org/2000/09/xmldsig#',
  xenc: 'http://www.w3.org/2001/04/xmlenc#',
  xenc11: 'http://www.w3.org/2009/xmlenc11#',
} as const;

export const EXCLUSIVE_C14N = 'http://www.w3.org/2001/10/xml-exc-c14n#';

const SOAP_SECURITY = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0';
const X509_PROFILE = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0';
const USERNAME_PROFILE = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0';

export const BASE64 = `${SOAP_SECURITY}#Base64Binary`;
export const X509_V3 = `${X509_PROFILE}#X509v3`;
export const X509_SUBJECT_KEY_IDENTIFIER = `${X509_PROFILE}#X509SubjectKeyIdentifier`;
export const ENCRYPTED_KEY = 'http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#EncryptedKey';
export const passwordTypeUri = (type: EffectiveSettings['wssec.password-type']): string =>
  `${USERNAME_PROFILE}#${type}`;

interface SignatureMethod {
  readonly algorithm: SignatureAlgorithm;
  readonly uri: string;
  readonly digest: 'sha256' | 'sha512';
  readonly digestUri: string;
}

export const SIGNATURES: Readonly<Record<EffectiveSettings['wssec.signature'], SignatureMethod>> = {
  'RSA-SHA256': {
    algorithm: 'RS256',
    uri: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    digest: 'sha256',
    digestUri: `${NS.xenc}sha256`,
  },
  'RSA-SHA512': {
    algorithm: 'RS512',
    uri: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
    digest: 'sha512',
    digestUri: `${NS.xenc}sha512`,
  },
};

interface KeyTransport {
  readonly padding: EncryptionPadding;
  readonly uri: string;
  /** Both are named in the message, because their defaults are SHA-1. */
  readonly digestUri?: string;
  readonly maskUri?: string;
}

export const KEY_TRANSPORT: Readonly<Record<EffectiveSettings['wssec.key-transport'], KeyTransport>> = {
  // Its mask generation is fixed to SHA-1, so its digest has the default too: receivers parse other pairs differently.
  'RSA-OAEP': { padding: 'oaep-sha1', uri: `${NS.xenc}rsa-oaep-mgf1p` },
  'RSA-OAEP-SHA256': {
    padding: 'oaep-sha256',
    uri: `${NS.xenc11}rsa-oaep`,
    digestUri: `${NS.xenc}sha256`,
    maskUri: `${NS.xenc11}mgf1sha256`,
  },
  'RSA-1_5': { padding: 'pkcs1', uri: `${NS.xenc}rsa-1_5` },
};

const CONTENT_KEY_BYTES = 32;

export const newContentKey = (random: Random): Uint8Array => random.bytes(CONTENT_KEY_BYTES);

interface ContentEncryption {
  readonly uri: string;
  /** Initialization vector, ciphertext and, with GCM, tag. */
  encrypt(key: Uint8Array, plaintext: string, random: Random): Buffer;
}

/** XML Encryption 1.1, 5.2. */
export const CONTENT_ENCRYPTION: Readonly<Record<EffectiveSettings['wssec.content'], ContentEncryption>> = {
  'AES-256-GCM': {
    uri: `${NS.xenc11}aes256-gcm`,
    encrypt(key, plaintext, random) {
      const iv = random.bytes(GCM_IV_BYTES);
      const { ciphertext, tag } = encryptGcm(key, iv, Buffer.from(plaintext, 'utf8'));
      return Buffer.concat([iv, ciphertext, tag]);
    },
  },
  'AES-256-CBC': {
    uri: `${NS.xenc}aes256-cbc`,
    encrypt(key, plaintext, random) {
      const iv = random.bytes(CBC_IV_BYTES);
      return Buffer.concat([iv, encryptCbc(key, iv, Buffer.from(plaintext, 'utf8'))]);
    },
  },
};
