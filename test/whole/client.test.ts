import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buildDocument, generateTypes } from '../../scripts/client-types.ts';
import {
  AccessDeniedError,
  CardvaultClient,
  ConnectionError,
  InvalidRequestError,
  verifyWebhook,
  WebhookVerificationError,
} from '../../sdk/src/index.ts';
import { ROUTES } from '../../sdk/src/schema.ts';
import { loadOrCreateLocalIdentity } from '../../src/http/tls.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { newMerchant, order, REJECTED } from '../interface/payment-requests.ts';

const ROOT = join(import.meta.dirname, '..', '..');

describe('the types of the client', () => {
  test('are those of the interface', () => {
    const text = readFileSync(join(ROOT, 'sdk', 'src', 'schema.ts'), 'utf8');
    assert.equal(text, generateTypes(buildDocument()), 'run: npm run generate:client');
  });

  test('have every operation', () => {
    const documented = Object.entries(buildDocument().paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`),
    );
    const known = Object.entries(ROUTES).map(([id, { method, path }]) => `${id} ${method} ${path}`);
    assert.deepEqual(known.sort(), documented.sort());
  });

  test('are used by the client, operation by operation', () => {
    const client = readFileSync(join(ROOT, 'sdk', 'src', 'client.ts'), 'utf8');
    // `showAccount` is the same as `getAccount`.
    const missing = Object.keys(ROUTES).filter((id) => id !== 'showAccount' && !client.includes(`'${id}'`));
    assert.deepEqual(missing, []);
  });
});

describe('the client', { timeout: 120_000 }, () => {
  let service: TestService;
  let client: CardvaultClient;
  let options: { baseUrl: string; apiKey: string; ca: string };
  before(async () => {
    service = await startTestService();
    const { key } = await newMerchant(service);
    options = { baseUrl: `https://localhost:${service.ports.sandbox}`, apiKey: key, ca: service.authority };
    client = new CardvaultClient(options);
  });
  after(async () => {
    client.close();
    await service.stop();
  });

  test('calls tokens, captures, payments, the proxy and the account', async () => {
    const card = luhnPan('411111');
    const { tokens } = await client.tokens.create({
      chd: [{ card, name: 'Ana Lopez', exp: '12/40' }],
      tags: [],
      scheme: 7,
    });
    const token = tokens[0]?.token ?? '';
    assert.equal((await client.tokens.inspect(token)).card_truncated.slice(-4), card.slice(-4));
    const chd = { card, cvv: '123', exp: '12/40' };
    const { id } = await client.captures.create({ chd, amount: 100, currency: 'USD', additional_info: {}, ttl: 5 });
    assert.equal((await client.captures.retrieve(id)).pan, card);
    assert.equal((await client.captures.inspect(id)).status, 'success');
    const paid = await client.payments.create(order('authorization', { amount: 10 }) as never);
    const paymentId = paid.data.transaction_info.transaction_id;
    await client.payments.capture(paymentId, { transaction_info: { type: 'capture' } } as never);
    assert.equal((await client.payments.lookup(paymentId)).data.transaction_info.status, 'Collected');
    const declined = await client.payments.create(order('authorization', { amount: REJECTED }) as never);
    assert.equal(declined.status, 'Fail');
    const hashed = await client.proxy.hash(`{{${token}:detokenize}}`, 'SHA256');
    assert.equal(hashed.hashType, 'SHA256');
    assert.equal((await client.account()).environment, 'sandbox');
    assert.equal((await client.tokens.delete([token])).tokens[0]?.status, 'success');
    await client.captures.delete(id);
  });

  test('returns the first result for the same idempotencyKey', async () => {
    const body = { chd: [{ card: luhnPan('411111'), name: 'Ana', exp: '12/40' }], tags: [], scheme: 7 } as const;
    const [one, other] = [
      await client.tokens.create(body, { idempotencyKey: 'order-1' }),
      await client.tokens.create(body, { idempotencyKey: 'order-1' }),
    ];
    assert.deepEqual(one, other);
  });

  test('reports what the service refuses, without values', async () => {
    const card = '4111111111111112';
    await assert.rejects(
      client.tokens.create({ chd: [{ card, name: 'Ana', exp: '13/40' }], tags: [], scheme: 7 }),
      (error) =>
        error instanceof InvalidRequestError &&
        error.status === 400 &&
        error.field === 'chd[0].exp' &&
        error.requestId !== undefined &&
        !JSON.stringify(error).includes(card) &&
        !String(error.stack).includes(card),
    );
    const stranger = new CardvaultClient({ ...options, apiKey: 'cv_sandbox_wrong' });
    await assert.rejects(stranger.account(), AccessDeniedError);
    stranger.close();
  });

  test('refuses bad options, and a certificate that it does not trust', async () => {
    assert.throws(() => new CardvaultClient({ ...options, baseUrl: 'http://localhost' }), TypeError);
    assert.throws(() => new CardvaultClient({ ...options, apiKey: 'a b' }), TypeError);
    const { ca: _, ...withoutCa } = options;
    const suspicious = new CardvaultClient({ ...withoutCa, maxRetries: 0 });
    await assert.rejects(suspicious.account(), ConnectionError);
    suspicious.close();
  });

  test('sends a write again with the same key after a lost response, and has one effect', async () => {
    const keys: unknown[] = [];
    const { certificate, key } = await loadOrCreateLocalIdentity(join(service.directory, 'tls'), service.now);
    const tls = { cert: certificate, key };
    // A server that loses two responses and delivers the third.
    const lossy = createServer(tls, (request, response) => {
      keys.push(request.headers['idempotency-key']);
      request.resume();
      if (keys.length < 3) request.socket.destroy();
      else response.writeHead(200).end('{"status_code":200,"status":"success","desc":"Success","data":{"tokens":[]}}');
    });
    await new Promise<void>((resolve) => lossy.listen(0, '127.0.0.1', resolve));
    const { port } = lossy.address() as AddressInfo;
    const patient = new CardvaultClient({ ...options, baseUrl: `https://localhost:${port}` });
    assert.deepEqual(await patient.tokens.delete(['a']), { tokens: [] });
    assert.equal(keys.length, 3);
    assert.equal(new Set(keys).size, 1);
    assert.match(String(keys[0]), /^[0-9a-f-]{36}$/);
    patient.close();
    lossy.closeAllConnections();
    lossy.close();
  });

  test('is packed, installed into an empty project, and works there', { timeout: 90_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'cardvault-client-'));
    const run = (command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): string => {
      const { status, stdout, stderr } = spawnSync(command, args, {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, ...env },
      });
      assert.equal(status, 0, stderr);
      return stdout;
    };
    try {
      const packed = run('npm', ['pack', '--json', '--pack-destination', folder, join(ROOT, 'sdk')]);
      const [file] = JSON.parse(packed.slice(packed.indexOf('['))) as { filename: string }[];
      writeFileSync(join(folder, 'package.json'), '{"name":"shop","private":true,"type":"module"}');
      run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, file?.filename ?? '')]);
      writeFileSync(join(folder, 'ca.pem'), options.ca);
      writeFileSync(
        join(folder, 'shop.js'),
        `import { readFileSync } from 'node:fs';
import { CardvaultClient } from 'cardvault-client';
const client = new CardvaultClient({
  baseUrl: process.env.VAULT_URL,
  apiKey: process.env.VAULT_KEY,
  ca: readFileSync('ca.pem', 'utf8'),
});
console.log((await client.account()).environment);
client.close();
`,
      );
      // The service runs in this process, which a synchronous child would block.
      writeFileSync(
        join(folder, 'types.ts'),
        "import { CardvaultClient } from 'cardvault-client';\nexport type C = CardvaultClient;\n",
      );
      run(join(ROOT, 'node_modules', '.bin', 'tsc'), [
        ...['--noEmit', '--module', 'nodenext', '--target', 'es2022', '--skipLibCheck', 'types.ts'],
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('verifyWebhook', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

  test('accepts what the library of Standard Webhooks signs', async () => {
    const { Webhook } = await import('standardwebhooks');
    const now = new Date();
    const body = JSON.stringify({
      type: 'token.deleted',
      timestamp: now.toISOString(),
      environment: 'sandbox',
      data: {},
    });
    const headers = {
      'webhook-id': 'evt_a',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('evt_a', now, body),
    };
    assert.equal(verifyWebhook({ headers, body }, secret).type, 'token.deleted');
    assert.equal(
      verifyWebhook({ headers: new Headers(headers), body: Buffer.from(body) }, secret).type,
      'token.deleted',
    );
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
    const refused: [object, string, string][] = [
      [headers, body, other],
      [headers, `${body} `, secret],
      [{ ...headers, 'webhook-id': 'evt_b' }, body, secret],
      [{ ...headers, 'webhook-timestamp': String(Math.floor(now.getTime() / 1000) - 301) }, body, secret],
      [{ ...headers, 'webhook-timestamp': 'now' }, body, secret],
      [{ ...headers, 'webhook-signature': '' }, body, secret],
      [{ ...headers, 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,') }, body, secret],
      [{ 'webhook-id': 'evt_a' }, body, secret],
    ];
    for (const [given, text, key] of refused)
      assert.throws(() => verifyWebhook({ headers: given as never, body: text }, key), WebhookVerificationError);
  });
});
