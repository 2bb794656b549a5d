import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { writeArchive } from './release/archive.ts';
import { CHECKSUMS, writeChecksums } from './release/checksums.ts';
import { debianName, toDebianVersion, writeDebian } from './release/debian.ts';
import { formatLicenses, type LicensedPackage } from './release/licenses.ts';
import { describeNode, sha256Of } from './release/node-binary.ts';
import type { LockedPackage } from './release/packages.ts';
import { defineBuild, stateProvenance } from './release/provenance.ts';
import { normalize } from './release/run.ts';
import { buildSbom } from './release/sbom.ts';
import { describeSource, type Source } from './release/source.ts';
import { buildTree, EXECUTABLE, PLATFORMS, type Platform, type Tree } from './release/tree.ts';

/**
 * Makes a release from the files under version control: the archive of one platform, on request its Debian package, the list of
 * components, the provenance, and the digests of all of them. Two builds of one commit give the same bytes.
 *
 *     npm run release -- [--out FOLDER] [--platform linux-x64|linux-arm64] [--deb] [--key FILE] [--allow-changes]
 */
const root = join(import.meta.dirname, '..');
const OPTIONS = {
  out: { type: 'string', default: 'release' },
  platform: { type: 'string', default: `${process.platform}-${process.arch}` },
  deb: { type: 'boolean', default: false },
  key: { type: 'string' },
  'allow-changes': { type: 'boolean', default: false },
} as const;

const say = (line: string): boolean => process.stdout.write(`${line}\n`);

function parsePlatform(text: string): Platform {
  const platform = PLATFORMS.find((each) => each === text);
  if (platform === undefined) throw new Error(`--platform: expected one of ${PLATFORMS.join(', ')}`);
  return platform;
}

/** Returns all packages of a release, those of the service first. */
function listLicensed({ loaded, built, workshop, production }: Tree): LicensedPackage[] {
  const refOf = ({ name, version }: LockedPackage): string => `${name}@${version}`;
  const refs = new Set(loaded.map(refOf));
  const only = built.filter((each) => !refs.has(refOf(each)));
  return [
    ...loaded.map((each) => ({ ...each, part: 'service' as const, installed: join(production, each.folder) })),
    ...only.map((each) => ({ ...each, part: 'console' as const, installed: join(workshop, each.folder) })),
  ];
}

interface Parts {
  readonly source: Source;
  readonly platform: Platform;
  readonly hasDebian: boolean;
  /** A folder for files that are removed afterwards. */
  readonly work: string;
  readonly out: string;
}

/** Writes the files of a release, and returns their names. */
async function writeRelease({ source, platform, hasDebian, work, out }: Parts): Promise<string[]> {
  const name = `cardvault-${source.version}-${platform}`;
  const tree = buildTree(source, platform, work);
  const node = describeNode(tree);
  const sbom = buildSbom(source, tree, node);
  const build = defineBuild(source, platform, node);
  writeFileSync(join(tree.folder, 'LICENSES.txt'), formatLicenses(listLicensed(tree)));
  writeFileSync(join(tree.folder, 'sbom.cdx.json'), sbom);
  writeFileSync(join(tree.folder, 'provenance.json'), `${JSON.stringify(build, undefined, 2)}\n`);
  normalize(tree.folder, source.seconds, EXECUTABLE);
  mkdirSync(out, { recursive: true });
  await writeArchive(tree.folder, join(out, `${name}.tgz`), source.seconds);
  if (hasDebian) writeDebian(source, platform, tree.folder, work, out);
  writeFileSync(join(out, `${name}.cdx.json`), sbom);
  const packages = [`${name}.tgz`, ...(hasDebian ? [debianName(source, platform)] : [])];
  const subjects = packages.map((each) => ({ name: each, sha256: sha256Of(join(out, each)) }));
  const statement = stateProvenance(build, subjects);
  writeFileSync(join(out, `${name}.provenance.json`), `${JSON.stringify(statement, undefined, 2)}\n`);
  return [...packages, `${name}.cdx.json`, `${name}.provenance.json`];
}

const { values } = parseArgs({ options: OPTIONS });
const platform = parsePlatform(values.platform);
const out = resolve(values.out);
const source = describeSource(root, process.env['SOURCE_DATE_EPOCH']);
if (source.hasChanges && !values['allow-changes'])
  throw new Error('files differ from the commit: commit them, or name --allow-changes for a trial');
const work = realpathSync(mkdtempSync(join(tmpdir(), 'cardvault-release-')));
try {
  const names = await writeRelease({ source, platform, hasDebian: values.deb, work, out });
  const prefixes = [`cardvault-${source.version}-linux-`, `cardvault_${toDebianVersion(source.version)}_`];
  writeChecksums(out, (file) => prefixes.some((prefix) => file.startsWith(prefix)), source, values.key);
  for (const name of [...names, CHECKSUMS]) say(join(out, name));
  if (values.key === undefined) say('not signed: name the private key with --key');
} finally {
  rmSync(work, { recursive: true, force: true });
}
