import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { LIMITS } from '../../kernel/limits.ts';
import { CustodyError, ROOT_KEY_BYTES } from '../custody.ts';
import { formatContext, readBytes, type SealedMembers, type Sealing, type SealingContext } from './sealed-file.ts';

/**
 * Sealing with a passphrase: AES-256-GCM with a key that scrypt (RFC 7914) derives. Members of `sealed`: `kdf`
 * (`scrypt`), `n`, `r`, `p`, `salt`, `nonce` and `key` (ciphertext and tag); bytes are in base64.
 */
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const OPTIONS = { authTagLength: TAG_BYTES };

/** Cost of scrypt. It takes `128 * n * r` bytes of memory. */
interface Cost {
  readonly n: number;
  readonly r: number;
  readonly p: number;
}

/** 128 MiB and some 300 ms for each guess (OWASP Password Storage). */
const COST: Cost = { n: 2 ** 17, r: 8, p: 1 };

/** `passphrase`: called for each use; its bytes are cleared. */
export function passphraseSealing(passphrase: () => Promise<Buffer>, cost = COST): Sealing {
  return {
    kind: 'passphrase',
    seal: async (bytes, context) => {
      const secret = await passphrase();
      try {
        if ([...secret.toString('utf8')].length < LIMITS.custodyPassphraseCharactersAtLeast)
          throw new CustodyError(
            `the passphrase of the root key is too short: expected at least ${LIMITS.custodyPassphraseCharactersAtLeast} characters`,
          );
        return await sealWith(secret, cost, bytes, context);
      } finally {
        secret.fill(0);
      }
    },
    open: async (sealed, context) => {
      const stored = readCost(sealed);
      const secret = await passphrase();
      try {
        return await openWith(secret, stored, sealed, context);
      } finally {
        secret.fill(0);
      }
    },
  };
}

async function sealWith(
  secret: Buffer,
  cost: Cost,
  bytes: Uint8Array,
  context: SealingContext,
): Promise<SealedMembers> {
  const salt = randomBytes(SALT_BYTES);
  const nonce = randomBytes(NONCE_BYTES);
  const key = await derive(secret, salt, cost);
  try {
    const cipher = createCipheriv('aes-256-gcm', key, nonce, OPTIONS);
    cipher.setAAD(associatedData(context, cost));
    const sealed = Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
    const encoded = { salt: salt.toString('base64'), nonce: nonce.toString('base64'), key: sealed.toString('base64') };
    return { kdf: 'scrypt', ...cost, ...encoded };
  } finally {
    key.fill(0);
  }
}

async function openWith(
  secret: Buffer,
  cost: Cost,
  sealed: SealedMembers,
  context: SealingContext,
): Promise<Uint8Array> {
  const salt = readBytes(sealed, 'salt', { min: SALT_BYTES, max: SALT_BYTES });
  const nonce = readBytes(sealed, 'nonce', { min: NONCE_BYTES, max: NONCE_BYTES });
  const size = ROOT_KEY_BYTES + TAG_BYTES;
  const bytes = readBytes(sealed, 'key', { min: size, max: size });
  const key = await derive(secret, salt, cost);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, OPTIONS);
    decipher.setAAD(associatedData(context, cost));
    decipher.setAuthTag(bytes.subarray(ROOT_KEY_BYTES));
    const opened = decipher.update(bytes.subarray(0, ROOT_KEY_BYTES));
    try {
      decipher.final();
    } catch {
      opened.fill(0);
      throw new CustodyError('the passphrase does not open the root key file: it is wrong, or the file was changed');
    }
    return opened;
  } finally {
    key.fill(0);
  }
}

/** The cost is authenticated too, although another cost derives another key anyway. */
const associatedData = (context: SealingContext, { n, r, p }: Cost): Buffer =>
  Buffer.from(`${formatContext(context)}, scrypt ${n} ${r} ${p}`);

/** The writer of a file chooses its cost, so it is limited before any work is done. */
function readCost(sealed: SealedMembers): Cost {
  const { kdf, n, r, p } = sealed;
  const numbers = [n, r, p];
  const isCost = numbers.every((number) => typeof number === 'number' && Number.isInteger(number) && number >= 1);
  const [cost = 0, blocks = 0, lanes = 0] = isCost ? (numbers as number[]) : [];
  const isPowerOfTwo = cost > 1 && (cost & (cost - 1)) === 0;
  if (kdf !== 'scrypt' || !isPowerOfTwo || cost * blocks * lanes > LIMITS.custodyScryptWork)
    throw new CustodyError('the sealed root key is damaged: its key derivation is unknown or beyond the limits');
  return { n: cost, r: blocks, p: lanes };
}

const derive = (secret: Buffer, salt: Buffer, { n, r, p }: Cost): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { N: n, r, p, maxmem: 2 * 128 * n * r };
    scrypt(secret, salt, KEY_BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
