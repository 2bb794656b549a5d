import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { DAY, formatIso8601 } from '../kernel/clock.ts';
import { type Check, faultsOr, ok, problem, warning } from './check.ts';

/** Rules about the certificate of the listeners. */

export interface CertificateFacts {
  /** PEM: the certificate of the listeners, and those of its chain in any number. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
  /** Names and addresses by which clients reach the listeners, as the settings state them. */
  readonly hosts: readonly string[];
  /** True when cardvault made the certificate, and replaces it in time. */
  readonly isOwn: boolean;
  /** Authorities that Node trusts, PEM; those of cardvault are not among them. */
  readonly authorities: readonly string[];
}

const NAME = 'certificate';
const WARNING_DAYS = 30;
const LEAST_RSA_BITS = 2048;

/** Returns the faults, or one line that states until when the certificate is valid. */
export function checkCertificate(facts: CertificateFacts, now: number): readonly Check[] {
  const chain = parseChain(facts.certificate);
  const [leaf] = chain;
  if (leaf === undefined)
    return [problem(NAME, 'the file contains no certificate that can be read', 'replace it by a PEM file')];
  const faults = [
    ...checkKey(leaf, facts.key),
    ...checkPeriod(leaf, facts.isOwn, now),
    ...checkHosts(leaf, facts),
    ...(facts.isOwn ? [] : checkChain(chain, facts.authorities, now)),
  ];
  return faultsOr(faults, ok(NAME, `the certificate is valid until ${formatIso8601(leaf.validToDate.getTime())}`));
}

function parseChain(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    return [];
  }
}

function checkKey(leaf: X509Certificate, pem: string): Check[] {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    return [problem(NAME, 'the key of the certificate cannot be read', 'replace it by an unencrypted PEM file')];
  }
  if (!leaf.checkPrivateKey(key))
    return [problem(NAME, 'key and certificate do not belong together', 'put the two files of one request in place')];
  const bits = createPublicKey(key).asymmetricKeyDetails?.modulusLength ?? LEAST_RSA_BITS;
  if (bits < LEAST_RSA_BITS)
    return [problem(NAME, `the key has ${bits} bits`, `use ECDSA P-256, or RSA with ${LEAST_RSA_BITS} bits`)];
  return [];
}

function checkPeriod(leaf: X509Certificate, isOwn: boolean, now: number): Check[] {
  const end = leaf.validToDate.getTime();
  const renew = isOwn ? 'start the service, which replaces it' : 'renew it: the service reads it within 12 hours';
  if (end <= now) return [problem(NAME, `the certificate ended ${formatIso8601(end)}`, renew)];
  if (leaf.validFromDate.getTime() > now)
    return [problem(NAME, 'the certificate is not valid yet', 'compare the clock of this machine with another one')];
  if (end - now < WARNING_DAYS * DAY) return [warning(NAME, `the certificate ends ${formatIso8601(end)}`, renew)];
  return [];
}

function checkHosts(leaf: X509Certificate, { hosts, isOwn }: CertificateFacts): Check[] {
  const names = (host: string): boolean =>
    isIP(host) === 0 ? leaf.checkHost(host) !== undefined : leaf.checkIP(host) !== undefined;
  return hosts
    .filter((host) => !names(host))
    .map((host) =>
      problem(
        NAME,
        `the certificate does not name ${host}, which the settings give to browsers`,
        isOwn ? 'set CARDVAULT_TLS_CERT and CARDVAULT_TLS_KEY' : 'get a certificate that names it',
      ),
    );
}

/** Clients that trust an authority get the certificates between it and the first one from the file alone. */
function checkChain(chain: readonly X509Certificate[], authorities: readonly string[], now: number): Check[] {
  const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
    certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  for (const [index, issuer] of chain.slice(1).entries()) {
    if (!isIssuedBy(chain[index] as X509Certificate, issuer))
      return [
        problem(
          NAME,
          `certificate ${index + 2} of the file did not issue the one before it`,
          'put the certificates in order: that of the server first, then its issuers',
        ),
      ];
    if (issuer.validToDate.getTime() <= now)
      return [problem(NAME, `certificate ${index + 2} of the file has ended`, 'get the present chain of the issuer')];
  }
  const last = chain.at(-1) as X509Certificate;
  const isRoot = isIssuedBy(last, last);
  const isTrusted = authorities.some((pem) => isIssuedBy(last, new X509Certificate(pem)));
  if (isTrusted || (isRoot && chain.length > 1)) return [];
  return [
    warning(
      NAME,
      isRoot
        ? 'the certificate is its own issuer'
        : 'the last certificate of the file was issued by none of the authorities that Node trusts',
      'add the missing certificates of the chain; with an authority of your own, give it to every client',
    ),
  ];
}
