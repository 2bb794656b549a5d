import type { KeyObject } from 'node:crypto';
import type { Origin } from '../audit/audit.ts';
import { type Custody, CustodyError, keyCheckValue, ROOT_KEY_BYTES, toRootKey } from '../crypto/custody.ts';
import { type Keyring, type RewrappedKey, WrongRootKeyError } from '../crypto/keyring.ts';
import type { WrappedKey } from '../crypto/wrapped-key.ts';
import type { Transaction, Transactions } from '../idempotency/transaction.ts';
import type { Random } from '../kernel/clock.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import type { Database } from '../storage/database.ts';
import { findRotation, startRotation } from '../storage/key-rotation-store.ts';
import { listKeysByPurpose, lockWrappingKeys, rewrapKey } from '../storage/wrapped-key-store.ts';
import { runWithRootKeyLock } from './root-key-lock.ts';
import { ROOT_OWNER, rootRotated } from './rotation-events.ts';

export interface RootServices {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly transactions: Transactions;
  readonly random: Random;
  readonly custody: Custody;
  /** The root key that opens the database. */
  readonly root: KeyObject;
}

export interface RootRotation {
  /** `prepared`: custody has the next root key, and the database needs it after the next call. */
  readonly state: 'prepared' | 'rotated' | 'rotated-before';
  /** Check values of the root key and of the one that it replaces. */
  readonly checkValue: string;
  readonly previousCheckValue: string;
}

const REPLACED = 'another command replaced the root key meanwhile; repeat this one, on the machine of that one';

/**
 * Replaces the root key: custody stores another one and keeps the present one; then one commit wraps the wrapping keys of
 * all environments under it. Until that commit the database needs the former key, from it on the new one, and a start finds
 * out which: so a crash at any moment is completed by a repeat. A repeat after the commit changes nothing, until
 * `destroyFormerRootKey` has ended the replacement.
 *
 * Two rotations exclude each other on one machine. On several machines with key files of their own, and beside an operator who
 * copies files, custody is read again before the commit.
 */
export async function rotateRootKey(
  services: RootServices,
  origin: Origin,
  { onlyPrepare = false } = {},
): Promise<RootRotation> {
  const { custody } = services;
  const rotate = (): Promise<RootRotation> => rotateLocked(services, origin, onlyPrepare);
  // The node of custodians replaces their file, and locks it meanwhile: an operator of its group may write no file there.
  return custody.kind === 'custodians' ? rotate() : runWithRootKeyLock(custody.file, rotate);
}

async function rotateLocked(services: RootServices, origin: Origin, onlyPrepare: boolean): Promise<RootRotation> {
  const { custody, random, root, keyring, transactions } = services;
  const { root: stored, previous } = await custody.open();
  if (!stored.equals(root) && previous?.equals(root) !== true) throw new OperatorError(REPLACED);
  const present = keyCheckValue(root);
  if (previous !== undefined && keyCheckValue(stored) === present)
    return { state: 'rotated-before', checkValue: present, previousCheckValue: keyCheckValue(previous) };
  const next = previous === undefined ? toRootKey(random.bytes(ROOT_KEY_BYTES)) : stored;
  const checkValues = { checkValue: keyCheckValue(next), previousCheckValue: present };
  if (previous === undefined) await custody.replaceRootKey(next);
  if (onlyPrepare) return { state: 'prepared', ...checkValues };
  await transactions.run({ origin }, (transaction) => rewrap(services, transaction, next, checkValues));
  keyring.replaceRoot(next);
  return { state: 'rotated', ...checkValues };
}

async function rewrap(
  { database, keyring, custody }: RootServices,
  transaction: Transaction,
  next: KeyObject,
  { checkValue, previousCheckValue }: Pick<RootRotation, 'checkValue' | 'previousCheckValue'>,
): Promise<void> {
  const keys = await listKeysByPurpose(database, 'wrapping');
  for (const { row, wrapped } of rewrapUnder(keyring, next, keys)) transaction.write(rewrapKey(row, wrapped));
  transaction.write(lockWrappingKeys(keys.length));
  const version = ((await findRotation(database, ROOT_OWNER))?.version ?? 1) + 1;
  transaction.write(startRotation(ROOT_OWNER, { version, at: transaction.now, finishedAt: transaction.now }));
  transaction.record(rootRotated(version, checkValue, previousCheckValue));
  transaction.scrub();
  await assertInCustody(custody, next);
}

function rewrapUnder(keyring: Keyring, next: KeyObject, keys: readonly WrappedKey[]): readonly RewrappedKey[] {
  try {
    return keyring.rewrapUnder(next, keys);
  } catch (error) {
    throw error instanceof WrongRootKeyError ? new OperatorError(REPLACED) : error;
  }
}

/** Throws unless custody has this root key now: after the commit no other key opens the database. */
async function assertInCustody(custody: Custody, next: KeyObject): Promise<void> {
  const { root } = await custody.open();
  // The next start opens the file, also where this process got the key from the memory of a node.
  if (root.equals(next) && custody.readKeyCheckValue() === keyCheckValue(next)) return;
  throw new CustodyError(
    'custody has another root key than the one that was prepared, and the database still needs the former one; repeat the command',
  );
}
