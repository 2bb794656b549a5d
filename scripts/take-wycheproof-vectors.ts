import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Writes the part of the vectors of Project Wycheproof that `test/wycheproof.test.ts` runs:
 *
 *     node bin/cardvault.mjs --run scripts/take-wycheproof-vectors.ts CHECKOUT COMMIT
 *
 * Hexadecimal members become base64, members without use are dropped, and each vector is a line.
 */
const [checkout = '', commit = ''] = process.argv.slice(2);
if (!/^[0-9a-f]{40}$/.test(commit)) throw new Error('expected the folder of a checkout, and its commit');

const TARGET = join(import.meta.dirname, '..', 'test', 'vectors', 'wycheproof');

interface Vector {
  readonly [member: string]: unknown;
}

interface Group {
  readonly tests: readonly Vector[];
  readonly [member: string]: unknown;
}

interface Selection {
  /** Members of a group; those in `bytes` are hexadecimal. */
  readonly group: readonly string[];
  readonly bytes: readonly string[];
  readonly isUsed?: (vector: Vector, group: Group) => boolean;
}

const AEAD = ['key', 'iv', 'aad', 'msg', 'ct', 'tag'];
const hasSizes = ({ ivSize, tagSize }: Group): boolean => ivSize === 96 && tagSize === 128;
/** Flags of X25519: results that are no secret, and special values of both keys. */
const X25519_FLAGS = ['EdgeCasePrivateKey', 'EdgeCaseShared', 'Ktv', 'Normal', 'SmallPublicKey', 'ZeroSharedSecret'];

const SELECTIONS: Readonly<Record<string, Selection>> = {
  aes_gcm: { group: ['keySize'], bytes: AEAD, isUsed: (_, group) => hasSizes(group) && group['keySize'] !== 192 },
  // A payload of the age format has no associated data.
  chacha20_poly1305: { group: [], bytes: AEAD, isUsed: ({ aad }, group) => hasSizes(group) && aad === '' },
  hmac_sha256: { group: ['tagSize'], bytes: ['key', 'msg', 'tag'] },
  ecdsa_secp256r1_sha256: { group: ['publicKeyDer'], bytes: ['publicKeyDer', 'msg', 'sig'] },
  ed25519: { group: ['publicKeyDer'], bytes: ['publicKeyDer', 'msg', 'sig'] },
  rsa_signature_2048_sha256: { group: ['publicKeyDer'], bytes: ['publicKeyDer', 'msg', 'sig'] },
  x25519: {
    group: [],
    bytes: ['public', 'private', 'shared'],
    isUsed: ({ flags }) => (flags as readonly string[]).some((flag) => X25519_FLAGS.includes(flag)),
  },
};

const encode = ({ bytes }: Selection, from: Vector, names: readonly string[]): Vector =>
  Object.fromEntries(
    names.map((name) => [
      name,
      bytes.includes(name) ? Buffer.from(String(from[name]), 'hex').toString('base64') : from[name],
    ]),
  );

function formatGroup(selection: Selection, group: Group): string | undefined {
  const used = group.tests.filter((vector) => selection.isUsed?.(vector, group) ?? true);
  if (used.length === 0) return undefined;
  const members = JSON.stringify(encode(selection, group, selection.group)).slice(1, -1);
  const names = ['tcId', 'comment', 'result', ...selection.bytes.filter((name) => !selection.group.includes(name))];
  const lines = used.map((vector) => JSON.stringify(encode(selection, vector, names)));
  return `{${members}${members === '' ? '' : ','}"tests":[\n${lines.join(',\n')}\n]}`;
}

mkdirSync(TARGET, { recursive: true });
for (const [name, selection] of Object.entries(SELECTIONS)) {
  const file = join(checkout, 'testvectors_v1', `${name}_test.json`);
  const { testGroups } = JSON.parse(readFileSync(file, 'utf8')) as { testGroups: readonly Group[] };
  const groups = testGroups.map((group) => formatGroup(selection, group)).filter((group) => group !== undefined);
  const source = JSON.stringify(`github.com/C2SP/wycheproof, commit ${commit}, testvectors_v1/${name}_test.json`);
  const head = `"source":${source},"license":"Apache-2.0","changed":"a selection, in base64"`;
  writeFileSync(join(TARGET, `${name}.json`), `{${head},"testGroups":[\n${groups.join(',\n')}\n]}\n`);
}
