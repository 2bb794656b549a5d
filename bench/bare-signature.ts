import { type KeyObject, sign } from 'node:crypto';

/** None of the service's code, so that no change of it moves what it is measured against. */
export const signature = (bytes: Uint8Array, by: KeyObject): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    sign('sha256', bytes, by, (error, signed) => (error ? reject(error) : resolve(signed)));
  });
