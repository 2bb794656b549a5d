import { createHash, verify, type X509Certificate } from 'node:crypto';
import { canonicalise } from './exclusive-c14n.ts';
import { byReference, bytesOf, requireIdentifier } from './node-decryption.ts';
import { DS, DSIG_MORE, EXCLUSIVE, WSSE, XENC } from './ws-names.ts';
import { attributeOf, childrenOf, type Element, only } from './xml-tree.ts';

const SIGNATURES: Readonly<Record<string, string>> = {
  [`${DSIG_MORE}rsa-sha256`]: 'sha256',
  [`${DSIG_MORE}rsa-sha512`]: 'sha512',
};
const DIGESTS: Readonly<Record<string, string>> = {
  [`${XENC}sha256`]: 'sha256',
  [`${XENC}sha512`]: 'sha512',
};

/** Returns the elements that the signature covers; throws when it does not hold. */
export function verifySignature(root: Element, signature: Element, certificate: X509Certificate): Element[] {
  requireSigner(root, only(only(signature, DS, 'KeyInfo'), WSSE, 'SecurityTokenReference'), certificate);
  const signedInfo = only(signature, DS, 'SignedInfo');
  const method = only(signedInfo, DS, 'CanonicalizationMethod');
  const hash = named(SIGNATURES, only(signedInfo, DS, 'SignatureMethod'));
  const text = Buffer.from(canonicalBy(method, signedInfo));
  if (!verify(hash, text, certificate.publicKey, bytesOf(only(signature, DS, 'SignatureValue')))) {
    throw new Error('the signature does not match');
  }
  return childrenOf(signedInfo, DS, 'Reference').map((reference) => covered(root, reference));
}

function covered(root: Element, reference: Element): Element {
  const element = byReference(root, attributeOf(reference, 'URI'));
  const transform = only(reference, DS, 'Transforms', 'Transform');
  const hash = named(DIGESTS, only(reference, DS, 'DigestMethod'));
  const digest = createHash(hash).update(canonicalBy(transform, element)).digest();
  if (!digest.equals(bytesOf(only(reference, DS, 'DigestValue')))) throw new Error(`${element.local} was changed`);
  return element;
}

function canonicalBy(method: Element, element: Element): string {
  if (attributeOf(method, 'Algorithm') !== EXCLUSIVE) throw new Error('canonicalisation');
  const [inclusive] = childrenOf(method, EXCLUSIVE, 'InclusiveNamespaces');
  const list = inclusive === undefined ? '' : (attributeOf(inclusive, 'PrefixList') ?? '');
  const prefixes = list.split(' ').filter((prefix) => prefix !== '');
  return canonicalise(
    element,
    prefixes.map((prefix) => (prefix === '#default' ? '' : prefix)),
  );
}

function requireSigner(root: Element, reference: Element, certificate: X509Certificate): void {
  const [direct] = childrenOf(reference, WSSE, 'Reference');
  if (direct === undefined) {
    const pem = certificate.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    requireIdentifier(only(reference, WSSE, 'KeyIdentifier'), pem);
    return;
  }
  const token = byReference(root, attributeOf(direct, 'URI'));
  if (token.uri !== WSSE || token.local !== 'BinarySecurityToken') throw new Error('no BinarySecurityToken');
  if (!bytesOf(token).equals(certificate.raw)) throw new Error("not the merchant's certificate");
}

function named(names: Readonly<Record<string, string>>, element: Element): string {
  const algorithm = attributeOf(element, 'Algorithm') ?? '';
  const name = names[algorithm];
  if (name === undefined) throw new Error(`algorithm ${algorithm}`);
  return name;
}
