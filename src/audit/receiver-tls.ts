import { readFileSync } from 'node:fs';
import { ReceiverError, type ReceiverTls } from './shipping.ts';

/** Returns the TLS options of a connection to a receiver. Throws `ReceiverError` for a file that cannot be read. */
export function readTlsOptions({ caFile, certificate }: ReceiverTls) {
  return {
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(caFile !== undefined && { ca: readReceiverFile(caFile) }),
    ...(certificate !== undefined && {
      cert: readReceiverFile(certificate.certificateFile),
      key: readReceiverFile(certificate.keyFile),
    }),
  } as const;
}

export function readReceiverFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ReceiverError(`file-${(cause as NodeJS.ErrnoException).code ?? 'unreadable'}`);
  }
}

/** Returns the code of an error of a connection; its message could quote the receiver. */
export function toErrorCode(error: unknown): string {
  if (error instanceof ReceiverError) return error.code;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'failed';
}
