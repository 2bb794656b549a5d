import { createHash } from 'node:crypto';
import type { NodeBinary } from './node-binary.ts';
import { outputOf } from './run.ts';
import type { Source } from './source.ts';
import type { Tree } from './tree.ts';

/** The list of components of a release (CycloneDX 1.5), made by npm from the lock file. */

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly [member: string]: unknown;
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn: readonly string[];
}

interface Bom {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
  readonly [member: string]: unknown;
}

const COMMAND = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
/** The property of a component that states where its code is. */
const PART = 'cardvault:part';

/** Returns the list as JSON. npm names times, its version and the folder in it; they are replaced, so that two builds are equal. */
export function buildSbom(source: Source, tree: Tree, node: NodeBinary): string {
  const all = JSON.parse(outputOf(tree.workshop, 'npm', COMMAND)) as Bom;
  const refOf = ({ name, version }: { name: string; version: string }): string => `${name}@${version}`;
  const parts = new Map(tree.built.map((each) => [refOf(each), 'console']));
  for (const each of tree.loaded) parts.set(refOf(each), 'service');
  const components = all.components
    .filter(({ 'bom-ref': ref }) => parts.has(ref))
    .map((each) => toShipped(each, parts.get(each['bom-ref']) ?? '', node));
  const missing = [...parts.keys()].filter((ref) => !components.some((each) => each['bom-ref'] === ref));
  if (missing.length > 0) throw new Error(`npm sbom did not list ${missing.join(', ')}`);
  const root = { ...all.metadata.component, type: 'application', name: 'cardvault' };
  const refs = new Set([root['bom-ref'], ...parts.keys()]);
  const dependencies = all.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }));
  const content = { components, dependencies };
  const bom = {
    $schema: all['$schema'],
    bomFormat: 'CycloneDX',
    specVersion: all['specVersion'],
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify({ root, ...content }))}`,
    version: 1,
    metadata: {
      timestamp: new Date(source.seconds * 1000).toISOString(),
      lifecycles: [{ phase: 'build' }],
      tools: [{ vendor: 'npm', name: 'cli' }],
      component: root,
    },
    ...content,
  };
  return `${JSON.stringify(bom, undefined, 2)}\n`;
}

/** Packages of the console are dependencies for development, but parts of what is shipped. */
function toShipped(component: Component, part: string, node: NodeBinary): Component {
  const shipped = { ...component, scope: 'required', properties: [{ name: PART, value: part }] };
  return component.name === node.name ? { ...shipped, ...describeRuntime(node) } : shipped;
}

const describeRuntime = ({ name, version, sha256, libraries }: NodeBinary) => ({
  type: 'platform',
  description: `Node.js ${version}`,
  cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
  components: [
    { type: 'file', 'bom-ref': `${name}/bin/node`, name: 'bin/node', hashes: [{ alg: 'SHA-256', content: sha256 }] },
    ...Object.entries(libraries).map(([library, its]) => ({
      type: 'library',
      'bom-ref': `${name}/${library}`,
      name: library,
      version: its,
      purl: `pkg:generic/${encodeURIComponent(library)}@${encodeURIComponent(its)}`,
    })),
  ],
});

/** Returns a UUID of version 8 (RFC 9562) made of the digest of a text. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
