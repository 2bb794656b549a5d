import { hash } from 'node:crypto';
import type { Recipients } from '../crypto/age-file.ts';

/** Returns the hexadecimal SHA-256 over the recipients, one a line in the order of their bytes. */
export const fingerprintRecipients = (recipients: Recipients): string =>
  hash(
    'sha256',
    [...recipients]
      .sort()
      .map((recipient) => `${recipient}\n`)
      .join(''),
  );
