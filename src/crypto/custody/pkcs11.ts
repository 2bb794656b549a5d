import { randomBytes } from 'node:crypto';
import { CustodyError, ROOT_KEY_BYTES } from '../custody.ts';
import { loadInstalledLibrary } from './installed-library.ts';
import { formatContext, readBytes, type Sealing } from './sealed-file.ts';

/**
 * Sealing with an AES key of a PKCS#11 token that never leaves it: CKM_AES_GCM with the context of the file as associated
 * data. Members of `sealed`: `token` and `object` (labels), `nonce` and `key` (ciphertext and tag); bytes are in base64.
 */
export interface TokenKey {
  /** The absolute path of the module of the token, a shared library. */
  readonly module: string;
  /** Labels of the token and of the key in it. */
  readonly token: string;
  readonly object: string;
}

const LIBRARY = 'pkcs11js';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const TAG_BITS = 8 * TAG_BYTES;
const AES_BYTES = 32;

type Handle = Buffer;

/** The parts of the library that are used. */
interface Module {
  load(path: string): void;
  close(): void;
  C_Initialize(): void;
  C_Finalize(): void;
  C_GetSlotList(tokenPresent: boolean): Handle[];
  C_GetTokenInfo(slot: Handle): { readonly label: string };
  C_OpenSession(slot: Handle, flags: number): Handle;
  C_CloseSession(session: Handle): void;
  C_Login(session: Handle, user: number, pin: string): void;
  C_Logout(session: Handle): void;
  C_FindObjectsInit(session: Handle, template: readonly Attribute[]): void;
  C_FindObjects(session: Handle): Handle | undefined;
  C_FindObjectsFinal(session: Handle): void;
  C_GenerateKey(session: Handle, mechanism: Mechanism, template: readonly Attribute[]): Handle;
  C_EncryptInit(session: Handle, mechanism: Mechanism, key: Handle): void;
  C_Encrypt(session: Handle, data: Buffer, out: Buffer): Buffer;
  C_DecryptInit(session: Handle, mechanism: Mechanism, key: Handle): void;
  C_Decrypt(session: Handle, data: Buffer, out: Buffer): Buffer;
}

interface Attribute {
  readonly type: number;
  readonly value?: number | string | boolean | Buffer;
}

interface Mechanism {
  readonly mechanism: number;
  readonly parameter?: object;
}

interface OpenToken {
  readonly module: Module;
  readonly session: Handle;
  readonly constants: Readonly<Record<string, number>>;
}

export function pkcs11Sealing(key: TokenKey, pin: () => Promise<Buffer>, librariesFolder: string | undefined): Sealing {
  const withToken = async <T>(act: (token: OpenToken) => T): Promise<T> => {
    const library = await loadInstalledLibrary(LIBRARY, librariesFolder);
    const secret = await pin();
    try {
      return useToken(library, key, secret.toString('utf8'), act);
    } finally {
      secret.fill(0);
    }
  };
  return {
    kind: 'pkcs11',
    seal: (bytes, context) =>
      withToken((token) => {
        const handle = findKey(token, key) ?? generateKey(token, key);
        const nonce = randomBytes(NONCE_BYTES);
        token.module.C_EncryptInit(token.session, gcm(token, nonce, formatContext(context)), handle);
        const sealed = token.module.C_Encrypt(
          token.session,
          Buffer.from(bytes),
          Buffer.alloc(ROOT_KEY_BYTES + TAG_BYTES),
        );
        const encoded = { nonce: nonce.toString('base64'), key: sealed.toString('base64') };
        return { token: key.token, object: key.object, ...encoded };
      }),
    open: (sealed, context) => {
      const size = ROOT_KEY_BYTES + TAG_BYTES;
      const nonce = readBytes(sealed, 'nonce', { min: NONCE_BYTES, max: NONCE_BYTES });
      const bytes = readBytes(sealed, 'key', { min: size, max: size });
      return withToken((token) => {
        const handle = findKey(token, key);
        if (handle === undefined)
          throw new CustodyError(`the token ${key.token} has no AES key with the label ${key.object}`);
        token.module.C_DecryptInit(token.session, gcm(token, nonce, formatContext(context)), handle);
        const opened = token.module.C_Decrypt(token.session, bytes, Buffer.alloc(size));
        const root = Uint8Array.from(opened.subarray(0, ROOT_KEY_BYTES));
        opened.fill(0);
        return root;
      });
    },
  };
}

