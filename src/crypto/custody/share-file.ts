import { LIMITS } from '../../kernel/limits.ts';
import { CustodyError } from '../custody.ts';
import { SHARE_BYTES } from './custodians-file.ts';

/**
 * The file of a custodian: an armored age file for the custodian's recipient or passphrase, which the tool `age` opens as
 * well. It contains one JSON object: `cardvault` (`root-key-share`), `format` (1), `ceremony`, `index`, `custodian`,
 * `shares`, `threshold` and `share` in base64.
 */
export interface Share {
  readonly ceremony: string;
  readonly index: number;
  readonly custodian: string;
  readonly shares: number;
  readonly threshold: number;
  /** The caller clears it. */
  readonly share: Uint8Array;
}

/** The key that a share is sealed for. */
export type ShareKey =
  | { readonly kind: 'recipient'; readonly recipient: string }
  | { readonly kind: 'passphrase'; readonly passphrase: string; readonly scryptLogN?: number };

/** Opens a share: identities of the age format, or a passphrase. */
export interface ShareOpener {
  readonly identities?: readonly string[];
  readonly passphrase?: string;
}

const FORMAT = 1;

export const formatShare = ({ share, ...rest }: Share): Buffer =>
  Buffer.from(
    JSON.stringify({
      cardvault: 'root-key-share',
      format: FORMAT,
      ...rest,
      share: Buffer.from(share).toString('base64'),
    }),
  );

/** True for a recipient that age can encrypt for. */
export async function isRecipient(text: string): Promise<boolean> {
  const { Encrypter } = await import('age-encryption');
  try {
    new Encrypter().addRecipient(text);
    return true;
  } catch {
    return false;
  }
}

/** Seals the text of a share. */
export async function sealShareFile(text: Uint8Array, key: ShareKey): Promise<string> {
  const { armor, Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  if (key.kind === 'recipient') encrypter.addRecipient(key.recipient);
  else {
    encrypter.setPassphrase(key.passphrase);
    if (key.scryptLogN !== undefined) encrypter.setScryptWorkFactor(key.scryptLogN);
  }
  return armor.encode(await encrypter.encrypt(Uint8Array.from(text)));
}

/** True when the file was sealed with a passphrase, and not for recipients. Throws `CustodyError`. */
export function needsPassphrase(content: string, path: string): Promise<boolean> {
  return decodeArmor(content, path).then((file) =>
    /^age-encryption\.org\/v1\n-> scrypt /.test(Buffer.from(file.subarray(0, 64)).toString('latin1')),
  );
}

async function decodeArmor(content: string, path: string): Promise<Uint8Array> {
  const { armor } = await import('age-encryption');
  try {
    return armor.decode(content);
  } catch {
    throw new CustodyError(`${path} is no share file: expected an armored age file`);
  }
}

/** Opens a share file. `path` names it in errors. Throws `CustodyError`, which never repeats what opens it. */
export async function openShareFile(content: string, opener: ShareOpener, path: string): Promise<Share> {
  const file = await decodeArmor(content, path);
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  let text: Uint8Array;
  try {
    for (const identity of opener.identities ?? []) decrypter.addIdentity(identity);
    if (opener.passphrase !== undefined) decrypter.addPassphrase(opener.passphrase);
    text = await decrypter.decrypt(file);
  } catch {
    const what = opener.passphrase === undefined ? 'the identity' : 'the passphrase';
    throw new CustodyError(`${what} does not open ${path}: it is of another custodian, or the file was changed`);
  }
  try {
    return parseShare(text, path);
  } finally {
    text.fill(0);
  }
}

function parseShare(text: Uint8Array, path: string): Share {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(Buffer.from(text).toString('utf8')) ?? {};
  } catch {
    value = {};
  }
  const { ceremony, index, custodian, shares, threshold, share } = value;
  const isShare =
    value['cardvault'] === 'root-key-share' &&
    value['format'] === FORMAT &&
    typeof ceremony === 'string' &&
    typeof custodian === 'string' &&
    typeof share === 'string' &&
    [index, shares, threshold].every(isSmallNumber);
  const bytes = isShare ? Buffer.from(share, 'base64') : undefined;
  if (!isShare || bytes?.length !== SHARE_BYTES) throw new CustodyError(`${path} contains no share of a root key`);
  return {
    ceremony,
    custodian,
    index: index as number,
    shares: shares as number,
    threshold: threshold as number,
    share: Uint8Array.from(bytes),
  };
}

const isSmallNumber = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= LIMITS.custodyShares.max;
