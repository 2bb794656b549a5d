import { createHash, type KeyObject } from 'node:crypto';

const digitForms = (digits: string): Buffer[] => {
  const groups = digits.match(/.{1,4}/g) ?? [];
  const packed = Buffer.from(digits.padEnd(digits.length + (digits.length % 2), 'f'), 'hex');
  const integer = Buffer.alloc(8);
  integer.writeBigUInt64BE(BigInt(digits));
  const backwards = Buffer.from(integer).reverse();
  const separated = [' ', '-', '.', '/', '_', ', '].map((sign) => Buffer.from(groups.join(sign)));
  const hashes = ['md5', 'sha1', 'sha256', 'sha512'].flatMap((name) => {
    const digest = createHash(name).update(digits).digest();
    return [digest, Buffer.from(digest.toString('hex'))];
  });
  // SQLite keeps integers in 6 or 8 bytes; the leading byte of a card number is zero.
  return [...separated, packed, integer.subarray(1), backwards.subarray(0, 7), ...hashes];
};

/** What stays the same of a base64 text wherever in it the bytes stand. */
const base64Forms = (bytes: Buffer): Buffer[] =>
  [0, 1, 2].flatMap((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const start = shift === 0 ? 0 : shift + 1;
    const end = Math.floor(((shift + bytes.length) * 8) / 6);
    const inner = text.slice(start, end);
    return [Buffer.from(inner), Buffer.from(inner.replaceAll('+', '-').replaceAll('/', '_'))];
  });

function formsOf(canary: string): Buffer[] {
  const bytes = Buffer.from(canary);
  const wide = Buffer.from(canary, 'utf16le');
  const hex = bytes.toString('hex');
  const texts = [hex, hex.toUpperCase(), encodeURIComponent(canary), JSON.stringify(canary).slice(1, -1)];
  const escaped = [...canary].map((sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
  return [
    bytes,
    wide,
    Buffer.from(wide).swap16(),
    ...[...texts, escaped, canary.toUpperCase()].map((text) => Buffer.from(text)),
    ...base64Forms(bytes),
    ...(/^[0-9]{12,19}$/.test(canary) ? digitForms(canary) : []),
  ];
}

/** An RSA private key in whatever encoding: the numbers that no public key and no certificate holds. */
function privateKeyForms(key: KeyObject): Buffer[] {
  const { n = '', d, p, q, dp, dq, qi } = key.export({ format: 'jwk' });
  const numbers = [d, p, q, dp, dq, qi].map((number) => Buffer.from(number ?? '', 'base64url'));
  // The first lines hold the public modulus, which a certificate holds as well; those after it begin anywhere.
  const publicLines = Math.ceil((Buffer.from(n, 'base64url').length + 64) / 48);
  const lines = (['pkcs8', 'pkcs1'] as const).flatMap((type) =>
    key
      .export({ type, format: 'pem' })
      .toString()
      .split('\n')
      .slice(1 + publicLines, -3),
  );
  const texts = [...lines, ...numbers.map((bytes) => bytes.toString('hex'))];
  return [
    ...numbers.flatMap((bytes) => [bytes, ...base64Forms(bytes)]),
    ...[...texts, ...texts.map((text) => text.toUpperCase())].map((text) => Buffer.from(text)),
  ];
}

/** Finds canaries in bytes, in every form in which a careless program would write them; says which, never where. */
export class Search {
  readonly #forms = new Map<string, Buffer[]>();
  constructor(canaries: readonly string[], privateKeys: readonly KeyObject[] = []) {
    for (const canary of canaries) this.#forms.set(canary, formsOf(canary));
    for (const [index, key] of privateKeys.entries()) this.#forms.set(`private key ${index}`, privateKeyForms(key));
  }
  found(bytes: Buffer): string[] {
    return [...this.#forms].filter(([, forms]) => forms.some((form) => bytes.includes(form))).map(([canary]) => canary);
  }
}
