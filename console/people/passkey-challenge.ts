import { isSameDigest } from '../../src/crypto/fingerprint.ts';
import { MINUTE } from '../../src/kernel/clock.ts';
import { digestFor, type Means } from './sealing.ts';

/**
 * Challenges for signing in with a passkey alone. Nothing is stored for a visitor who has shown nothing: the challenge holds
 * its end and a MAC, and a user's state keeps the ones that were used until they end.
 */
const LASTS_MS = 5 * MINUTE;
const TIME_BYTES = 8;
const RANDOM_BYTES = 16;
const HEAD_BYTES = TIME_BYTES + RANDOM_BYTES;

export async function newChallenge({ keyring, time, random }: Omit<Means, 'database'>): Promise<Uint8Array> {
  const end = Buffer.alloc(TIME_BYTES);
  end.writeBigUInt64BE(BigInt(time.steadyNow() + LASTS_MS));
  const head = Buffer.concat([end, random.bytes(RANDOM_BYTES)]);
  return new Uint8Array(Buffer.concat([head, await digestFor(keyring, 'challenge', head.toString('hex'))]));
}

/** Returns the challenge with its end; undefined when it is not ours, or has ended. */
export async function readChallenge(
  { keyring, time }: Pick<Means, 'keyring' | 'time'>,
  challenge: string,
): Promise<{ readonly challenge: string; readonly endsAt: number } | undefined> {
  const bytes = Buffer.from(challenge, 'base64url');
  const [head, mac] = [bytes.subarray(0, HEAD_BYTES), bytes.subarray(HEAD_BYTES)];
  // A text that decodes to the same bytes in another form would count as another challenge.
  if (bytes.toString('base64url') !== challenge || head.length < HEAD_BYTES) return undefined;
  if (!isSameDigest(await digestFor(keyring, 'challenge', head.toString('hex')), mac)) return undefined;
  const endsAt = Number(head.readBigUInt64BE());
  return time.steadyNow() < endsAt ? { challenge, endsAt } : undefined;
}
