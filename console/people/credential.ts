import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { LIMITS } from '../../src/kernel/limits.ts';
import { isCanonicalSignature } from './passkey-signature.ts';

/**
 * Parses the JSON forms of WebAuthn member by member: clients can send anything, of any length, and members that are not
 * named here are ignored.
 */

/** Loads the library with the first passkey: a start would take 120 ms and 6 MB longer with it. */
export async function loadWebAuthn() {
  await import('reflect-metadata');
  const [server, helpers] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ]);
  return { ...server, helpers };
}

/** Names no member, because the client learns nothing more than that the credential is invalid. */
class InvalidCredentialError extends Error {}

type Members = Readonly<Record<string, unknown>>;

const toMembers = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : ({} as Members);

/** Returns a base64url text. Throws when it is malformed or longer than a real one. */
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

/** Parses the response to a registration. Throws for an invalid member, and for an attestation that was not requested. */
export async function parseRegistration(input: unknown): Promise<RegistrationResponseJSON> {
  const members = toMembers(input);
  const response = toMembers(members['response']);
  const attestationObject = parseBase64url(response, 'attestationObject');
  if (!(await isPlainAttestation(attestationObject))) throw new InvalidCredentialError();
  const clientDataJSON = parseBase64url(response, 'clientDataJSON');
  const transports = parseTransports(response) as never;
  return { ...parseIdentity(members), response: { clientDataJSON, attestationObject, transports } };
}

/** Parses the response to an authentication. Throws for an invalid member. */
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

/** Returns the user and the challenge that an assertion claims, before its signature is verified; empty when malformed. */
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
 * True for the attestations that browsers return when none is requested (WebAuthn Level 3, 5.1.3): an empty one, or a
 * signature by the passkey itself. Any other contains certificates: parsing them takes a time that the sender chooses, and
 * fetches revocation lists from addresses that the sender chooses.
 */
async function isPlainAttestation(attestationObject: string): Promise<boolean> {
  const { decodeAttestationObject } = (await loadWebAuthn()).helpers;
  const attestation = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')));
  const [format, statement] = [attestation.get('fmt'), attestation.get('attStmt') as unknown];
  if (format === 'none') return true;
  if (format !== 'packed' || !(statement instanceof Map) || statement.has('x5c')) return false;
  const signature = statement.get('sig');
  return signature instanceof Uint8Array && isCanonicalSignature(statement.get('alg'), signature);
}

/** Returns the transports, which are untrusted hints. */
function parseTransports({ transports }: Members): string[] {
  if (!Array.isArray(transports)) return [];
  return transports.slice(0, LIMITS.credentialTransports).filter(isTransport);
}

const isTransport = (text: unknown): boolean => typeof text === 'string' && /^[a-z-]{1,20}$/.test(text);
