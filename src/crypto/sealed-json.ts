import type { Keyring } from './keyring.ts';
import { type Place, UnsealError } from './seal.ts';
import type { KeyScope, Purpose } from './wrapped-key.ts';

/** Records that are sealed as JSON. */

export async function sealJson(
  keyring: Keyring,
  scope: KeyScope,
  purpose: Purpose,
  place: Place,
  record: object,
): Promise<Uint8Array> {
  const seal = await keyring.sealer(scope, purpose, 1);
  return seal(place, JSON.stringify(record));
}

/** Undefined when somebody changed or moved it in the database. */
export async function openJson<T extends object>(
  keyring: Keyring,
  scope: KeyScope,
  purpose: Purpose,
  place: Place,
  sealed: Uint8Array,
): Promise<T | undefined> {
  try {
    const opened = await keyring.open(scope, purpose, place, sealed);
    const record = JSON.parse(opened.toString('utf8')) as T;
    opened.fill(0);
    return record;
  } catch (error) {
    if (error instanceof UnsealError) return undefined;
    throw error;
  }
}
