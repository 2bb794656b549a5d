import { MINUTE } from '../../src/kernel/clock.ts';
import { computeDigest, isDigestValid, type PeopleDependencies } from './sealing.ts';

/**
 * Challenges for signing in with a passkey alone. Nothing is stored for an unauthenticated client: the challenge
 * contains its expiry and a MAC, and a user's state contains the used ones until they expire.
 */
const TTL_MS = 5 * MINUTE;
const TIME_BYTES = 8;
const RANDOM_BYTES = 16;
const HEAD_BYTES = TIME_BYTES + RANDOM_BYTES;

export async function newChallenge({
  keyring,
  time,
  random,
}: Omit<PeopleDependencies, 'database'>): Promise<Uint8Array> {
  const expiry = Buffer.alloc(TIME_BYTES);
  expiry.writeBigUInt64BE(BigInt(time.steadyNow() + TTL_MS));
  const head = Buffer.concat([expiry, random.bytes(RANDOM_BYTES)]);
  return new Uint8Array(Buffer.concat([head, await computeDigest(keyring, 'challenge', head.toString('hex'))]));
}

/** Returns the challenge with its expiry; undefined when it was not issued here, or has expired. */
export async function verifyChallenge(
  { keyring, time }: Pick<PeopleDependencies, 'keyring' | 'time'>,
  challenge: string,
): Promise<{ readonly challenge: string; readonly expiresAt: number } | undefined> {
  const bytes = Buffer.from(challenge, 'base64url');
  const [head, mac] = [bytes.subarray(0, HEAD_BYTES), bytes.subarray(HEAD_BYTES)];
  // A text that decodes to the same bytes in another form would count as another challenge.
  if (bytes.toString('base64url') !== challenge || head.length < HEAD_BYTES) return undefined;
  if (!(await isDigestValid(keyring, mac, 'challenge', head.toString('hex')))) return undefined;
  const expiresAt = Number(head.readBigUInt64BE());
  return time.steadyNow() < expiresAt ? { challenge, expiresAt } : undefined;
}
