import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { LIMITS } from '../src/kernel/limits.ts';

/**
 * Builds the card form. `card-form/dist/form.html` is the document of the form with its script and style inline. With `--release` the
 * script for merchants' pages is added to `card-form/released/` under the name of its content; the files there never change, because
 * pages are pinned to them. Without Vite there is nothing to do, and the service works without a card form.
 */
const root = join(import.meta.dirname, '..');
const folder = join(root, 'card-form');
const NAME_CHARACTERS = 16;

type Vite = typeof import('vite');

/** The sources that a bundle is built from. */
export interface Sources {
  /** The folder `card-form`. */
  readonly folder: string;
  readonly limits: object;
}

const PRESENT: Sources = { folder, limits: LIMITS };

const limitNamed = (limits: object, path: string): unknown =>
  path
    .split('.')
    .slice(1)
    .reduce((value: unknown, name) => (value as Record<string, unknown>)[name], limits);

/** Puts each limit in the place of its name: the table has hundreds, and browsers need a few. */
const inlineLimits = (limits: object) => ({
  name: 'inline-limits',
  transform: (code: string): string =>
    code.replace(/\bLIMITS((?:\.[A-Za-z]+)+)/g, (_, path: string) => JSON.stringify(limitNamed(limits, path))),
});

/**
 * Fails the build when a package becomes a part of the card form. Pages are pinned to its scripts, which run beside card numbers, and
 * the list of licenses of a release names the packages of the console alone.
 */
const refusePackages = {
  name: 'refuse-packages',
  load: (id: string): null => {
    if (id.includes('/node_modules/')) throw new Error(`the card form must contain no package, and imports ${id}`);
    return null;
  },
};

export async function bundle(vite: Vite, entry: string, { folder, limits }: Sources = PRESENT): Promise<string> {
  const built = await vite.build({
    configFile: false,
    logLevel: 'warn',
    plugins: [refusePackages, inlineLimits(limits)],
    root: folder,
    build: {
      write: false,
      target: 'es2022',
      minify: true,
      modulePreload: false,
      lib: { entry: join(folder, entry), formats: ['iife'], name: 'cardvault' },
    },
  });
  const [first] = [built].flat();
  if (first === undefined || !('output' in first)) throw new Error('the bundle has no output');
  return first.output[0].code;
}

/** Returns the script for merchants' pages. */
export const buildScript = (vite: Vite): Promise<string> => bundle(vite, 'script/global.ts');

/** Returns the document of the form, with the placeholder `%ORIGINS%`. */
export async function buildDocument(vite: Vite, sources: Sources = PRESENT): Promise<string> {
  const script = await bundle(vite, 'form/form.ts', sources);
  const { folder } = sources;
  const style = readFileSync(join(folder, 'form', 'style.css'), 'utf8').replace(/\s+/g, ' ');
  const html = readFileSync(join(folder, 'form', 'document.template'), 'utf8');
  // Functions, because a replacement text would be searched for patterns such as $&.
  return html.replace('%STYLE%', () => style).replace('%SCRIPT%', () => script.replaceAll('</script', '<\\/script'));
}

export const nameOf = (script: string): string =>
  `cardvault-${createHash('sha256').update(script).digest('base64url').slice(0, NAME_CHARACTERS)}.js`;

function release(script: string): void {
  const released = join(folder, 'released');
  mkdirSync(released, { recursive: true });
  const name = nameOf(script);
  if (!existsSync(join(released, name))) writeFileSync(join(released, name), script);
  writeFileSync(join(released, 'present.json'), `${JSON.stringify({ script: name })}\n`);
}

/** True when this file was started, and not imported by a test. */
if (process.argv[1] !== undefined && resolve(process.argv[1]) === import.meta.filename) {
  process.env['NODE_ENV'] = 'production';
  const vite = await import('vite').catch(() => undefined);
  if (vite !== undefined) {
    mkdirSync(join(folder, 'dist'), { recursive: true });
    writeFileSync(join(folder, 'dist', 'form.html'), await buildDocument(vite));
    if (process.argv.includes('--release')) release(await buildScript(vite));
  }
}