/** Opens the token for one use, so that no session stays logged in. */
function useToken<T>(
  library: Record<string, unknown>,
  { module: path, token: label }: TokenKey,
  pin: string,
  act: (token: OpenToken) => T,
): T {
  const constants = library as Readonly<Record<string, number>>;
  const module = new (library['PKCS11'] as new () => Module)();
  try {
    module.load(path);
  } catch {
    throw new CustodyError(`the PKCS#11 module ${path} cannot be loaded`);
  }
  try {
    module.C_Initialize();
    try {
      const slot = module.C_GetSlotList(true).find((each) => module.C_GetTokenInfo(each).label.trim() === label);
      if (slot === undefined) throw new CustodyError(`the PKCS#11 module has no token with the label ${label}`);
      const flags = (constants['CKF_SERIAL_SESSION'] as number) | (constants['CKF_RW_SESSION'] as number);
      const session = module.C_OpenSession(slot, flags);
      module.C_Login(session, constants['CKU_USER'] as number, pin);
      try {
        return act({ module, session, constants });
      } finally {
        module.C_Logout(session);
        module.C_CloseSession(session);
      }
    } finally {
      module.C_Finalize();
    }
  } catch (error) {
    if (error instanceof CustodyError) throw error;
    // The message is the name of a return value of the standard, such as CKR_PIN_INCORRECT.
    const { message } = error as Error;
    const reason = /\bCKR_[A-Z_0-9]+\b/.exec(message)?.[0] ?? 'unknown error';
    throw new CustodyError(`the token ${label} did not open the root key (${reason})`);
  } finally {
    module.close();
  }
}

const nameOf = ({ constants }: OpenToken, name: string): number => constants[name] as number;

function findKey(token: OpenToken, { object }: TokenKey): Handle | undefined {
  const { module, session } = token;
  module.C_FindObjectsInit(session, [
    { type: nameOf(token, 'CKA_CLASS'), value: nameOf(token, 'CKO_SECRET_KEY') },
    { type: nameOf(token, 'CKA_KEY_TYPE'), value: nameOf(token, 'CKK_AES') },
    { type: nameOf(token, 'CKA_LABEL'), value: object },
  ]);
  try {
    return module.C_FindObjects(session) ?? undefined;
  } finally {
    module.C_FindObjectsFinal(session);
  }
}

/** Generates the key in the token: sensitive and not extractable, so that no one can read it, the operator included. */
function generateKey(token: OpenToken, { object }: TokenKey): Handle {
  const is = (name: string, value: number | string | boolean): Attribute => ({ type: nameOf(token, name), value });
  return token.module.C_GenerateKey(token.session, { mechanism: nameOf(token, 'CKM_AES_KEY_GEN') }, [
    is('CKA_CLASS', nameOf(token, 'CKO_SECRET_KEY')),
    is('CKA_KEY_TYPE', nameOf(token, 'CKK_AES')),
    is('CKA_LABEL', object),
    is('CKA_TOKEN', true),
    is('CKA_PRIVATE', true),
    is('CKA_SENSITIVE', true),
    is('CKA_EXTRACTABLE', false),
    is('CKA_ENCRYPT', true),
    is('CKA_DECRYPT', true),
    is('CKA_VALUE_LEN', AES_BYTES),
  ]);
}

const gcm = (token: OpenToken, nonce: Buffer, context: string): Mechanism => ({
  mechanism: nameOf(token, 'CKM_AES_GCM'),
  parameter: {
    type: nameOf(token, 'CK_PARAMS_AES_GCM'),
    iv: nonce,
    aad: Buffer.from(context),
    tagBits: TAG_BITS,
  },
});
