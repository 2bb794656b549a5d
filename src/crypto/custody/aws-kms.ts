import { CustodyError, ROOT_KEY_BYTES } from '../custody.ts';
import { loadInstalledLibrary } from './installed-library.ts';
import { readBytes, type Sealing, type SealingContext } from './sealed-file.ts';

/**
 * Sealing with a symmetric key of AWS KMS, which never leaves the service. Members of `sealed`: `key_arn` and `key` (the
 * ciphertext of KMS in base64). KMS authenticates the encryption context: `cardvault` (`root-key`), `kind` and
 * `key_check_value`, which a key policy may require. Credentials come from where the official client finds them.
 */
export interface KmsKey {
  readonly arn: string;
  readonly region: string;
  /** Another endpoint than that of the region, such as a VPC endpoint. */
  readonly endpoint: string | undefined;
}

const LIBRARY = '@aws-sdk/client-kms';
const MAX_CIPHERTEXT_BYTES = 6144;

/** The parts of the official client that are used. */
interface KmsClient {
  send(command: unknown): Promise<{ readonly CiphertextBlob?: Uint8Array; readonly Plaintext?: Uint8Array }>;
  destroy(): void;
}

type Newable<T> = new (input: unknown) => T;

export function awsKmsSealing(key: KmsKey, librariesFolder: string | undefined): Sealing {
  const call = async (command: 'EncryptCommand' | 'DecryptCommand', input: object) => {
    const library = await loadInstalledLibrary(LIBRARY, librariesFolder);
    const { region, endpoint } = key;
    const Client = library['KMSClient'] as Newable<KmsClient>;
    const client = new Client({ region, ...(endpoint !== undefined && { endpoint }) });
    try {
      return await client.send(new (library[command] as Newable<object>)({ KeyId: key.arn, ...input }));
    } catch (error) {
      throw new CustodyError(describeKmsError(error, key));
    } finally {
      client.destroy();
    }
  };
  return {
    kind: 'awskms',
    seal: async (bytes, context) => {
      const sent = { Plaintext: Uint8Array.from(bytes), EncryptionContext: toEncryptionContext(context) };
      const { CiphertextBlob: sealed } = await call('EncryptCommand', sent).finally(() => sent.Plaintext.fill(0));
      if (sealed === undefined) throw new CustodyError('AWS KMS returned no ciphertext');
      return { key_arn: key.arn, key: Buffer.from(sealed).toString('base64') };
    },
    open: async (sealed, context) => {
      const CiphertextBlob = readBytes(sealed, 'key', { min: 1, max: MAX_CIPHERTEXT_BYTES });
      const { Plaintext: bytes } = await call('DecryptCommand', {
        CiphertextBlob,
        EncryptionContext: toEncryptionContext(context),
      });
      if (bytes?.length !== ROOT_KEY_BYTES)
        throw new CustodyError('AWS KMS returned another plaintext than a root key');
      return bytes;
    },
  };
}

const toEncryptionContext = ({ kind, keyCheckValue }: SealingContext) => ({
  cardvault: 'root-key',
  kind,
  key_check_value: keyCheckValue,
});

/** The name of the error alone: its message may quote the request. */
function describeKmsError(error: unknown, { arn }: KmsKey): string {
  const { name, code } = error as { name?: string; code?: string };
  const known = /^[A-Za-z]{1,64}$/.test(name ?? '') ? name : 'unknown';
  const reason = /^E[A-Z_]{1,32}$/.test(code ?? '') ? `${known} ${code}` : known;
  return `AWS KMS did not use the key ${arn} (${reason}): check the credentials, the key policy and the network`;
}
