import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isNode } from './packages.ts';
import type { Tree } from './tree.ts';

/** The Node that a release runs on. */
export interface NodeBinary {
  /** The npm package that contains it. */
  readonly name: string;
  readonly version: string;
  /** SHA-512 of the archive of the package, hexadecimal; the lock file has it, and npm compared it. */
  readonly packageSha512: string;
  /** SHA-256 of the program, hexadecimal. */
  readonly sha256: string;
  /** The libraries inside Node and their versions, as far as the Node that makes the release is of the same version. */
  readonly libraries: Readonly<Record<string, string>>;
}

export const sha256Of = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/** Converts the integrity of a lock file, `sha512-` and Base64, to hexadecimal digits. */
export const sha512Of = (integrity: string): string =>
  Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex');

/** Versions that describe interfaces rather than libraries. */
const NO_LIBRARIES = new Set(['node', 'modules', 'napi', 'unicode', 'cldr', 'tz']);

export function describeNode({ folder, loaded }: Tree): NodeBinary {
  const found = loaded.find(({ name }) => isNode(name));
  if (found === undefined) throw new Error('there is no Node in the release');
  const isRunning = process.versions.node === found.version;
  const libraries = Object.entries(process.versions).filter(
    (each): each is [string, string] => isRunning && each[1] !== undefined && !NO_LIBRARIES.has(each[0]),
  );
  return {
    name: found.name,
    version: found.version,
    packageSha512: sha512Of(found.integrity),
    sha256: sha256Of(join(folder, found.folder, 'bin', 'node')),
    libraries: Object.fromEntries(libraries.sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}
