import { hash, type KeyObject } from 'node:crypto';
import { type SigningKeys, verifySignature } from '../crypto/signing-key.ts';
import type { Tenant } from '../kernel/environment.ts';

/**
 * A receipt of a deletion: a statement of the vault that a record was removed, which an outsider checks with the vault's
 * public key alone. It refers to the audit record of the deletion. What is signed is a text, so that no second form of
 * the same content exists.
 *
 * A receipt does not contain the id of the record, but a digest of it: a token contains the first and last digits of
 * its card. A holder of the id can compare it.
 */
export type ReceiptKind = 'token' | 'capture' | 'sad';

/** The use under which receipts are signed: a signature of another statement is none of a receipt. */
const USE = 'deletion-receipt';
const FORMAT = 'cardvault deletion receipt 1';

/** The position of the audit record of a deletion. */
export interface ReceiptPosition {
  /** Empty for records of no account. */
  readonly account: string;
  readonly lane: number;
  readonly sequence: number;
  /** SHA-256, hexadecimal, as `audit export` prints it. */
  readonly hash: string;
}

export interface ReceiptStatement {
  /** Identifies the vault: the hash of the first record of its audit log. */
  readonly vault: string;
  readonly kind: ReceiptKind;
  /** Empty when the deletion concerns all accounts of the environment. */
  readonly account: string;
  readonly environment: string;
  /** `digestRecordId`, hexadecimal. */
  readonly record: string;
  /** The parts that were removed. */
  readonly removed: readonly string[];
  /** ISO 8601, as all times here. */
  readonly deleted_at: string;
  /** The hour of expiry of the captures whose sensitive authentication data was removed; null for other kinds. */
  readonly expired_from: string | null;
  readonly expired_to: string | null;
  readonly audit: ReceiptPosition;
  /** Backups made before this time may contain the record, sealed; null when no backup does. */
  readonly backups_before: string | null;
  /** The time at which the last of these backups ends, as the operator stated; null without such a statement. */
  readonly backups_end: string | null;
  /** Ids of backups from before the deletion that the vault has written and that had not ended when it was issued. */
  readonly backups_known: readonly string[];
  readonly issued_at: string;
}

export interface Receipt {
  /** JSON of a `ReceiptStatement`. */
  readonly statement: string;
  readonly keyId: string;
  readonly signature: Uint8Array;
}

/** The parts that a deletion removes, for each kind. */
export const REMOVED_PARTS: Readonly<Record<ReceiptKind, readonly string[]>> = {
  token: ['sealed card number, name and expiry', 'tags', 'fingerprint of the card', 'blind indexes'],
  capture: [
    'sealed card number, name, expiry and additional data',
    'sealed security code and track data',
    'fingerprint of the card',
  ],
  sad: ['key of the sealed security codes and track data'],
};

/** Returns SHA-256 over the vault, the tenant and the id (`token:…`), in hexadecimal. */
export const digestRecordId = (vault: string, { account, environment }: Tenant, id: string): string =>
  hash('sha256', `cardvault record\n${vault}\n${account}\n${environment}\n${id}`);

export async function signReceipt(keys: Pick<SigningKeys, 'sign'>, content: ReceiptStatement): Promise<Receipt> {
  const statement = JSON.stringify(content);
  const { keyId, signature } = await keys.sign(USE, Buffer.from(statement));
  return { statement, keyId, signature };
}

/** Returns the receipt as a file: one JSON object. */
export const formatReceipt = ({ statement, keyId, signature }: Receipt): string =>
  `${JSON.stringify(
    { format: FORMAT, statement, key_id: keyId, signature: Buffer.from(signature).toString('base64') },
    null,
    2,
  )}\n`;

/** Undefined when the text is no receipt in the form of `formatReceipt`. */
export function parseReceipt(text: string): Receipt | undefined {
  const { format, statement, key_id: keyId, signature } = (parseJson(text) ?? {}) as Record<string, unknown>;
  if (format !== FORMAT || typeof statement !== 'string' || typeof keyId !== 'string') return undefined;
  if (typeof signature !== 'string') return undefined;
  return { statement, keyId, signature: Buffer.from(signature, 'base64') };
}

/** Returns the statement of a receipt that this key signed, or why it cannot be trusted. Needs no vault. */
export function openReceipt(
  publicKeys: ReadonlyMap<string, KeyObject>,
  { statement, keyId, signature }: Receipt,
): ReceiptStatement | 'unknown-key' | 'invalid' {
  const key = publicKeys.get(keyId);
  if (key === undefined) return 'unknown-key';
  if (!verifySignature(key, USE, Buffer.from(statement), signature)) return 'invalid';
  // The vault wrote what it signed.
  return JSON.parse(statement) as ReceiptStatement;
}

/** True when the receipt is about the record with this id (`token:…`). */
export const isReceiptOf = ({ vault, account, environment, record }: ReceiptStatement, id: string): boolean =>
  record === digestRecordId(vault, { account, environment } as Tenant, id);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
