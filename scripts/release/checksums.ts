import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Of } from './node-binary.ts';
import type { defineBuild, Subject } from './provenance.ts';
import { run } from './run.ts';
import type { Source } from './source.ts';

export const CHECKSUMS = 'SHA256SUMS';
/** The purpose that a signature is bound to, so that it cannot stand for another. */
export const NAMESPACE = 'cardvault-release';

/**
 * Writes the digests of all files of a version in the folder, also of those for other platforms, and signs them with the private
 * key when the releaser names one. `ssh-keygen` asks for its passphrase.
 */
export function writeChecksums(
  folder: string,
  isOfVersion: (name: string) => boolean,
  source: Pick<Source, 'commit' | 'hasChanges'>,
  key: string | undefined,
): void {
  const names = readdirSync(folder).filter(isOfVersion).sort();
  const file = join(folder, CHECKSUMS);
  rmSync(`${file}.sig`, { force: true });
  if (key !== undefined) assertMadeFrom(source, folder, names);
  writeFileSync(file, names.map((name) => `${sha256Of(join(folder, name))}  ${name}\n`).join(''));
  if (key !== undefined) run(folder, 'ssh-keygen', ['-Y', 'sign', '-f', key, '-n', NAMESPACE, CHECKSUMS]);
}

interface Statement {
  readonly subject: readonly { readonly name: string; readonly digest: Pick<Subject, 'sha256'> }[];
  readonly predicate: { readonly buildDefinition: ReturnType<typeof defineBuild> };
}

const PACKAGE = /\.(tgz|deb)$/;
const PROVENANCE = '.provenance.json';

/**
 * Throws for a package that has no provenance from this source: one signature covers all packages of the folder, and an earlier
 * trial may be among them.
 */
export function assertMadeFrom(
  { commit, hasChanges }: Pick<Source, 'commit' | 'hasChanges'>,
  folder: string,
  names: readonly string[],
): void {
  const made = new Set<string>();
  for (const name of names.filter((each) => each.endsWith(PROVENANCE))) {
    const { subject, predicate } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Statement;
    const { resolvedDependencies, internalParameters } = predicate.buildDefinition;
    const isFromCommit = resolvedDependencies.some(
      ({ digest }) => 'gitCommit' in digest && digest.gitCommit === commit,
    );
    if (!isFromCommit || internalParameters.filesDifferFromCommit !== hasChanges) continue;
    for (const each of subject) made.add(`${each.digest.sha256} ${each.name}`);
  }
  const foreign = names.find((name) => PACKAGE.test(name) && !made.has(`${sha256Of(join(folder, name))} ${name}`));
  if (foreign !== undefined)
    throw new Error(`${foreign} was made from other files, and is not signed: make it again, or remove it`);
}
