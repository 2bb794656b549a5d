import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Of } from './node-binary.ts';
import { run } from './run.ts';

export const CHECKSUMS = 'SHA256SUMS';
/** The purpose that a signature is bound to, so that it cannot stand for another. */
export const NAMESPACE = 'cardvault-release';

/**
 * Writes the digests of all files of a version in the folder, also of those for other platforms, and signs them with the private
 * key when the releaser names one. `ssh-keygen` asks for its passphrase.
 */
export function writeChecksums(folder: string, isOfVersion: (name: string) => boolean, key: string | undefined): void {
  const names = readdirSync(folder).filter(isOfVersion).sort();
  const file = join(folder, CHECKSUMS);
  writeFileSync(file, names.map((name) => `${sha256Of(join(folder, name))}  ${name}\n`).join(''));
  rmSync(`${file}.sig`, { force: true });
  if (key !== undefined) run(folder, 'ssh-keygen', ['-Y', 'sign', '-f', key, '-n', NAMESPACE, CHECKSUMS]);
}
