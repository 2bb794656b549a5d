import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ENDPOINTS } from '../../src/http/endpoints.ts';
import { DAY, HOUR } from '../../src/kernel/clock.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { LINES } from './request-lines.ts';

const OPERATOR = { actor: { type: 'operator', name: 'test' } } as const;
const LISTENERS = ['production', 'sandbox', 'console'] as const;

describe('endpoints without a key', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  for (const environment of LISTENERS) {
    for (const path of ['/healthz', '/readyz']) {
      test(`${path} responds ok on the ${environment} listener`, async () => {
        for (const each of [path, `${path}/`, `${path}?x=1`]) {
          const { status, json, headers } = await service.call('GET', each, { environment });
          assert.equal(status, 200);
          assert.deepEqual(json, { status: 'ok' });
          assert.equal(headers['cache-control'], 'no-store');
        }
      });
    }

    test(`/openapi.json and /docs are on the ${environment} listener`, async () => {
      const { status, json } = await service.call('GET', '/openapi.json', { environment });
      assert.equal(status, 200);
      assert.equal(json.openapi, '3.1.0');
      const page = await service.call('GET', '/docs/', { environment });
      assert.equal(page.status, 200);
      assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
      const style = await service.call('GET', '/docs/style.css', { environment });
      assert.equal(style.headers['content-type'], 'text/css; charset=utf-8');
    });
  }

  test('an invalid key has no effect there', async () => {
    assert.equal((await service.call('GET', '/healthz', { key: 'wrong' })).status, 200);
  });

  describe('/docs', () => {
    test('has a strict policy, no script, and no external content', async () => {
      const { text, headers } = await service.call('GET', '/docs');
      const policy = String(headers['content-security-policy']).split('; ');
      assert.ok(policy.includes("default-src 'none'"));
      assert.ok(policy.includes("frame-ancestors 'none'"));
      assert.ok(policy.includes("base-uri 'none'"));
      assert.ok(policy.includes("form-action 'none'"));
      assert.doesNotMatch(policy.join(), /script-src|unsafe|\*|https?:|data:/);
      assert.equal(headers['x-frame-options'], 'DENY');
      assert.equal(headers['referrer-policy'], 'no-referrer');
      assert.doesNotMatch(text, /<script|javascript:|\son[a-z]+\s*=|<iframe|<form|style=/i);
      const links = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link = '']) => link);
      assert.ok(links.length > 5);
      for (const link of links) assert.match(link, /^(#[A-Za-z-]+|\/docs\/style\.css|\/openapi\.json)$/);
    });

    test('every link inside the page has a target, and every endpoint is described', async () => {
      const { text } = await service.call('GET', '/docs');
      const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
      assert.equal(new Set(ids).size, ids.length);
      for (const [, target] of text.matchAll(/href="#([^"]*)"/g)) assert.ok(ids.includes(target), target);
      for (const { method, path, permission } of ENDPOINTS) {
        const shown = path.replace(/:([a-z]+)/g, '{$1}');
        assert.ok(text.includes(`${method}</span> <code>${shown}</code>`), `${method} ${shown}`);
        assert.ok(text.includes(`<code>${permission}</code>`));
      }
    });
  });

  describe('/metrics', () => {
    test('is on the console listener only', async () => {
      for (const environment of LISTENERS) {
        const { status } = await service.call('GET', '/metrics', { environment });
        assert.equal(status, environment === 'console' ? 200 : 404, environment);
      }
    });

    test('is Prometheus text', async () => {
      const { text, headers } = await service.call('GET', '/metrics', { environment: 'console' });
      assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/);
      const families = readMetrics(text);
      for (const name of ['cardvault_http_request_duration_seconds', 'cardvault_failures_total', 'cardvault_ready'])
        assert.ok(families.has(name), name);
      assert.deepEqual(families.get('cardvault_ready')?.samples, [{ name: 'cardvault_ready', labels: {}, value: 1 }]);
    });

    test('counts active API keys that expire within 14 days and were not rotated', async () => {
      const expiring = async (): Promise<Record<string, number>> => {
        const { text } = await service.call('GET', '/metrics', { environment: 'console' });
        const samples = readMetrics(text).get('cardvault_api_keys_expiring')?.samples ?? [];
        return Object.fromEntries(samples.map(({ labels, value }) => [labels['environment'], value]));
      };
      assert.deepEqual(await expiring(), { sandbox: 0, production: 0 });
      const account = await service.newAccount();
      const newKey = (environment: Environment, remaining: number) =>
        service.newKey(account, { environment, expiresAt: service.now() + remaining });
      await service.newKey(account, { environment: 'production' });
      await newKey('production', 15 * DAY);
      await newKey('production', 13 * DAY);
      const rotated = await newKey('sandbox', 13 * DAY);
      const revoked = await newKey('sandbox', 13 * DAY);
      await newKey('sandbox', HOUR);
      assert.deepEqual(await expiring(), { sandbox: 3, production: 1 });
      const { accounts, transactions } = service.core;
      await transactions.run({ origin: OPERATOR }, (transaction) => accounts.revokeKey(transaction, revoked.id));
      assert.deepEqual(await expiring(), { sandbox: 2, production: 1 });
      // The successor has the attributes of the key, so that it expires as well.
      await transactions.run({ origin: OPERATOR }, (transaction) => accounts.rotateKey(transaction, rotated.id, 60));
      assert.deepEqual(await expiring(), { sandbox: 2, production: 1 });
      service.advance(2 * HOUR);
      assert.deepEqual(await expiring(), { sandbox: 1, production: 1 });
    });

    test('counts requests by route pattern and status, and contains no ids', async () => {
      const account = await service.newAccount('A Very Private Name');
      const { id, secret } = await service.newKey(account, { name: 'private-key' });
      const pan = luhnPan('455667');
      for (const { method, path, body } of LINES) await service.call(method, path, { key: secret, body });
      await service.call('GET', `/v1/tokens/${pan}/inspect`, { key: secret });
      await service.call('GET', `/${pan}?card=${pan}`, { headers: { 'x-request-id': 'private-request' } });
      await service.call('PROPFIND', `/transactions/requests/${pan}`);
      const { text } = await service.call('GET', '/metrics', { environment: 'console' });
      const ids = [account, id, secret, secret.slice(0, 15), pan, 'Private', 'private', '0f4e2c9a', '127.0.0.1'];
      for (const each of ids) assert.ok(!text.includes(each), each);

      const labels = new Map<string, Set<string>>();
      for (const { samples } of readMetrics(text).values())
        for (const sample of samples.filter(({ name }) => name.startsWith('cardvault_http_')))
          for (const [name, value] of Object.entries(sample.labels))
            labels.set(name, (labels.get(name) ?? new Set()).add(value));
      assert.deepEqual([...labels.keys()].sort(), ['le', 'listener', 'method', 'route', 'status']);
      const patterns = new Set<string>(ENDPOINTS.map(({ path }) => path));
      for (const route of labels.get('route') ?? [])
        assert.ok(
          patterns.has(route) ||
            ['(none)', '/metrics'].includes(route) ||
            /^\/(healthz|readyz|docs|openapi)/.test(route),
          route,
        );
      for (const line of LINES)
        assert.ok(
          [...(labels.get('route') ?? [])].some((route) => matches(route, line.path)),
          line.path,
        );
    });

    test('is restricted to its allow-list', async () => {
      const own = await startTestService({ variables: { CARDVAULT_METRICS_ALLOW: '127.0.0.7, 127.0.3.0/24' } });
      try {
        const status = async (from: string): Promise<number> =>
          (await own.call('GET', '/metrics', { environment: 'console', from })).status;
        assert.equal(await status('127.0.0.7'), 200);
        assert.equal(await status('127.0.3.200'), 200);
        assert.equal(await status('127.0.0.1'), 403);
        const { secret } = await own.newKey(await own.newAccount());
        const refused = await own.call('GET', '/metrics', { environment: 'console', key: secret });
        assert.equal(refused.text, '{"status_code":403,"status":"fail","desc":"Access denied.","data":""}');
        assert.equal((await own.call('GET', '/healthz', { environment: 'console' })).status, 200);
      } finally {
        await own.stop();
      }
    });
  });

  test('/readyz is 503 while the database is unavailable, and /healthz is not', async () => {
    const own = await startTestService();
    try {
      await own.core.database.close();
      const { status, json, headers } = await own.call('GET', '/readyz');
      assert.equal(status, 503);
      assert.deepEqual(json, { status: 'unavailable' });
      assert.ok(Number(headers['retry-after']) > 0);
      assert.equal((await own.call('GET', '/healthz')).status, 200);
    } finally {
      await own.stop().catch(() => undefined);
    }
  });
});

