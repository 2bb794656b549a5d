import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { NON_PAGE_HEADERS } from '../../src/http/browser-headers.ts';
import type { CardFormListener } from '../../src/http/endpoint.ts';
import { type PublicRoute, sendInChunks } from '../../src/http/server.ts';
import type { Random } from '../../src/kernel/clock.ts';
import { Failure } from '../../src/kernel/failure.ts';

/** The files of the web console, in memory: no other file can be requested. */
export interface Assets {
  /** The only page; it contains the placeholder `%NONCE%`. */
  readonly page: string;
  /** Files under /assets/ by name. Names change with the content. */
  readonly named: ReadonlyMap<string, Asset>;
}

interface Asset {
  readonly type: string;
  readonly etag: string;
  /** Variants of the build, best first; the file itself only where it has no compressed ones, which take a third of the memory. */
  readonly variants: readonly { readonly encoding: string | undefined; readonly body: Buffer }[];
  /** The file itself, for a client that takes no compressed variant, as no browser does. Kept from its first use on. */
  decompressed(): Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
};
const ENCODINGS = [
  { encoding: 'br', ending: '.br' },
  { encoding: 'gzip', ending: '.gz' },
];
const HTML = 'text/html; charset=utf-8';
const CACHE_FOREVER = 'public, max-age=31536000, immutable';
const NONCE = '%NONCE%';
const NONCE_BYTES = 16;
const ETAG_CHARACTERS = 22;

/** Browser features that the console does not need, disabled against injected code. */
const DISABLED_FEATURES = [
  'accelerometer',
  'autoplay',
  'camera',
  'clipboard-read',
  'display-capture',
  'encrypted-media',
  'fullscreen',
  'geolocation',
  'gyroscope',
  'hid',
  'identity-credentials-get',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'otp-credentials',
  'payment',
  'picture-in-picture',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'usb',
  'window-management',
  'xr-spatial-tracking',
];
const ALLOWED_FEATURES = ['clipboard-write', 'publickey-credentials-create', 'publickey-credentials-get'];

/** Headers in addition to those of every response. */
const HEADERS = {
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': [
    ...DISABLED_FEATURES.map((name) => `${name}=()`),
    ...ALLOWED_FEATURES.map((name) => `${name}=(self)`),
  ].join(', '),
};

/**
 * Style elements with the nonce are allowed too: the component library adds some. `framed`: the only origin that a page may frame,
 * which is that of the card form.
 */
