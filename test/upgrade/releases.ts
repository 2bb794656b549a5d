import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { compareVersions } from '../../scripts/versions.ts';
import type { Migration } from '../../src/storage/database.ts';
import { parseMigration, readMigrations } from '../../src/storage/migrate.ts';
import { VERSION } from '../../src/version.ts';
import { isLong } from '../scope.ts';
import { withCards } from './cards.ts';
import type { ExpectedVault } from './expected-vault.ts';

/**
 * Releases and the vaults that they left. Each has a folder: `program.tgz`, its sources as they were released, with its own
 * lock of dependencies; `vault-sqlite.tgz`, a data directory; `vault-postgres.sql.gz` with `vault-postgres.key`; and what the
 * release has acknowledged, in `expected-….json`. All of it is made by `make-release.ts`. `commit` names the commit that was
 * released, which has the folder in it and is therefore named in a later one.
 */
const ROOT = join(import.meta.dirname, '..', '..');
export const RELEASES = join(ROOT, 'test', 'fixtures', 'releases');
const MIGRATIONS = 'src/storage/migrations';
const INSTALLS_WITHIN_MS = 240_000;

export type DatabaseKind = 'sqlite' | 'postgres';

/** The parts of a program that a release needs without a browser. */
export const PROGRAM = ['bin', 'src', 'console', 'card-form', 'sdk', 'package.json', 'package-lock.json'];

/** Returns true for a file of these parts that the archive has: no test, and nothing that only a browser loads. */
export const isKept = (path: string): boolean =>
  !path.endsWith('.test.ts') && !/^(console|card-form)\/web\/|^card-form\/src\//.test(path);

/** Returns the versions of all releases that have a folder, oldest first. */
export const listReleases = (): string[] =>
  globSync('*/program.tgz', { cwd: RELEASES })
    .map((path) => dirname(path))
    .sort(compareVersions);

/** Returns the versions of all kept releases that the project has moved on from, oldest first. */
export const listFinalReleases = (): string[] =>
  listReleases().filter((release) => compareVersions(release, VERSION) < 0);

/**
 * The reason why a kept release is not tested yet; undefined when it is: a release is final when the version of the project has
 * moved on. Until then the schema may change under it.
 */
export function whyNotFinal(release: string): string | undefined {
  if (compareVersions(release, VERSION) < 0) return undefined;
  if (!isLong) return `${release} is not final: only in npm run test:long`;
  const isSame = isDeepStrictEqual(readReleasedMigrations(release), readMigrations());
  return isSame
    ? undefined
    : `the schema has changed since ${release} was kept, and it is not final: npm run keep-release`;
}

const folderOf = (release: string): string => join(RELEASES, release);

/** Returns the commit that a release was made of. */
export const readCommit = (release: string): string => readFileSync(join(folderOf(release), 'commit'), 'utf8').trim();

/** Returns what the release acknowledged in its vault of this kind, with cards in clear. */
export const readExpected = (release: string, kind: DatabaseKind): ExpectedVault =>
  JSON.parse(withCards(gunzipSync(readFileSync(join(folderOf(release), `expected-${kind}.json.gz`))).toString('utf8')));

/** Returns the migrations of a release, as it was released with them. */
export function readReleasedMigrations(release: string): Migration[] {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-release-'));
  try {
    unpack(join(folderOf(release), 'program.tgz'), folder, MIGRATIONS);
    const files = globSync('*.sql', { cwd: join(folder, MIGRATIONS) }).sort();
    return files.map((file) => parseMigration(file, readFileSync(join(folder, MIGRATIONS, file), 'utf8')));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const tar = (...args: readonly string[]) =>
  spawnSync('tar', [...args], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });

/** Unpacks an archive, or one path of it. */
function unpack(archive: string, folder: string, ...paths: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  const { status, stderr } = tar('-xzf', archive, '-C', folder, '--no-same-owner', ...paths);
  if (status !== 0) throw new Error(`${basename(archive)}: ${stderr}`);
}

/** Unpacks the sources of a release, without its dependencies. */
export const unpackSources = (release: string, folder: string): void =>
  unpack(join(folderOf(release), 'program.tgz'), folder);

/** Unpacks the data directory that the release left over SQLite. */
export const unpackVault = (release: string, folder: string): void =>
  unpack(join(folderOf(release), 'vault-sqlite.tgz'), folder);

/** Returns the statements that make the database that the release left, and the root key of the vault. */
export const readDump = (release: string): { readonly sql: string; readonly rootKey: Buffer } => ({
  sql: gunzipSync(readFileSync(join(folderOf(release), 'vault-postgres.sql.gz'))).toString('utf8'),
  rootKey: readFileSync(join(folderOf(release), 'vault-postgres.key')),
});

/** A program of a release, and the command that starts it. */
export interface ReleasedProgram {
  readonly folder: string;
  readonly bin: string;
}

/**
 * Unpacks the program of a release, with the dependencies of its own lock: those of this project when they are the same,
 * otherwise installed.
 */
export function unpackProgram(release: string, folder: string): ReleasedProgram {
  unpackSources(release, folder);
  provideDependencies(folder);
  return { folder, bin: join(folder, 'bin', 'cardvault.mjs') };
}

/** Gives a program the modules that its lock names, without those of development. */
export function provideDependencies(folder: string): void {
  const modules = join(folder, 'node_modules');
  if (existsSync(modules)) return;
  if (productionOf(folder) === productionOf(ROOT)) {
    symlinkSync(join(ROOT, 'node_modules'), modules);
    return;
  }
  const args = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  const options = { cwd: folder, encoding: 'utf8', timeout: INSTALLS_WITHIN_MS } as const;
  const { status, error, stderr } = spawnSync('npm', args, options);
  if (status === 0) return;
  rmSync(modules, { recursive: true, force: true });
  throw new Error(`npm could not install the dependencies of a release: ${error?.message ?? stderr}`);
}

/** The locked production dependencies, as one text. */
function productionOf(folder: string): string {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string; integrity?: string; dev?: boolean }>;
  };
  const packages = Object.entries(lock.packages).filter(([path, { dev }]) => path.startsWith('node_modules/') && !dev);
  return JSON.stringify(packages.map(([path, { version, integrity }]) => [path, version, integrity]).sort());
}
