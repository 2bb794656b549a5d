import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { systemRandom } from '../../src/crypto/random.ts';
import { openLog } from '../../src/http/log.ts';
import { Metrics, NO_WRITES } from '../../src/http/metrics.ts';
import { addPublicRoutes, createBaseServer } from '../../src/http/server.ts';
import { type Assets, assetRoutes, browserHeaders, loadAssets } from './assets.ts';

const SCRIPT = 'export const console = "x";';

describe('assets', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-assets-'));
  const dist = join(folder, 'dist');
  const random = systemRandom();

  let isFormServed = false;
  const cardForm = { isServed: () => isFormServed, origin: () => 'https://cards.example:8446' };

  const serverOf = (built: string) => serving(loadAssets(built));

  const serving = (assets: Assets | undefined) => {
    const log = openLog('error', () => Date.now(), { write: () => undefined });
    const metrics = new Metrics(() => NO_WRITES);
    const headers = browserHeaders('max-age=31536000');
    const reporting = { log, metrics, listener: 'console', headers, stopwatch: () => 0 };
    const app = createBaseServer({ ...reporting, random, trustedProxies: [] });
    addPublicRoutes(app, assetRoutes(assets, ['/', '/sign-in', '/accounts'], { random, cardForm }), reporting);
    return app;
  };

  before(() => {
    mkdirSync(join(dist, 'assets'), { recursive: true });
    const files = {
      'index.html': '<meta name="style-nonce" content="%NONCE%">',
      'assets/icon-3.svg': '<svg/>',
      '.made-from': 'secret',
      'assets/index-1.js': SCRIPT,
      'assets/index-1.js.gz': gzipSync(SCRIPT),
      'assets/index-1.js.br': 'as brotli',
      'assets/index-1.js.map': '{}',
      'assets/inter-2.woff2': 'font',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dist, name), text);
    writeFileSync(join(folder, 'root.key'), 'secret');
  });
  after(() => rmSync(folder, { recursive: true }));

  it('responds to every path of a page with the page, and to no other path', async () => {
    const app = serverOf(dist);
    for (const url of ['/', '/?a=1', '/sign-in', '/sign-in/', '/accounts', '/accounts/acc_1/keys']) {
      const { statusCode, headers } = await app.inject({ url });
      assert.equal(statusCode, 200, url);
      assert.equal(headers['content-type'], 'text/html; charset=utf-8');
      assert.equal(headers['cache-control'], 'no-store');
    }
    for (const url of ['/index.html', '/sign-inside', '/elsewhere', '/elsewhere/accounts'])
      assert.equal((await app.inject({ url })).statusCode, 404, url);
  });

  it('gives each page a new nonce, in the page and in its policy', async () => {
    const app = serverOf(dist);
    const [first, second] = [await app.inject({ url: '/' }), await app.inject({ url: '/' })];
    const nonces = [first, second].map(
      ({ body }) => /^<meta name="style-nonce" content="([\w-]{22})">$/.exec(body)?.[1],
    );
    assert.notEqual(nonces[0], nonces[1]);
    for (const [index, { headers }] of [first, second].entries())
      assert.match(
        String(headers['content-security-policy']),
        new RegExp(`style-src 'self' 'nonce-${nonces[index]}';`),
      );
  });

  it('lets pages frame the card form where it is served, and nothing else', async () => {
    const app = serverOf(dist);
    const framedBy = async (url: string): Promise<string | undefined> =>
      /frame-src [^;]*/.exec(String((await app.inject({ url })).headers['content-security-policy']))?.[0];
    assert.equal(await framedBy('/'), undefined);
    isFormServed = true;
    assert.equal(await framedBy('/'), 'frame-src https://cards.example:8446');
    assert.equal(await framedBy('/assets/index-1.js'), undefined);
    isFormServed = false;
  });

  it('does not block other pages of the same machine', async () => {
    const { headers } = await serverOf(dist).inject({ url: '/', headers: { host: 'localhost:8445' } });
    assert.equal(headers['strict-transport-security'], undefined);
  });

  it('sends the headers that isolate a page, with pages and with files', async () => {
    const app = serverOf(dist);
    for (const url of ['/', '/assets/index-1.js', '/assets/icon-3.svg']) {
      const { headers } = await app.inject({ url, headers: { host: 'vault.example:8445' } });
      const rules = String(headers['content-security-policy']).split('; ');
      for (const rule of [
        "default-src 'none'",
        "script-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        'trusted-types default',
      ])
        assert.ok(rules.includes(rule), `${url}: ${rule}`);
      assert.ok(!rules.join().includes('unsafe'));
      assert.equal(headers['strict-transport-security'], 'max-age=31536000');
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
      assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
      assert.equal(headers['referrer-policy'], 'no-referrer');
      assert.equal(headers['x-frame-options'], 'DENY');
      assert.equal(headers['x-content-type-options'], 'nosniff');
      const permissions = String(headers['permissions-policy']).split(', ');
      assert.ok(permissions.includes('camera=()') && permissions.includes('publickey-credentials-get=(self)'));
      assert.deepEqual(
        permissions.filter((each) => !/^[a-z-]+=\((self)?\)$/.test(each)),
        [],
      );
    }
  });

  it('sends files with their type, cacheable because their names contain a hash', async () => {
    const app = serverOf(dist);
    const types = {
      'index-1.js': 'text/javascript; charset=utf-8',
      'icon-3.svg': 'image/svg+xml',
      'inter-2.woff2': 'font/woff2',
    };
    for (const [name, type] of Object.entries(types)) {
      const { statusCode, headers } = await app.inject({ url: `/assets/${name}` });
      assert.deepEqual([statusCode, headers['content-type']], [200, type]);
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
    }
  });

  it('sends an accepted compression, and Vary', async () => {
    const app = serverOf(dist);
    const get = (accepted: string) =>
      app.inject({ url: '/assets/index-1.js', headers: { 'accept-encoding': accepted } });
    const brotli = await get('gzip, deflate, br');
    assert.deepEqual([brotli.headers['content-encoding'], brotli.body], ['br', 'as brotli']);
    const gzip = await get('br;q=0, gzip;q=0.5');
    assert.equal(gzip.headers['content-encoding'], 'gzip');
    assert.equal(gunzipSync(gzip.rawPayload).toString(), SCRIPT);
    const none = await get('identity');
    assert.deepEqual([none.headers['content-encoding'], none.body], [undefined, SCRIPT]);
    for (const { headers } of [brotli, gzip, none]) assert.equal(headers['vary'], 'accept-encoding');
  });

  /** Returns bytes of which no two chunks are equal. */
  const withLarge = (length: number) => {
    const body = Buffer.alloc(length, Buffer.from(Array.from({ length: 251 }, (_, index) => index)));
    const large = {
      type: 'text/javascript; charset=utf-8',
      etag: 'W/"large"',
      variants: [{ encoding: undefined, body }],
      decompressed: () => body,
    };
    return { body, app: serving({ page: '', named: new Map([['large.js', large]]) }) };
  };

  it('sends a large file completely, with its length', async () => {
    for (const length of [64 * 1024, 64 * 1024 + 1, 3 * 64 * 1024, 454_546]) {
      const { body, app } = withLarge(length);
      const { headers, rawPayload } = await app.inject({ url: '/assets/large.js' });
      assert.equal(headers['content-length'], String(length));
      assert.equal(headers['transfer-encoding'], undefined);
      assert.ok(rawPayload.equals(body), `${length}`);
      const again = await app.inject({ url: '/assets/large.js', headers: { 'if-none-match': 'W/"large"' } });
      assert.deepEqual([again.statusCode, again.body, again.headers['content-length']], [304, '', undefined]);
    }
  });

  it('buffers little of a file for a client that never reads', async () => {
    // More than any system takes off our hands.
    const { app } = withLarge(64 * 1024 * 1024);
    await app.ready();
    const waiting: number[] = [];
    const { promise: hasLooked, resolve: enough } = Promise.withResolvers<void>();
    const server = createServer((request, response) => {
      app.routing(request, response);
      const measure = (): void => {
        waiting.push(response.writableLength + (response.socket?.writableLength ?? 0));
        if (waiting.length < 200) setImmediate(measure);
        else enough();
      };
      setImmediate(measure);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const caller = connect((server.address() as AddressInfo).port, '127.0.0.1');
    caller.pause();
    caller.write('GET /assets/large.js HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await hasLooked;
    caller.destroy();
    server.close();
    assert.ok(Math.max(...waiting) > 0 && Math.max(...waiting) < 256 * 1024, `${Math.max(...waiting)}`);
  });

  it('responds 304 to a client that has the file', async () => {
    const app = serverOf(dist);
    const url = '/assets/index-1.js';
    const { etag } = (await app.inject({ url })).headers;
    const again = await app.inject({ url, headers: { 'if-none-match': `"other", ${etag}` } });
    assert.deepEqual([again.statusCode, again.body, again.headers['etag']], [304, '', etag]);
    const changed = await app.inject({ url, headers: { 'if-none-match': '"other"' } });
    assert.equal(changed.statusCode, 200);
  });

  it('serves only the files of the build, whatever the path is', async () => {
    const app = serverOf(dist);
    for (const name of [
      'index-1.js.map',
      'index-1.js.gz',
      'index-1.js.br',
      'index.html',
      'missing.js',
      '../index.html',
      '..%2findex.html',
      '..%2f..%2froot.key',
      '%2e%2e/%2e%2e/root.key',
      '..%5croot.key',
      'index-1.js%00',
      'constructor',
      '',
    ]) {
      const { statusCode, body } = await app.inject({ url: `/assets/${name}` });
      assert.equal(statusCode, 404, name);
      assert.ok(!body.includes('secret'));
    }
    assert.equal((await app.inject({ url: '/.made-from' })).statusCode, 404);
  });

  it('accepts no other method', async () => {
    const app = serverOf(dist);
    for (const url of ['/', '/accounts/x', '/assets/index-1.js']) {
      const { statusCode, headers } = await app.inject({ method: 'POST', url });
      assert.deepEqual([statusCode, headers['allow']], [405, 'GET'], url);
    }
  });

  it('explains how to build the console when it is missing', async () => {
    const app = serverOf(join(folder, 'nothing'));
    const { statusCode, body, headers } = await app.inject({ url: '/' });
    assert.equal(statusCode, 200);
    assert.match(body, /npm ci/);
    assert.match(String(headers['content-security-policy']), /default-src 'none'/);
    assert.equal((await app.inject({ url: '/sign-in' })).statusCode, 404);
  });
});
