import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { LIMITS } from '../kernel/limits.ts';
import { Cache } from '../storage/cache.ts';

/** The script of the card form for the merchant's page, and the document of the form, in memory. */

/** A file with its compressed forms. */
export interface CardFormFile {
  readonly body: Buffer;
  readonly brotli: Buffer;
  readonly gzip: Buffer;
}

export interface CardFormFiles {
  /** The scripts of all releases by name, `cardvault-HASH.js`. */
  readonly scripts: ReadonlyMap<string, CardFormFile>;
  /** The name of the present one. */
  readonly present: string;
  /** `sha384-…` of the present one (Subresource Integrity). */
  readonly integrity: string;
  /** The document of the form, with the placeholder `%ORIGINS%`; see `createDocuments`. */
  readonly document: string;
  /** `'sha256-…'` of its inline script and style, for the content security policy. */
  readonly scriptHash: string;
  readonly styleHash: string;
}

const SCRIPT_NAME = /^cardvault-[A-Za-z0-9_-]{16}\.js$/;
/** Names the present script among the released ones. */
const PRESENT = 'present.json';

/** Reads the files; undefined when the form was not built. */
export function loadCardFormFiles(folder: string): CardFormFiles | undefined {
  const document = join(folder, 'dist', 'form.html');
  const released = join(folder, 'released');
  if (!existsSync(document) || !existsSync(join(released, PRESENT))) return undefined;
  const scripts = new Map(
    readdirSync(released)
      .filter((name) => SCRIPT_NAME.test(name))
      .map((name) => [name, compress(readFileSync(join(released, name)))] as const),
  );
  const { script: present } = JSON.parse(readFileSync(join(released, PRESENT), 'utf8')) as { script: string };
  const file = scripts.get(present);
  if (file === undefined) return undefined;
  const html = readFileSync(document, 'utf8');
  return {
    scripts,
    present,
    integrity: `sha384-${createHash('sha384').update(file.body).digest('base64')}`,
    document: html,
    scriptHash: hashOfElement(html, 'script'),
    styleHash: hashOfElement(html, 'style'),
  };
}

function hashOfElement(html: string, name: string): string {
  const [, text = ''] = new RegExp(`<${name}>([\\s\\S]*?)</${name}>`).exec(html) ?? [];
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

const compress = (body: Buffer, quality = constants.BROTLI_MAX_QUALITY): CardFormFile => ({
  body,
  brotli: brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }),
  gzip: gzipSync(body, { level: 9 }),
});

/** Takes a millisecond for the document of the form, on the thread that serves it; the highest quality takes 50. */
const DOCUMENT_QUALITY = 5;

/**
 * Returns a function that returns the document of the form for the pages of some origins, or for a session that does not exist. It is
 * compressed once for each set of origins.
 */
export function createDocuments({ document }: CardFormFiles): (origins: readonly string[] | undefined) => CardFormFile {
  const known = new Cache<string, CardFormFile>({
    clock: () => 0,
    max: LIMITS.cachedCardForms,
    ttlMs: Number.POSITIVE_INFINITY,
  });
  return (origins) => {
    const key = origins?.join(' ') ?? 'unknown';
    const found = known.peek(key);
    if (found !== undefined) return found;
    const html = document.replace('%ORIGINS%', origins?.join(' ') ?? '');
    const text = origins === undefined ? html.replace('data-known="true"', 'data-known="false"') : html;
    const file = compress(Buffer.from(text), DOCUMENT_QUALITY);
    known.set(key, file);
    return file;
  };
}

/** Returns the best form that the client accepts (RFC 9110, section 12.5.3). */
export function chooseForm(file: CardFormFile, accepted = ''): { body: Buffer; encoding?: string } {
  if (isAccepted('br', accepted)) return { body: file.brotli, encoding: 'br' };
  return isAccepted('gzip', accepted) ? { body: file.gzip, encoding: 'gzip' } : { body: file.body };
}

/** A weight of 0 excludes an encoding. */
const isAccepted = (encoding: string, accepted: string): boolean =>
  accepted.split(',').some((item) => {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    return name === encoding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
