import { isAbsolute } from 'node:path';
import type { CustodyKind } from '../custody.ts';
import type { KmsKey } from './aws-kms.ts';
import type { TokenKey } from './pkcs11.ts';

/** A choice of custody as `CARDVAULT_ROOT_KEY` states it. */
export interface ParsedCustody {
  readonly kind: CustodyKind;
  /** The file of the kinds that state one; relative to the data directory. */
  readonly path: string | undefined;
  readonly token: TokenKey | undefined;
  readonly kms: Omit<KmsKey, 'endpoint'> | undefined;
}

/** Files where the setting names none, in the data directory. */
export const DEFAULT_FILES: Readonly<Record<CustodyKind, string>> = {
  file: 'root.key',
  passphrase: 'root.sealed',
  pkcs11: 'root.sealed',
  awskms: 'root.sealed',
  custodians: 'root.sealed',
};

/** The local socket where the setting names none, in the data directory: in a folder of its own. */
export const DEFAULT_SOCKET = 'run/unseal.sock';

/** Returns the choice; undefined when the text is malformed. */
export function parseCustody(text: string): ParsedCustody | undefined {
  const [, kind = '', rest] = /^([a-z0-9]+)(?::(.+))?$/s.exec(text) ?? [];
  const none = { path: undefined, token: undefined, kms: undefined };
  if (kind === 'file' || kind === 'passphrase' || kind === 'custodians') return { ...none, kind, path: rest };
  if (rest === undefined) return undefined;
  if (kind === 'pkcs11') {
    const token = parseToken(rest);
    return token && { ...none, kind, token };
  }
  const kms = kind === 'awskms' ? parseArn(rest) : undefined;
  return kms && { ...none, kind: 'awskms', kms };
}

/** `MODULE?token=LABEL&object=LABEL`, after RFC 7512; labels are percent-encoded. */
function parseToken(text: string): TokenKey | undefined {
  const at = text.indexOf('?');
  const module = text.slice(0, at);
  if (at < 0 || !isAbsolute(module)) return undefined;
  const attributes = new URLSearchParams(text.slice(at + 1));
  const [token, object] = ['token', 'object'].map((name) => attributes.get(name) ?? '');
  const isGood = [...attributes.keys()].every((name) => name === 'token' || name === 'object');
  return isGood && token && object ? { module, token, object } : undefined;
}

const ARN = /^arn:aws[a-z-]*:kms:([a-z0-9-]{1,32}):[0-9]{12}:(key|alias)\/[A-Za-z0-9/_-]{1,256}$/;

/** The ARN of a key or of an alias. */
function parseArn(text: string): Omit<KmsKey, 'endpoint'> | undefined {
  const region = ARN.exec(text)?.[1];
  return region === undefined ? undefined : { arn: text, region };
}
