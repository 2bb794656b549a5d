import { type KeyObject, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { LIMITS } from '../../kernel/limits.ts';
import { CustodyError, keyCheckValue } from '../custody.ts';
import {
  type Ceremony,
  type Custodian,
  custodiansSealing,
  IDENTITY_BYTES,
  importIdentity,
  shareCheckValue,
} from './custodians-file.ts';
import { sealRootKey } from './sealed-file.ts';
import { formatShare, openShareFile, type ShareKey, sealShareFile } from './share-file.ts';

/** A custodian who will get a share, sealed for `key`. */
export interface NewCustodian {
  readonly name: string;
  /** A recipient of the age format, or a passphrase. */
  readonly key: ShareKey;
}

/** The result of a ceremony. Nothing is written yet. */
export interface HeldCeremony {
  readonly ceremony: Ceremony;
  readonly keyCheckValue: string;
  /** The content of the root key file. */
  readonly rootKeyFile: string;
  /** Sealed shares, in the order of the custodians. */
  readonly shareFiles: readonly { readonly custodian: Custodian; readonly content: string }[];
}

const CEREMONY_ID_BYTES = 8;

/** A mistake in the numbers or files of a ceremony. */
class CeremonyError extends CustodyError {
  override readonly name = 'CeremonyError';
  override readonly isUsageError = true;
}

/** Throws `CustodyError` when shares and threshold do not fit together. */
export function assertShares(shares: number, threshold: number): void {
  const { min, max } = LIMITS.custodyShares;
  if (shares < min || shares > max) throw new CeremonyError(`--shares: expected ${min} to ${max}`);
  if (threshold < min || threshold > shares)
    throw new CeremonyError(`--threshold: expected ${min} to the number of shares, which is ${shares}`);
}

/**
 * Splits custody of a root key among custodians. The identity and the shares are cleared before it resolves; a share that
 * was sealed with a passphrase is opened again first, because a wrong one would be noticed when it is needed.
 */
export async function holdCeremony(
  root: KeyObject,
  custodians: readonly NewCustodian[],
  threshold: number,
): Promise<HeldCeremony> {
  assertShares(custodians.length, threshold);
  const [{ split }, { identityToRecipient }] = await Promise.all([
    import('shamir-secret-sharing'),
    import('age-encryption'),
  ]);
  const identity = Uint8Array.from(randomBytes(IDENTITY_BYTES));
  let shares: Uint8Array[] = [];
  try {
    shares = await split(identity, custodians.length, threshold);
    const id = randomBytes(CEREMONY_ID_BYTES).toString('hex');
    const key = await importIdentity(identity);
    const list = custodians.map(({ name }, at): Custodian => {
      const index = at + 1;
      return { index, name, check: shareCheckValue(id, index, shares[at] as Uint8Array) };
    });
    const ceremony: Ceremony = { id, threshold, custodians: list, recipient: await identityToRecipient(key) };
    const rootKeyFile = await sealRootKey(root, custodiansSealing(ceremony, key));
    const shareFiles = [];
    for (const [at, custodian] of list.entries()) {
      const { key: shareKey } = custodians[at] as NewCustodian;
      shareFiles.push({ custodian, content: await sealShare(ceremony, custodian, shares[at] as Uint8Array, shareKey) });
    }
    return { ceremony, keyCheckValue: keyCheckValue(root), rootKeyFile, shareFiles };
  } finally {
    identity.fill(0);
    for (const share of shares) share.fill(0);
  }
}

async function sealShare(ceremony: Ceremony, custodian: Custodian, share: Uint8Array, key: ShareKey): Promise<string> {
  const { id, threshold, custodians } = ceremony;
  const { index, name } = custodian;
  const text = formatShare({ ceremony: id, index, custodian: name, shares: custodians.length, threshold, share });
  const content = await sealShareFile(text, key);
  text.fill(0);
  if (key.kind === 'passphrase') {
    const opened = await openShareFile(content, { passphrase: key.passphrase }, name);
    opened.share.fill(0);
  }
  return content;
}

/** Throws `CustodyError` when one of the files that a ceremony writes exists already. */
export function assertNoFiles(paths: readonly string[]): void {
  for (const path of paths)
    if (existsSync(path)) throw new CeremonyError(`${path} exists already; move the files of another ceremony first`);
}
