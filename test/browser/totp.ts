import { Secret, TOTP } from 'otpauth';

/** The code that an authenticator app shows at that time; the secret in base32, as people type it in. */
export const totp = (secret: string, atMs: number): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: atMs });
