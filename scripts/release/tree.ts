import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyPackage, isNode, type LockedPackage, listInstalled } from './packages.ts';
import { copyFile, listFiles, run } from './run.ts';
import { copySource, listTracked, type Source } from './source.ts';

/** The folder that an operator unpacks. */
export interface Tree {
  readonly folder: string;
  /** The packages that the service loads. */
  readonly loaded: readonly LockedPackage[];
  /** The packages whose code was built into the files of the console. */
  readonly built: readonly LockedPackage[];
  /** A copy of the checkout with all packages, in which the console was built. */
  readonly workshop: string;
  /** The folder with the installation of the packages that the service loads. */
  readonly production: string;
}

export type Platform = 'linux-x64' | 'linux-arm64';
export const PLATFORMS: readonly Platform[] = ['linux-x64', 'linux-arm64'];

/** Files of the project that are in a release. */
const SHIPPED =
  /^(bin|src|console|card-form\/released|docs|deploy)\/|^(LICENSE|README\.md|SECURITY\.md|CHANGELOG\.md)$/;
const NOT_SHIPPED = /\.test\.ts$|^console\/web\//;
/** Results of the builds. */
const BUILT = ['console/web/dist', 'card-form/dist'];
/** Names what the console was built from, for the next build. */
const STAMP = '.made-from';

export const isShippedSource = (path: string): boolean => SHIPPED.test(path) && !NOT_SHIPPED.test(path);

/** Files that are started. All others of a release cannot be. */
export const EXECUTABLE: Readonly<Record<string, number>> = Object.fromEntries(
  ['bin/cardvault', 'bin/cardvault.mjs', ...PLATFORMS.map((platform) => `node_modules/node-${platform}/bin/node`)].map(
    (path) => [path, 0o755],
  ),
);

/** Without the settings of the npm that started the release, and without NODE_ENV, which would leave out Vite. */
const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_)/.test(name)));

const INSTALL = ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];

/** Builds the tree in `work` from clean installations, which npm compares with the digests of the lock file. */
export function buildTree(source: Source, platform: Platform, work: string): Tree {
  const workshop = join(work, 'workshop');
  copySource(source, workshop);
  run(workshop, 'npm', INSTALL, environment());
  for (const script of ['scripts/build-console.ts', 'scripts/build-card-form.ts'])
    run(workshop, process.execPath, [script], environment());
  const production = installProduction(workshop, platform, join(work, 'production'));
  const loaded = listInstalled(production);
  // Node is an optional package, and npm says nothing of one that it could not fetch.
  if (!loaded.some(({ name }) => name === `node-${platform}`))
    throw new Error(`npm installed no Node for ${platform}: make sure that the registry can be reached, and try again`);
  const folder = join(work, `cardvault-${source.version}`);
  for (const path of listTracked(source).filter(isShippedSource)) copyFile(join(workshop, path), join(folder, path));
  for (const part of BUILT) {
    const paths = listFiles(join(workshop, part)).filter((path) => path !== STAMP);
    if (paths.length === 0) throw new Error(`${part} was not built`);
    for (const path of paths) copyFile(join(workshop, part, path), join(folder, part, path));
  }
  for (const each of loaded) copyPackage(production, folder, each);
  writeFileSync(join(folder, 'package.json'), describePackage(workshop, platform));
  return { folder, loaded, built: listBuilt(workshop), workshop, production };
}

/** Installs what the service loads, for a platform that may be another than this one. Returns the folder. */
function installProduction(workshop: string, platform: Platform, folder: string): string {
  mkdirSync(folder);
  for (const path of ['package.json', 'package-lock.json', '.npmrc', 'sdk/package.json'])
    copyFile(join(workshop, path), join(folder, path));
  const [os = '', cpu = ''] = platform.split('-');
  const args = [...INSTALL, '--omit=dev', '--os', os, '--cpu', cpu, '--libc', 'glibc'];
  run(folder, 'npm', args, environment());
  return folder;
}

/** Returns the packages that Vite built into the console, with Vite and its bundler, whose helper functions are in the files. */
function listBuilt(workshop: string): LockedPackage[] {
  const { packages } = JSON.parse(readFileSync(join(workshop, BUILT[0] ?? '', STAMP), 'utf8')) as {
    packages: string[];
  };
  const folders = new Set([...packages, 'node_modules/vite', 'node_modules/rolldown']);
  return listInstalled(workshop).filter(({ folder }) => folders.has(folder));
}

/** Returns the `package.json` of a release: nothing in it is run, and scanners find the packages that are there. */
function describePackage(workshop: string, platform: Platform): string {
  const own = JSON.parse(readFileSync(join(workshop, 'package.json'), 'utf8')) as Record<string, object>;
  const { name, version, description, license, type, engines, bin, dependencies, optionalDependencies } = own;
  const optional = Object.entries(optionalDependencies ?? {}).filter(
    ([each]) => !isNode(each) || each === `node-${platform}`,
  );
  const kept = { name, version, description, license, private: true, type, engines, bin, dependencies };
  return `${JSON.stringify({ ...kept, optionalDependencies: Object.fromEntries(optional) }, undefined, 2)}\n`;
}