const contentSecurityPolicy = (nonce?: string, framed?: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${nonce === undefined ? '' : ` 'nonce-${nonce}'`}`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    ...(framed === undefined ? [] : [`frame-src ${framed}`]),
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    // The only policy of the console (console/web/trusted-types.ts).
    'trusted-types default',
  ].join('; ');

const NOT_BUILT_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>cardvault</title>
<h1>cardvault</h1>
<p>The service runs, but its web console was not built. To have it, run <code>npm ci</code> without
<code>--omit=dev</code>, and start the service again.</p>
<p>Everything else works without it.</p>
</html>
`;

/** Reads the files of the build in the folder; undefined without a build. */
export function loadAssets(folder: string): Assets | undefined {
  const index = join(folder, 'index.html');
  if (!existsSync(index)) return undefined;
  return { page: readFileSync(index, 'utf8'), named: readFolder(join(folder, 'assets')) };
}

const readFolder = (folder: string): Map<string, Asset> =>
  new Map(
    readdirSync(folder)
      .filter((name) => TYPES[extname(name)] !== undefined)
      .map((name) => [name, readAsset(join(folder, name))]),
  );

function readAsset(file: string): Asset {
  const body = readFileSync(file);
  const compressed = ENCODINGS.filter(({ ending }) => existsSync(`${file}${ending}`)).map(({ encoding, ending }) => ({
    encoding,
    body: readFileSync(`${file}${ending}`),
  }));
  const digest = createHash('sha256').update(body).digest('base64url').slice(0, ETAG_CHARACTERS);
  const variants = compressed.length === 0 ? [{ encoding: undefined, body }] : compressed;
  let kept: Buffer | undefined;
  const decompressed = (): Buffer => (kept ??= decompress(variants));
  // Weak, because all variants have the same.
  return { type: TYPES[extname(basename(file))] ?? '', etag: `W/"${digest}"`, variants, decompressed };
}

function decompress(variants: Asset['variants']): Buffer {
  const { encoding, body } = variants.at(-1) as Asset['variants'][number];
  return encoding === 'br' ? brotliDecompressSync(body) : gunzipSync(body);
}

/** The parts of the service that a page depends on. The origin of the card form is known once its listener listens. */
interface PageParts {
  readonly random: Random;
  readonly cardForm: Pick<CardFormListener, 'isServed' | 'origin'>;
}

/**
 * Returns the routes of the files and, for every path that starts with one of `pages`, the only page, which then renders the path.
 * Without a build `/` explains how to create one.
 */
export function assetRoutes(
  assets: Assets | undefined,
  pages: readonly string[],
  { random, cardForm }: PageParts,
): PublicRoute[] {
  if (assets === undefined)
    return [toGetRoute('/', (_request, reply) => sendPage(reply, NOT_BUILT_PAGE, contentSecurityPolicy()))];
  const { page, named } = assets;
  const sendIndex = (_request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const nonce = Buffer.from(random.bytes(NONCE_BYTES)).toString('base64url');
    const framed = cardForm.isServed() ? cardForm.origin() : undefined;
    return sendPage(reply, page.replaceAll(NONCE, nonce), contentSecurityPolicy(nonce, framed));
  };
  const paths = pages.flatMap((prefix) => (prefix === '/' ? [prefix] : [prefix, `${prefix}/*`]));
  return [
    ...paths.map((path) => toGetRoute(path, sendIndex)),
    toGetRoute('/assets/:name', (request, reply) => {
      const asset = named.get((request.params as { name: string }).name);
      if (asset === undefined) throw new Failure('unknown_path');
      return sendAsset(request, reply, asset);
    }),
  ];
}

const toGetRoute = (path: string, handle: PublicRoute['handle']): PublicRoute => ({
  method: 'GET',
  path,
  family: 'vault',
  handle,
});

const sendPage = (reply: FastifyReply, body: string, contentSecurityPolicy: string): FastifyReply =>
  reply
    .headers(HEADERS)
    .headers({ 'content-security-policy': contentSecurityPolicy, 'cache-control': 'no-store', 'content-type': HTML })
    .send(body);

function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset): FastifyReply {
  const { headers } = request;
  reply.headers(HEADERS).headers({
    'content-security-policy': contentSecurityPolicy(),
    'cache-control': CACHE_FOREVER,
    etag: asset.etag,
    vary: 'accept-encoding',
  });
  if (listAccepted(headers['if-none-match']).includes(asset.etag)) return reply.code(304).send();
  const accepted = listAccepted(headers['accept-encoding']);
  reply.header('content-type', asset.type);
  const variant = asset.variants.find(({ encoding }) => encoding === undefined || accepted.includes(encoding));
  if (variant?.encoding !== undefined) reply.header('content-encoding', variant.encoding);
  return sendInChunks(reply, variant?.body ?? asset.decompressed());
}

/** Returns the values of a list header, without those with a weight of zero. */
const listAccepted = (list: string | undefined): string[] =>
  (list ?? '')
    .split(',')
    .filter((item) => !/;\s*q=0(\.0*)?\s*$/i.test(item))
    .map((item) => (item.split(';')[0] ?? '').trim());

/** On a developer's own machine the header of strict transport would block browsers from every other http://localhost. */
export function browserHeaders(
  strictTransport: string,
): (request: Pick<FastifyRequest, 'hostname'>) => Readonly<Record<string, string>> {
  const withTransport = { ...NON_PAGE_HEADERS, 'strict-transport-security': strictTransport };
  return ({ hostname }) => (hostname === 'localhost' ? NON_PAGE_HEADERS : withTransport);
}
