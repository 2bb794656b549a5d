import 'reflect-metadata';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { decodeAttestationObject } from '@simplewebauthn/server/helpers';
import { LIMITS } from '../../src/kernel/limits.ts';

/**
 * What a browser says of a passkey (WebAuthn, JSON forms), taken over member by member: anybody can send anything, of any
 * length, and what is not named here is not looked at.
 */

/** Nobody is told which member it was. */
class InvalidCredentialError extends Error {}

type Members = Readonly<Record<string, unknown>>;

const toMembers = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : ({} as Members);

/** Base64url. Throws when it is none, or longer than a real one. */
function parseBase64url(members: Members, name: string, max: number = LIMITS.credentialMemberCharacters): string {
  const text = members[name];
  if (typeof text !== 'string' || text.length > max || !/^[\w-]+$/.test(text)) throw new InvalidCredentialError();
  return text;
}

const parseIdentity = (members: Members) => ({
  id: parseBase64url(members, 'id', LIMITS.credentialIdCharacters),
  rawId: parseBase64url(members, 'rawId', LIMITS.credentialIdCharacters),
  type: members['type'] as 'public-key',
  clientExtensionResults: {},
});

/** Of a new passkey. Throws when a member is wrong, or for an attestation that nobody asked for. */
export function parseRegistration(input: unknown): RegistrationResponseJSON {
  const members = toMembers(input);
  const response = toMembers(members['response']);
  const attestationObject = parseBase64url(response, 'attestationObject');
  if (!hasNoCertificate(attestationObject)) throw new InvalidCredentialError();
  const clientDataJSON = parseBase64url(response, 'clientDataJSON');
  const transports = parseTransports(response) as never;
  return { ...parseIdentity(members), response: { clientDataJSON, attestationObject, transports } };
}

/** Of one that was used. Throws when a member is wrong. */
export function parseAssertion(input: unknown): AuthenticationResponseJSON {
  const members = toMembers(input);
  const response = toMembers(members['response']);
  return {
    ...parseIdentity(members),
    response: {
      clientDataJSON: parseBase64url(response, 'clientDataJSON'),
      authenticatorData: parseBase64url(response, 'authenticatorData'),
      signature: parseBase64url(response, 'signature'),
    },
  };
}

/**
 * What a passkey says that it signed, before the signature is checked: whose it is, and the challenge. Both are empty where
 * the browser says nothing that can be read.
 */
export function parseAssertionClaims(input: unknown): { readonly user: string; readonly challenge: string } {
  try {
    const response = toMembers(toMembers(input)['response']);
    const decode = (name: string): string => Buffer.from(parseBase64url(response, name), 'base64url').toString('utf8');
    const user = decode('userHandle');
    const { challenge } = toMembers(JSON.parse(decode('clientDataJSON')));
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
function hasNoCertificate(attestationObject: string): boolean {
  const attestation = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')));
  const [format, statement] = [attestation.get('fmt'), attestation.get('attStmt') as unknown];
  return format === 'none' || (format === 'packed' && statement instanceof Map && !statement.has('x5c'));
}

/** A browser may say any; only hints. */
function parseTransports({ transports }: Members): string[] {
  if (!Array.isArray(transports)) return [];
  return transports.slice(0, LIMITS.credentialTransports).filter(isTransport);
}

const isTransport = (text: unknown): boolean => typeof text === 'string' && /^[a-z-]{1,20}$/.test(text);
