import 'reflect-metadata';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { decodeAttestationObject } from '@simplewebauthn/server/helpers';
import { LIMITS } from '../../src/kernel/limits.ts';

/**
 * What a browser says of a passkey (WebAuthn, JSON forms), taken over member by member: anybody can send anything, of any
 * length, and what is not named here is not looked at.
 */

/** Nobody is told which member it was. */
class NoCredential extends Error {}

type Members = Readonly<Record<string, unknown>>;

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : ({} as Members);

/** Base64url. Throws when it is none, or longer than a real one. */
function bytesIn(members: Members, name: string, most: number = LIMITS.credentialMemberCharacters): string {
  const text = members[name];
  if (typeof text !== 'string' || text.length > most || !/^[\w-]+$/.test(text)) throw new NoCredential();
  return text;
}

const identityOf = (members: Members) => ({
  id: bytesIn(members, 'id', LIMITS.credentialIdCharacters),
  rawId: bytesIn(members, 'rawId', LIMITS.credentialIdCharacters),
  type: members['type'] as 'public-key',
  clientExtensionResults: {},
});

/** Of a new passkey. Throws when a member is wrong, or for an attestation that nobody asked for. */
export function madeCredential(given: unknown): RegistrationResponseJSON {
  const members = membersOf(given);
  const response = membersOf(members['response']);
  const attestationObject = bytesIn(response, 'attestationObject');
  if (!isUncertified(attestationObject)) throw new NoCredential();
  const clientDataJSON = bytesIn(response, 'clientDataJSON');
  const transports = transportsIn(response) as never;
  return { ...identityOf(members), response: { clientDataJSON, attestationObject, transports } };
}

/** Of one that was used. Throws when a member is wrong. */
export function usedCredential(given: unknown): AuthenticationResponseJSON {
  const members = membersOf(given);
  const response = membersOf(members['response']);
  return {
    ...identityOf(members),
    response: {
      clientDataJSON: bytesIn(response, 'clientDataJSON'),
      authenticatorData: bytesIn(response, 'authenticatorData'),
      signature: bytesIn(response, 'signature'),
    },
  };
}

/**
 * What a passkey says that it signed, before the signature is checked: whose it is, and the challenge. Both are empty where
 * the browser says nothing that can be read.
 */
export function signedClaims(given: unknown): { readonly user: string; readonly challenge: string } {
  try {
    const response = membersOf(membersOf(given)['response']);
    const decode = (name: string): string => Buffer.from(bytesIn(response, name), 'base64url').toString('utf8');
    const user = decode('userHandle');
    const { challenge } = membersOf(JSON.parse(decode('clientDataJSON')));
    if (!/^[\w-]{1,64}$/.test(user) || typeof challenge !== 'string') return NO_CLAIMS;
    return { user, challenge };
  } catch {
    return NO_CLAIMS;
  }
}

const NO_CLAIMS = { user: '', challenge: '' };

/**
 * Whether an attestation is one of those that browsers answer when none is asked for (WebAuthn Level 3, 5.1.3): an empty
 * one, or a signature by the passkey itself. Any other holds certificates. Whoever reads them spends a time that the sender
 * chooses, and asks for revocation lists at addresses that the sender chooses.
 */
function isUncertified(attestationObject: string): boolean {
  const attestation = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')));
  const [format, statement] = [attestation.get('fmt'), attestation.get('attStmt') as unknown];
  return format === 'none' || (format === 'packed' && statement instanceof Map && !statement.has('x5c'));
}

/** A browser may say any; only hints. */
function transportsIn({ transports }: Members): string[] {
  if (!Array.isArray(transports)) return [];
  return transports.slice(0, LIMITS.credentialTransports).filter(isTransport);
}

const isTransport = (text: unknown): boolean => typeof text === 'string' && /^[a-z-]{1,20}$/.test(text);
