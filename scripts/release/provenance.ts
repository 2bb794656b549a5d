import type { NodeBinary } from './node-binary.ts';
import type { Source } from './source.ts';
import type { Platform } from './tree.ts';

/** A file of a release by its digest. */
export interface Subject {
  readonly name: string;
  readonly sha256: string;
}

/**
 * Returns what a release was made from, as the build definition of SLSA provenance (https://slsa.dev/provenance/v1). It names no
 * machine, time or version of npm: they do not change the files.
 */
export const defineBuild = (source: Source, platform: Platform, node: NodeBinary) => ({
  buildType: 'npm run release',
  externalParameters: { version: source.version, platform, sourceDateEpoch: source.seconds },
  internalParameters: { filesDifferFromCommit: source.hasChanges },
  resolvedDependencies: [
    { name: 'source', digest: { gitCommit: source.commit } },
    {
      name: `Node.js ${node.version}`,
      uri: `pkg:npm/${node.name}@${node.version}`,
      digest: { sha512: node.packageSha512 },
      annotations: {
        program: `node_modules/${node.name}/bin/node`,
        programSha256: node.sha256,
        origin: `https://nodejs.org/dist/v${node.version}/node-v${node.version}-${platform}.tar.xz`,
      },
    },
  ],
});

/** Returns the statement about the files of a release (https://in-toto.io/Statement/v1). */
export const stateProvenance = (build: ReturnType<typeof defineBuild>, subjects: readonly Subject[]) => ({
  _type: 'https://in-toto.io/Statement/v1',
  subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
  predicateType: 'https://slsa.dev/provenance/v1',
  predicate: { buildDefinition: build, runDetails: { builder: { id: 'npm run release' } } },
});
