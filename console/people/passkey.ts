import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';
import { MINUTE, type Random } from '../../src/kernel/clock.ts';
import type { RelyingParty } from './client-context.ts';
import { loadWebAuthn, parseAssertion, parseRegistration } from './credential.ts';
import { ES256, isCanonicalSignature } from './passkey-signature.ts';

/** WebAuthn credentials (W3C WebAuthn Level 3), always with verification of the user: a finger, a face or a PIN. */

export interface Passkey {
  /** Id of the credential; base64url. */
  readonly credential: string;
  /** COSE; base64url. */
  readonly publicKey: string;
  readonly transports: readonly string[];
  readonly label: string;
}

/** COSE algorithms: Ed25519, ES256 and RS256; every authenticator has one of them. */
const ALGORITHMS = [-8, ES256, -257];
/** Label of the algorithm in a key of COSE (RFC 9052). */
const KEY_ALGORITHM = 3;
const CHALLENGE_BYTES = 32;
const TIMEOUT_MS = 5 * MINUTE;

const toDescriptor = ({ credential, transports }: Passkey) => ({ id: credential, transports: [...transports] });

/** Returns the options to create a passkey. The caller stores the challenge. */
export async function buildCreationOptions(
  random: Random,
  relyingParty: RelyingParty,
  person: { readonly id: string; readonly email: string; readonly name: string },
  existing: readonly Passkey[],
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await loadWebAuthn();
  return generateRegistrationOptions({
    rpName: relyingParty.name,
    rpID: relyingParty.id,
    userID: new TextEncoder().encode(person.id),
    userName: person.email,
    userDisplayName: person.name,
    challenge: new Uint8Array(random.bytes(CHALLENGE_BYTES)),
    timeout: TIMEOUT_MS,
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: existing.map(toDescriptor),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
  });
}

/** Returns the options to use a passkey, with a new challenge. The caller stores it. */
export const newRequestOptions = (
  random: Random,
  relyingParty: RelyingParty,
  passkeys: readonly Passkey[],
): Promise<PublicKeyCredentialRequestOptionsJSON> =>
  buildRequestOptions(new Uint8Array(random.bytes(CHALLENGE_BYTES)), relyingParty, passkeys);

/** Without passkeys the browser offers those that it finds for this site. */
export async function buildRequestOptions(
  challenge: Uint8Array,
  relyingParty: RelyingParty,
  passkeys: readonly Passkey[],
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await loadWebAuthn();
  return generateAuthenticationOptions({
    rpID: relyingParty.id,
    challenge: new Uint8Array(challenge),
    timeout: TIMEOUT_MS,
    allowCredentials: passkeys.map(toDescriptor),
    userVerification: 'required',
  });
}

/**
 * Returns the passkey that a browser created, with its signature counter; undefined when any part of the response is
 * invalid.
 */
export async function verifyRegistration(
  response: unknown,
  { challenge, relyingParty, label }: { challenge: string; relyingParty: RelyingParty; label: string },
): Promise<{ passkey: Passkey; counter: number } | undefined> {
  try {
    const { verifyRegistrationResponse } = await loadWebAuthn();
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: await parseRegistration(response),
      expectedChallenge: challenge,
      expectedOrigin: relyingParty.origin,
      expectedRPID: relyingParty.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) return undefined;
    const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
    const passkey = { credential: id, publicKey: Buffer.from(publicKey).toString('base64url') };
    return { passkey: { ...passkey, transports, label }, counter };
  } catch {
    // The library throws for every fault in the browser's data, with messages that quote it.
    return undefined;
  }
}

/** Returns the id of the credential that a browser claims to have used. */
export function findCredentialId(response: unknown): string | undefined {
  const id = (response as { id?: unknown } | null | undefined)?.id;
  return typeof id === 'string' ? id : undefined;
}

/**
 * Returns the new signature counter; undefined when the signature is not by this passkey over this challenge, or the
 * counter is old.
 */
export async function verifyAssertion(
  response: unknown,
  expected: { passkey: Passkey; counter: number; challenge: string; relyingParty: RelyingParty },
): Promise<number | undefined> {
  const { passkey, counter, challenge, relyingParty } = expected;
  const publicKey = new Uint8Array(Buffer.from(passkey.publicKey, 'base64url'));
  try {
    const { verifyAuthenticationResponse, helpers } = await loadWebAuthn();
    const assertion = parseAssertion(response);
    const algorithm = helpers.decodeCredentialPublicKey(publicKey).get(KEY_ALGORITHM);
    if (!isCanonicalSignature(algorithm, Buffer.from(assertion.response.signature, 'base64url'))) return undefined;
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: assertion,
      expectedChallenge: challenge,
      expectedOrigin: relyingParty.origin,
      expectedRPID: relyingParty.id,
      credential: { id: passkey.credential, publicKey, counter, transports: [...passkey.transports] },
      requireUserVerification: true,
    });
    return verified ? authenticationInfo.newCounter : undefined;
  } catch {
    return undefined;
  }
}
