import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { copyFile, listFiles, normalize, run } from './run.ts';
import type { Source } from './source.ts';
import { EXECUTABLE, type Platform } from './tree.ts';

const ARCHITECTURES: Readonly<Record<Platform, string>> = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' };

/** The libraries of the system that the program of Node loads, in the versions whose symbols it names. */
const DEPENDS =
  'adduser, init-system-helpers (>= 1.51), libc6 (>= 2.28), libgcc-s1 (>= 3.4), libstdc++6 (>= 7), util-linux';

/** Returns a semantic version as Debian orders it: a version before a release comes first. */
export const toDebianVersion = (version: string): string => version.replace('-', '~');

export const debianName = ({ version }: Source, platform: Platform): string =>
  `cardvault_${toDebianVersion(version)}_${ARCHITECTURES[platform]}.deb`;

const LIBRARY = 'usr/lib/cardvault';
const DOCUMENTATION = 'usr/share/doc/cardvault';
const SETTINGS = 'etc/cardvault/cardvault.env';
/** Parts of the archive that are documentation. */
const PAGES = ['docs', 'README.md', 'SECURITY.md', 'CHANGELOG.md'];
const MODES: Readonly<Record<string, number>> = {
  ...Object.fromEntries(Object.entries(EXECUTABLE).map(([path, mode]) => [join(LIBRARY, path), mode])),
  'usr/bin/cardvault': 0o755,
  'etc/cardvault': 0o750,
  [SETTINGS]: 0o640,
  ...Object.fromEntries(['postinst', 'prerm', 'postrm'].map((script) => [`DEBIAN/${script}`, 0o755])),
};
/** The weakest compression of xz: the default takes three times as long for a twentieth of the size. */
const COMPRESSION = ['-Zxz', '-z1', '--threads-max=1'];

/** Makes the Debian package from the unpacked archive `tree`, below `work`, and writes it to `out`. */
export function writeDebian(source: Source, platform: Platform, tree: string, work: string, out: string): void {
  const root = join(work, 'debian');
  const deploy = join(tree, 'deploy');
  cpSync(tree, join(root, LIBRARY), { recursive: true });
  mkdirSync(join(root, DOCUMENTATION), { recursive: true });
  for (const page of PAGES) renameSync(join(root, LIBRARY, page), join(root, DOCUMENTATION, page));
  copyFile(join(deploy, 'systemd', 'cardvault'), join(root, 'usr/bin/cardvault'));
  copyFile(join(deploy, 'systemd', 'cardvault.service'), join(root, 'lib/systemd/system/cardvault.service'));
  copyFile(join(deploy, 'systemd', 'cardvault.env'), join(root, SETTINGS));
  writeFileSync(join(root, DOCUMENTATION, 'copyright'), COPYRIGHT);
  writeFileSync(join(root, DOCUMENTATION, 'changelog.gz'), gzipSync(formatChangelog(source), { level: 9 }));
  const installed = listFiles(root);
  for (const script of ['postinst', 'prerm', 'postrm'])
    copyFile(join(deploy, 'debian', script), join(root, 'DEBIAN', script));
  writeFileSync(join(root, 'DEBIAN', 'control'), formatControl(source, platform, root, installed));
  writeFileSync(join(root, 'DEBIAN', 'conffiles'), `/${SETTINGS}\n`);
  writeFileSync(join(root, 'DEBIAN', 'md5sums'), listDigests(root, installed));
  normalize(root, source.seconds, MODES);
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(source.seconds), LC_ALL: 'C' };
  const args = ['--root-owner-group', ...COMPRESSION, '--build', root, join(out, debianName(source, platform))];
  run(work, 'dpkg-deb', args, env);
}

const MAINTAINER = 'The maintainers of cardvault <cardvault@localhost>';
const KIB = 1024;

function formatControl({ version }: Source, platform: Platform, root: string, installed: readonly string[]): string {
  const kibibytes = installed.reduce((sum, path) => sum + Math.ceil(readFileSync(join(root, path)).length / KIB), 0);
  return `${[
    'Package: cardvault',
    `Version: ${toDebianVersion(version)}`,
    `Architecture: ${ARCHITECTURES[platform]}`,
    `Maintainer: ${MAINTAINER}`,
    `Installed-Size: ${kibibytes}`,
    `Depends: ${DEPENDS}`,
    'Recommends: systemd',
    'Section: net',
    'Priority: optional',
    'Description: card vault that merchants run themselves',
    ' cardvault keeps card numbers encrypted and gives tokens for them. It serves',
    ' HTTPS and JSON, takes payments through processors, and has a web console.',
    ' The package contains the Node that it runs on.',
  ].join('\n')}\n`;
}

/** Returns the digests by which `dpkg --verify` finds files that were changed; settings are expected to change. */
const listDigests = (root: string, installed: readonly string[]): string =>
  installed
    .filter((path) => path !== SETTINGS)
    .map(
      (path) =>
        `${createHash('md5')
          .update(readFileSync(join(root, path)))
          .digest('hex')}  ${path}\n`,
    )
    .join('');

const formatChangelog = ({ version, seconds }: Source): string =>
  [
    `cardvault (${toDebianVersion(version)}) stable; urgency=medium`,
    '',
    `  * Release ${version}: see CHANGELOG.md.`,
    '',
    ` -- ${MAINTAINER}  ${new Date(seconds * 1000).toUTCString().replace('GMT', '+0000')}`,
    '',
  ].join('\n');

const COPYRIGHT = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: cardvault

Files: *
Copyright: the authors of cardvault and of the packages in it
License: Apache-2.0 and others
 cardvault is under the Apache License 2.0, see /usr/share/common-licenses/Apache-2.0.
 The licenses of the packages in it, and of Node, are in /usr/lib/cardvault/LICENSES.txt.
`;