const matches = (route: string, path: string): boolean =>
  new RegExp(`^${route.replace(/:[a-z]+/g, '[^/]+')}$`).test(path);

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Family {
  readonly type: string;
  readonly samples: Sample[];
}

/** Reads the text format of Prometheus 0.0.4; throws where it is broken. */
function readMetrics(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  assert.ok(text.endsWith('\n'));
  let helped = '';
  let name = '';
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const help = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) .+$/.exec(line);
    const type = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)$/.exec(line);
    if (help !== null) {
      helped = help[1] ?? '';
    } else if (type !== null) {
      name = type[1] ?? '';
      assert.equal(helped, name);
      assert.ok(!families.has(name), `${name} twice`);
      families.set(name, { type: type[2] ?? '', samples: [] });
    } else {
      const sample = readSample(line);
      const base =
        families.get(name)?.type === 'histogram' ? sample.name.replace(/_(bucket|sum|count)$/, '') : sample.name;
      assert.equal(base, name, line);
      families.get(name)?.samples.push(sample);
    }
  }
  return families;
}

function readSample(line: string): Sample {
  const [, name = '', inner = '', value = ''] =
    /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? assert.fail(`no sample: ${line}`);
  const labels: Record<string, string> = {};
  for (const [, label = '', text = ''] of inner.matchAll(/([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/g))
    labels[label] = text;
  const written = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
  assert.equal(written.join(), inner, line);
  const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value);
  // Readers take NaN in either case.
  assert.ok(!Number.isNaN(number) || /^nan$/i.test(value), line);
  return { name, labels, value: number };
}
