import { relative } from 'node:path';
import type { Custody, CustodyKind } from '../custody.ts';
import { resolveGroupId } from '../group-access.ts';
import { awsKmsSealing, type KmsKey } from './aws-kms.ts';
import { custodiansCustody, type UnsealedSource } from './custodians-file.ts';
import { keyFileCustody } from './key-file.ts';
import { fetchRootKeys, type SocketPlace, sendNextRootKey } from './local-socket.ts';
import { passphraseSealing } from './passphrase.ts';
import { pkcs11Sealing, type TokenKey } from './pkcs11.ts';
import { sealedFileCustody } from './sealed-file.ts';
import { type AskSecret, readSecret, type SecretSource } from './secret-source.ts';

/** The custody that the settings choose. */
export interface CustodyOptions {
  readonly kind: CustodyKind;
  /** The absolute path of the file with the root key, or with the sealed one. */
  readonly file: string;
  /** Name or number of the group whose members may read the file; undefined: only its owner. */
  readonly group: string | undefined;
  /** A file with the passphrase of the root key, or the PIN of the token. */
  readonly secretFile: string | undefined;
  /** Folder of the credentials that systemd gives the service. */
  readonly credentialsFolder: string | undefined;
  /** The key that seals, in a token. */
  readonly token: TokenKey | undefined;
  /** The key that seals, in AWS KMS. */
  readonly kms: KmsKey | undefined;
  /** The folder below which the operator installed the libraries of a kind; undefined: where cardvault is installed. */
  readonly librariesFolder: string | undefined;
  /** The absolute path of the local socket. */
  readonly socket: string;
}

const SECRET_SETTING = 'CARDVAULT_ROOT_KEY_PASSPHRASE_FILE';

/** Returns the socket by which commands reach the unsealed node. */
export const socketPlaceOf = ({ socket, group }: CustodyOptions): SocketPlace => ({
  path: socket,
  group: groupIdOf(group),
});

/** Returns the number of the group, if there is one. Throws when it does not exist. */
export const groupIdOf = (group: string | undefined): number | undefined =>
  group === undefined ? undefined : resolveGroupId(group);

/** True for a root key in clear in this folder, also when the database is elsewhere. */
export const isKeyInClearIn = (folder: string, { kind, file }: CustodyOptions): boolean =>
  kind === 'file' && !relative(folder, file).startsWith('..');

/** Returns the custody that the settings chose. `ask`: asks the operator where no file contains a secret. */
export function openCustody(options: CustodyOptions, ask?: AskSecret): Custody {
  const { kind, file } = options;
  const group = groupIdOf(options.group);
  const secret = (what: string, credential: string) => (): Promise<Buffer> =>
    readSecret(toSource(options, what, credential), ask);
  if (kind === 'file') return keyFileCustody(file, group);
  if (kind === 'passphrase') {
    const passphrase = secret('the passphrase of the root key', 'cardvault-root-key-passphrase');
    return sealedFileCustody(file, passphraseSealing(passphrase), group);
  }
  const libraries = options.librariesFolder;
  if (kind === 'pkcs11') {
    const pin = secret('the PIN of the token', 'cardvault-root-key-pin');
    return sealedFileCustody(file, pkcs11Sealing(options.token as TokenKey, pin, libraries), group);
  }
  if (kind === 'awskms') return sealedFileCustody(file, awsKmsSealing(options.kms as KmsKey, libraries), group);
  const place = socketPlaceOf(options);
  const source: UnsealedSource = {
    open: () => fetchRootKeys(place),
    replaceRootKey: (next) => sendNextRootKey(place, next),
  };
  return custodiansCustody(file, source, group);
}

const toSource = (options: CustodyOptions, what: string, credential: string): SecretSource => ({
  what,
  setting: SECRET_SETTING,
  file: options.secretFile,
  credentialsFolder: options.credentialsFolder,
  credential,
});
