import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';

/** What may be wrong with what an authenticator says. */
export interface Wrongs {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  /** Was the user verified? */
  readonly verified?: boolean;
  readonly counter?: number;
  /** Whose it says that it is; base64url. */
  readonly user?: string;
  /** It attests with its own key; no mistake. */
  readonly signsItself?: boolean;
  /** Whatever it attests with. */
  readonly attestation?: { readonly fmt: string; readonly attStmt: ReadonlyMap<string, Cbor> };
}

type Cbor = number | string | Uint8Array | readonly Cbor[] | ReadonlyMap<number | string, unknown>;

const NONE = { fmt: 'none', attStmt: new Map<string, Cbor>() };
const FLAGS = { present: 0x01, verified: 0x04, attested: 0x40 };

const base64url = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('base64url');
const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest();

/** CBOR (RFC 8949) of what WebAuthn needs: small numbers, texts, bytes, lists and maps. */
function cbor(value: Cbor): Buffer {
  const head = (major: number, count: number): Buffer => {
    if (count < 24) return Buffer.from([(major << 5) | count]);
    return count < 256
      ? Buffer.from([(major << 5) | 24, count])
      : Buffer.from([(major << 5) | 25, count >> 8, count & 255]);
  };
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (!(value instanceof Map)) {
    const list = value as readonly Cbor[];
    return Buffer.concat([head(4, list.length), ...list.map(cbor)]);
  }
  const entries = [...value].flatMap(([key, each]) => [cbor(key), cbor(each)]);
  return Buffer.concat([head(5, value.size), ...entries]);
}

/** A passkey in software (W3C WebAuthn Level 3, ES256), as a browser would hand its answers over. */
export class Authenticator {
  readonly #origin: string;
  readonly #id = randomBytes(16);
  readonly #keys: { publicKey: KeyObject; privateKey: KeyObject } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  counter = 0;
  /** Of whom it keeps the key, as it was told when it made it; base64url. */
  #user = '';

  constructor(origin: string) {
    this.#origin = origin;
  }

  create({ challenge, rp, user }: PublicKeyCredentialCreationOptionsJSON, wrongs: Wrongs = {}): unknown {
    this.#user = user.id;
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    const [keyX, keyY] = [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')];
    const key = cbor(new Map<number, unknown>([[1, 2], [3, -7], [-1, 1], [-2, keyX], [-3, keyY]])); // biome-ignore format: the COSE key
    const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, this.#id.length]), this.#id, key]);
    const data = this.#data(rp.id ?? '', FLAGS.attested, wrongs, credential);
    const client = this.#client('webauthn.create', challenge, wrongs);
    const { fmt, attStmt } = wrongs.attestation ?? (wrongs.signsItself ? this.#signed(data, client) : NONE);
    const attestation = new Map<string, unknown>([['fmt', fmt], ['attStmt', attStmt], ['authData', data]]); // biome-ignore format: the attestation
    return this.#answer({
      clientDataJSON: base64url(client),
      attestationObject: base64url(cbor(attestation)),
      transports: ['internal'],
    });
  }

  get({ challenge, rpId = '' }: PublicKeyCredentialRequestOptionsJSON, wrongs: Wrongs = {}): unknown {
    const data = this.#data(rpId, 0, wrongs);
    const client = this.#client('webauthn.get', challenge, wrongs);
    return this.#answer({
      clientDataJSON: base64url(client),
      authenticatorData: base64url(data),
      signature: base64url(this.#signature(data, client)),
      userHandle: wrongs.user ?? this.#user,
    });
  }

  /** By its own key, as some authenticators do though nobody asked. */
  #signed(data: Buffer, client: string) {
    const sig = this.#signature(data, client);
    return { fmt: 'packed', attStmt: new Map<string, Cbor>([['alg', -7], ['sig', sig]]) }; // biome-ignore format: the statement
  }

  #signature(data: Buffer, client: string): Buffer {
    return sign('sha256', Buffer.concat([data, sha256(client)]), this.#keys.privateKey);
  }

  #answer(response: object): unknown {
    const id = base64url(this.#id);
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response };
  }

  #client(type: string, challenge: string, wrongs: Wrongs): string {
    const origin = wrongs.origin ?? this.#origin;
    return JSON.stringify({ type, challenge: wrongs.challenge ?? challenge, origin, crossOrigin: false });
  }

  #data(rpId: string, more: number, wrongs: Wrongs, credential = Buffer.alloc(0)): Buffer {
    const flags = FLAGS.present | ((wrongs.verified ?? true) ? FLAGS.verified : 0) | more;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(wrongs.counter ?? this.counter);
    return Buffer.concat([sha256(wrongs.rpId ?? rpId), Buffer.from([flags]), counter, credential]);
  }
}
