import { HOTP, Secret, TOTP } from 'otpauth';
import { type Random, SECOND } from '../../src/kernel/clock.ts';

/**
 * Codes of authenticator apps (RFC 6238): SHA-1, six digits, 30 seconds, which every app supports. The codes of the previous
 * and the next step are accepted too (RFC 6238 5.2).
 */
const PERIOD_MS = 30 * SECOND;
const CODE_FORMAT = { algorithm: 'SHA1', digits: 6 } as const;
const STEP_TOLERANCE = 1;
/** The length of the hash (RFC 4226 4). */
const SECRET_BYTES = 20;

/** The secret for an authenticator app. */
export interface TotpEnrollment {
  /** Base32. */
  readonly secret: string;
  /** `otpauth://…`, for a QR code. */
  readonly uri: string;
}

export const newTotpSecret = (random: Random): string =>
  new Secret({ buffer: new Uint8Array(random.bytes(SECRET_BYTES)).buffer }).base32;

export const buildTotpEnrollment = (secret: string, email: string): TotpEnrollment => ({
  secret,
  uri: new TOTP({ issuer: 'cardvault', label: email, secret: Secret.fromBase32(secret), ...CODE_FORMAT }).toString(),
});

/** Returns the time step of a code; undefined when it is not valid now. */
export function findTotpStep(secret: string, code: string, now: number): number | undefined {
  const token = code.replace(/\s/g, '');
  if (!/^[0-9]{6}$/.test(token)) return undefined;
  const counter = Math.floor(now / PERIOD_MS);
  const found = { token, secret: Secret.fromBase32(secret), counter, window: STEP_TOLERANCE, ...CODE_FORMAT };
  const delta = HOTP.validate(found);
  return delta === null ? undefined : counter + delta;
}
