import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip as gzipCompress, type ZlibOptions } from 'node:zlib';
import type { Plugin } from 'vite';

/**
 * Builds the console that browsers load: console/web/ becomes console/web/dist, with the compressed forms of its texts beside them.
 * Run by `npm ci`, where it must never be in the way: without Vite (`npm ci --omit=dev`) there is nothing to do, and the
 * service works without a console.
 */
const root = join(import.meta.dirname, '..');
const web = join(root, 'console', 'web');
const dist = join(web, 'dist');
/** Says what a build was made from, so that the same is not built twice. */
const STAMP = '.made-from';
const TEXT = new Set(['.js', '.css', '.svg', '.json']);
/** Below it, compressing gains nothing. */
const WORTH_BYTES = 512;
/** Two more would save 7 % of the bytes, and take eight times as long. */
const BROTLI_QUALITY = 9;

const brotliCompressed = promisify(brotliCompress);
const gzipped = promisify<Buffer, ZlibOptions, Buffer>(gzipCompress);

const say = (line: string): boolean => process.stdout.write(`console: ${line}\n`);
const filesIn = (folder: string): string[] =>
  globSync('**', { cwd: folder })
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort();

interface Stamp {
  readonly own: string;
  /** Files of the service that the console shares, and documents that it serves. */
  readonly shared: readonly string[];
  readonly others: string;
  /** Folders of the packages whose files are part of the build, for the list of licenses of a release. */
  readonly packages: readonly string[];
}

/** Matches the folder of a package in the path of one of its files, at the innermost `node_modules`. */
const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;

function digestOf(paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths) {
    const file = join(root, path);
    hash.update(`${path}\0`).update(existsSync(file) ? readFileSync(file) : '');
  }
  return hash.digest('hex');
}

function digestOfOwn(): string {
  const own = filesIn(web).filter((path) => !path.startsWith('dist'));
  return digestOf([
    'package-lock.json',
    'scripts/build-console.ts',
    ...own.map((path) => join('console', 'web', path)),
  ]);
}

function isBuilt(): boolean {
  try {
    const { own, shared, others } = JSON.parse(readFileSync(join(dist, STAMP), 'utf8')) as Stamp;
    return own === digestOfOwn() && others === digestOf(shared);
  } catch {
    return false;
  }
}

async function loadVite(): Promise<typeof import('vite') | undefined> {
  try {
    return await import('vite');
  } catch {
    return undefined;
  }
}

async function compress(folder: string): Promise<void> {
  const texts = filesIn(folder).filter((path) => TEXT.has(extname(path)));
  await Promise.all(texts.map((path) => compressFile(join(folder, path))));
}

async function compressFile(file: string): Promise<void> {
  const bytes = readFileSync(file);
  if (bytes.length < WORTH_BYTES) return;
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };
  const [brotli, gzip] = await Promise.all([brotliCompressed(bytes, { params }), gzipped(bytes, { level: 9 })]);
  writeFileSync(`${file}.br`, brotli);
  writeFileSync(`${file}.gz`, gzip);
}

async function build(vite: typeof import('vite')): Promise<void> {
  // A separate folder until it is complete: another process may start from the existing one.
  const made = `${dist}-${process.pid}`;
  mkdirSync(made);
  // Computed before the build reads the sources: a change during the build causes another build the next time.
  const own = digestOfOwn();
  try {
    const configFile = join(web, 'vite.config.ts');
    const shared: string[] = [];
    const packages = new Set<string>();
    const listing: Plugin = {
      name: 'listing',
      buildEnd() {
        const paths = [...this.getModuleIds()].map((id) => relative(root, id));
        shared.push(
          ...paths
            .filter(
              (path) =>
                path.startsWith('src/') ||
                path.startsWith('docs/') ||
                path.startsWith('card-form/') ||
                path.startsWith('examples/') ||
                (path.startsWith('console/') && !path.startsWith('console/web/')),
            )
            .sort(),
        );
        for (const path of paths) packages.add(PACKAGE.exec(path)?.[0] ?? '');
      },
    };
    const settings = { outDir: made, emptyOutDir: false };
    await vite.build({ configFile, configLoader: 'native', logLevel: 'warn', plugins: [listing], build: settings });
    await compress(made);
    packages.delete('');
    const stamp: Stamp = { own, shared, others: digestOf(shared), packages: [...packages].sort() };
    writeFileSync(join(made, STAMP), JSON.stringify(stamp));
    replace(made);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

function replace(made: string): void {
  rmSync(dist, { recursive: true, force: true });
  try {
    renameSync(made, dist);
  } catch (error) {
    // Another may have built the same at the same time.
    if (!isBuilt()) throw error;
  }
}

const began = performance.now();
// Regardless of the shell: libraries contain checks for their developers, which must not reach a browser.
process.env['NODE_ENV'] = 'production';
const isThere = isBuilt();
const vite = isThere ? undefined : await loadVite();
if (isThere) {
  say('built already, from the same sources');
} else if (vite === undefined) {
  const left = existsSync(dist) ? 'the one in console/web/dist is of other sources' : 'the service works without it';
  say(`not built, because Vite is not installed or does not run here; ${left}`);
} else {
  try {
    await build(vite);
    say(`built into console/web/dist in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  } catch (error) {
    say(`not built: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
