import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, createServer, request as forward } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { inspect, promisify } from 'node:util';
import { buildDocument, generateTypes } from '../../scripts/client-types.ts';
import {
  AccessDeniedError,
  CardvaultClient,
  ConnectionError,
  InvalidRequestError,
  verifyWebhook,
  type WebhookEvent,
  WebhookVerificationError,
} from '../../sdk/src/index.ts';
import { repeatsValue } from '../../sdk/src/repeats.ts';
import { ROUTES } from '../../sdk/src/schema.ts';
import { SYSTEM_TIMING } from '../../sdk/src/transport.ts';
import { loadOrCreateLocalIdentity } from '../../src/http/tls.ts';
import { SECOND } from '../../src/kernel/clock.ts';
import { Search } from '../fixtures/canaries.ts';
import { installLibrary } from '../fixtures/installed-library.ts';
import { dereference } from '../fixtures/json-schema.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { startWebhookReceiver } from '../fixtures/webhook-receiver.ts';
import { order, REJECTED } from '../interface/payment-requests.ts';
import { newSender, openJose, openWssec } from '../interface/proxy-requests.ts';
import { isLong } from '../scope.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** The oldest version that the package names as its engine. */
const OLDEST_NODE = 20;

/** The server of a shop. */
const SHOP = `import { readFileSync } from 'node:fs';
import { createHmac } from 'node:crypto';
import { CardvaultClient, InvalidRequestError, verifyWebhook } from 'cardvault-client';
import { CardVaultError } from 'cardvault-client/browser';
const options = {
  baseUrl: process.env.VAULT_URL,
  apiKey: process.env.VAULT_KEY,
  ca: readFileSync('ca.pem', 'utf8'),
};
const client = new CardvaultClient(options);
console.log((await client.account()).environment, new CardVaultError('session_expired').code);
const card = { card: '4111111111111111', name: 'Ana Lopez', exp: '12/40' };
const body = { chd: [card], tags: [], scheme: 7 };
const { signal } = new AbortController();
const [one, other] = [
  await client.tokens.create(body, { idempotencyKey: process.version, signal }),
  await client.tokens.create(body, { idempotencyKey: process.version, signal }),
];
const refused = await client.tokens.inspect('unknown').catch((error) => error);
console.log(one.tokens[0].token === other.tokens[0].token, refused instanceof InvalidRequestError, refused.status);
client.close();
const impatient = new CardvaultClient({ ...options, maxRetries: 0, attemptTimeoutMs: 1 });
console.log((await impatient.account().catch((error) => error)).name);
impatient.close();
const secret = 'whsec_' + Buffer.alloc(32, 7).toString('base64');
const timestamp = String(Math.floor(Date.now() / 1000));
const signature = createHmac('sha256', Buffer.alloc(32, 7)).update('evt_a.' + timestamp + '.{"type":"webhook.test"}').digest('base64');
const headers = { 'webhook-id': 'evt_a', 'webhook-timestamp': timestamp, 'webhook-signature': 'v1,' + signature };
console.log(verifyWebhook({ headers, body: '{"type":"webhook.test"}' }, secret).type);
`;

/** The page of a shop, as a module and with the script; a type that is missing or any fails at the lines that must not compile. */
const PAGE = `import type { CardvaultClient } from 'cardvault-client';
import { type Appearance, type CardForm, CardVaultError, mount } from 'cardvault-client/browser';
import type {} from 'cardvault-client/global';
export type Client = CardvaultClient;
const appearance: Appearance = { theme: 'dark', variables: { colorPrimary: '#00aa55' } };
const given = { session: 'cs_a', clientSecret: 'b', appearance, locale: 'es' };
const form: CardForm = mount('#card', { ...given, origin: 'https://cards.example.com' });
form
  .on('ready', () => form.focus())
  .on('change', ({ complete, fields }) => console.log(complete, fields.number?.error))
  .on('error', ({ code }) => console.log(code.length));
export async function pay(): Promise<string> {
  try {
    const { result, card } = await form.submit();
    return 'capture' in result ? result.capture.id : result.token.token + card.card;
  } catch (error) {
    return error instanceof CardVaultError ? (error.fields ?? []).map(({ message }) => message).join() : '';
  }
}
CardVault.mount(document.body, given).update({ appearance: { labels: 'floating' } });
form.destroy();
// @ts-expect-error: there is no such theme
export const pink: Appearance = { theme: 'pink' };
// @ts-expect-error: there is no such option
mount('#card', { ...given, css: 'x' });
// @ts-expect-error: there is no such event
form.on('keydown', () => undefined);
// @ts-expect-error: the card number never reaches the page
form.submit().then(({ card }) => card.number);
// @ts-expect-error: the global has no more than the module
CardVault.submit();
`;

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
    const { get, post } = dereference(buildDocument()).paths['/v1/account'] ?? {};
    assert.deepEqual([post?.operationId, get?.operationId], ['showAccount', 'getAccount']);
    assert.deepEqual(post?.responses['200'], get?.responses['200']);
  });
});

/** The operations of the document; `showAccount` is the same as `getAccount`, as a test of the types shows. */
const OPERATIONS = Object.entries(buildDocument().paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([, { operationId }]) => operationId !== 'showAccount')
    .map(([method, { operationId }]) => {
      const pattern = new RegExp(`^${path.replace(/\{[a-z]+\}/gi, '[^/]+')}$`);
      return { operationId, method: method.toUpperCase(), pattern };
    }),
);

describe('the client', { timeout: 120_000 }, () => {
  let service: TestService;
  let client: CardvaultClient;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  /** The operations that the service executed for a client. */
  const called = new Set<string>();
  /** Notes the responses that come from the service itself, and from no server between. */
  const onResponse = (message: unknown): void => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
    const isFromService = request.getHeader('host') === `localhost:${service.ports.sandbox}`;
    if (!isFromService || response.statusCode !== 200) return;
    const [path = ''] = request.path.split('?');
    const found = OPERATIONS.find(({ method, pattern }) => method === request.method && pattern.test(path));
    if (found !== undefined) called.add(found.operationId);
  };
  let options: { baseUrl: string; apiKey: string; ca: string };
  before(async () => {
    receiver = await startWebhookReceiver();
    service = await startTestService({ variables: { CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8' } });
    const { account, key } = await newSender(service);
    await service.enablePayments(account);
    subscribe('http.client.response.finish', onResponse);
    options = { baseUrl: `https://localhost:${service.ports.sandbox}`, apiKey: key, ca: service.authority };
    client = new CardvaultClient(options);
  });
  after(async () => {
    unsubscribe('http.client.response.finish', onResponse);
    client.close();
    await receiver.stop();
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

  test('tokenizes a capture, voids and refunds payments, and secures payloads', async () => {
    const card = luhnPan('411111');
    const chd = { card, name: 'Ana Lopez', exp: '12/40' };
    const capture = await client.captures.create({ chd, amount: 100, currency: 'USD', additional_info: {}, ttl: 5 });
    const { tokens } = await client.captures.tokenize(capture.id, { tags: [], scheme: 7 });
    const token = tokens[0]?.token ?? '';
    assert.equal((await client.tokens.inspect(token)).card_truncated.slice(-4), card.slice(-4));
    const held = await client.payments.create(order('authorization', { amount: 10 }) as never);
    const heldId = held.data.transaction_info.transaction_id;
    await client.payments.void(heldId, { transaction_info: { type: 'authorization_void' } });
    assert.equal((await client.payments.lookup(heldId)).data.transaction_info.status, 'Voided');
    const paid = await client.payments.create(order('payment', { amount: 10 }) as never);
    const paidId = paid.data.transaction_info.transaction_id;
    const refund = await client.payments.refund(paidId, { transaction_info: { type: 'payment_refund' } });
    assert.equal(refund.status, 'success');
    const number = `{{${token}:detokenize | extract:card}}`;
    const jose = await client.proxy.jose({ cvv: number });
    assert.deepEqual(JSON.parse(await openJose(jose)), { cvv: card });
    const encrypted = await client.proxy.jose({ cvv: number }, { encryption: { type: 'RSA', is_partial: false } });
    assert.match(JSON.parse(await openJose(encrypted)).cvv, /^[A-Za-z0-9+/]{300,}={0,2}$/);
    const { xml } = await client.proxy.wssec(`<a>${number}</a>`);
    assert.equal(openWssec(xml), `<a>${card}</a>`);
  });

  test('creates, shows and cancels a session of the card form', async () => {
    const session = await client.captureSessions.create({
      ...{ allowed_origins: ['https://shop.example.com'], result: 'token', scheme: 7 },
    });
    assert.match(session.client_secret, /^[A-Za-z0-9_-]{43}$/);
    assert.equal((await client.captureSessions.get(session.id)).status, 'open');
    await client.captureSessions.cancel(session.id);
    assert.notEqual((await client.captureSessions.get(session.id)).status, 'open');
  });

  test('manages a webhook, and verifies what the service signs with its secrets', async () => {
    const created = await client.webhooks.create({ url: receiver.url, events: ['token.deleted'] });
    const { id } = created;
    const verifyLast = (secret: string): unknown => {
      const last = receiver.received.at(-1) ?? assert.fail('nothing was received');
      return verifyWebhook(last, secret, { now: service.now() });
    };
    assert.equal((await client.webhooks.test(id)).delivered, true);
    assert.equal((verifyLast(created.secret) as { type: string }).type, 'webhook.test');
    const { secret } = await client.webhooks.rotate(id, { overlap_minutes: 0 });
    await client.webhooks.test(id);
    assert.equal((verifyLast(secret) as { type: string }).type, 'webhook.test');
    assert.throws(() => verifyLast(created.secret), WebhookVerificationError);
    assert.equal((await client.webhooks.update(id, { description: 'orders' })).description, 'orders');
    assert.equal((await client.webhooks.get(id)).description, 'orders');
    assert.deepEqual(
      (await client.webhooks.list()).webhooks.map((each) => each.id),
      [id],
    );
    const chd = [{ card: luhnPan('411111'), name: 'Ana', exp: '12/40' }];
    const [made] = (await client.tokens.create({ chd, tags: [], scheme: 7 })).tokens;
    // The webhooks of an account are cached for two seconds.
    service.advance(3 * SECOND);
    await client.tokens.delete([made?.token ?? '']);
    const [delivery] = await untilPasses(async () => {
      service.advance(SECOND);
      const { deliveries } = await client.webhooks.listDeliveries(id, { status: 'delivered' });
      assert.equal(deliveries.length, 1);
      return deliveries;
    });
    const eventId = delivery?.event_id ?? assert.fail('there is no delivery');
    assert.deepEqual((await client.webhooks.listDeliveries(id, { status: 'failed' })).deliveries, []);
    assert.deepEqual((await client.webhooks.listDeliveries(id, { before: eventId })).deliveries, []);
    assert.equal((await client.webhooks.replay(id, { event_id: eventId })).count, 1);
    await client.webhooks.delete(id);
    await assert.rejects(client.webhooks.get(id), InvalidRequestError);
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

  test('throws no error that holds a value of the request, whatever becomes of it', async () => {
    const { certificate, key } = await loadOrCreateLocalIdentity(join(service.directory, 'tls'), service.now);
    // Shapes of the failures of the interface, with all that was sent, and with one value of it.
    type Page = (sent: string, body: string) => string;
    const pages: Readonly<Record<string, Page>> = {
      413: (sent) => JSON.stringify({ desc: sent, data: { path: sent, code: sent } }),
      415: (_, body) => JSON.stringify({ message: `${JSON.parse(body).chd.card} is refused`, data: body }),
      501: (_, body) => JSON.stringify({ description: JSON.stringify(body) }),
      502: (_, body) =>
        JSON.stringify({ message: JSON.parse(body).chd.name, data: { path: JSON.parse(body).chd.cvv } }),
    };
    // A server between client and service that responds with what it was sent, or never.
    const echo = createServer({ cert: certificate, key }, async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString();
      const { status = '200' } = JSON.parse(body).additional_info;
      if (status === 'never') return;
      const page: Page = pages[status] ?? ((all) => `<p>${all}</p>`);
      response.writeHead(Number(status)).end(page(`${request.url} ${JSON.stringify(request.headers)} ${body}`, body));
    });
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
    const baseUrl = `https://localhost:${(echo.address() as AddressInfo).port}`;
    const apiKey = 'cv_sandbox_canary-of-the-key';
    const card = luhnPan('411111');
    const canaries = [card, apiKey, 'Canary Holder', 'canary-of-a-code', 'canary-of-an-id', 'canary-of-a-secret'];
    const [, , name = '', cvv = '', id = '', text = ''] = canaries;
    const strict = { ...options, apiKey, maxRetries: 0, attemptTimeoutMs: 2000 };
    const echoed = new CardvaultClient({ ...strict, baseUrl });
    const hasty = new CardvaultClient({ ...strict, baseUrl, attemptTimeoutMs: 50 });
    const { ca: _, ...withoutCa } = strict;
    const suspicious = new CardvaultClient({ ...withoutCa, baseUrl });
    const stranger = new CardvaultClient(strict);
    const body = (status = '', exp = '12/40') => ({
      ...{ chd: { card, name, cvv, exp }, amount: 1, currency: 'USD', ttl: 5 },
      additional_info: { status, text },
    });
    const secret = `whsec_${Buffer.from(text.repeat(2)).toString('base64')}`;
    const timestamp = `${Math.floor(Date.now() / 1000)}`;
    const mac = createHmac('sha256', Buffer.from(text.repeat(2))).update(`${id}.${timestamp}.x${card}`);
    const signed = { 'webhook-id': id, 'webhook-timestamp': timestamp };
    const signature = `v1,${mac.digest('base64')}`;
    const verify = (headers: object) => verifyWebhook({ headers: headers as never, body: `x${card}` }, secret);
    const calls: readonly (readonly [string, () => unknown])[] = [
      ['InvalidRequestError', () => client.captures.create(body('', card))],
      ['InvalidRequestError', () => client.tokens.inspect(`${card} ${id}`)],
      ['AccessDeniedError', () => stranger.captures.create(body())],
      ['InvalidRequestError', () => echoed.captures.create(body('400'))],
      ['AccessDeniedError', () => echoed.captures.create(body('403'))],
      ['ConflictError', () => echoed.captures.create(body('409'))],
      ['RateLimitError', () => echoed.captures.create(body('429'))],
      ['ServiceError', () => echoed.captures.create(body('500'))],
      ['InvalidRequestError', () => echoed.captures.create(body('413'))],
      ['InvalidRequestError', () => echoed.captures.create(body('415'))],
      ['ServiceError', () => echoed.captures.create(body('501'))],
      ['ServiceError', () => echoed.captures.create(body('502'))],
      ['ConnectionError', () => echoed.captures.create(body('200'))],
      ['TimeoutError', () => hasty.captures.create(body('never'))],
      ['ConnectionError', () => suspicious.captures.create(body())],
      ['TypeError', () => echoed.captures.create(body(), { idempotencyKey: `${card}\n` })],
      ['WebhookVerificationError', () => verify(signed)],
      ['WebhookVerificationError', () => verify({ ...signed, 'webhook-signature': `v1,${id}` })],
      ['WebhookVerificationError', () => verify({ ...signed, 'webhook-signature': signature })],
    ];
    const search = new Search([...canaries, secret]);
    try {
      for (const [expected, call] of calls) {
        const error = await Promise.try(call).then(
          () => assert.fail(expected),
          (thrown: unknown) => thrown as Error,
        );
        assert.equal(error.name, expected, error.stack);
        const shown = [
          error.message,
          error.stack,
          JSON.stringify(error),
          inspect(error, { depth: 9, showHidden: true }),
        ];
        assert.deepEqual(search.found(Buffer.from(shown.join('\n'))), [], expected);
      }
    } finally {
      for (const each of [echoed, hasty, suspicious, stranger]) each.close();
      echo.closeAllConnections();
      echo.close();
    }
  });

  test('keeps the texts of the service, also where the request has the same places, numbers and addresses', async () => {
    const refusalOf = (call: Promise<unknown>): Promise<InvalidRequestError> =>
      call.then(
        () => assert.fail('nothing was refused'),
        (error: unknown) => error as InvalidRequestError,
      );
    const session = { amount: 2000, currency: 'USD', ttl: 10 };
    for (const allowed of [['http://127.0.0.1:3000/'], ['http://localhost', 'https://shop.example.com/']]) {
      const error = await refusalOf(client.captureSessions.create({ ...session, allowed_origins: allowed }));
      assert.match(error.message, /^400: allowed_origins\[[01]\]: .*http:\/\/127\.0\.0\.1/);
      assert.equal(error.field, `allowed_origins[${allowed.length - 1}]`);
    }
    const tokens: unknown[] = Array.from({ length: 1000 }, () => randomUUID());
    [tokens[455], tokens[456]] = ['c-456', {}];
    const error = await refusalOf(client.tokens.delete(tokens as string[]));
    assert.match(error.message, /^400: tokens\[456\]/);
    assert.match(error.requestId ?? '', /^[0-9a-f-]{36}$/);
  });

  test('recognizes long numbers that JSON.parse would round', () => {
    for (const number of ['6212345678901234567', '9007199254740993']) {
      assert.equal(repeatsValue(`no token ${number}`, [number]), true);
      assert.equal(repeatsValue(`no token ${number}`, [`{"card":${number}}`]), true);
      assert.equal(repeatsValue('no token 6212', [number]), false);
      assert.equal(repeatsValue(`card[${number}]`, [number]), true);
    }
  });

  test('refuses bad options, and a certificate that it does not trust', async () => {
    assert.throws(() => new CardvaultClient({ ...options, baseUrl: 'http://localhost' }), TypeError);
    // Requests would go to the same paths of another place.
    for (const rest of ['/vault', '/vault/', '//', '/?environment=sandbox', '/#sandbox'])
      assert.throws(() => new CardvaultClient({ ...options, baseUrl: `${options.baseUrl}${rest}` }), TypeError, rest);
    for (const user of ['ana', 'ana:secret', ':secret']) {
      const baseUrl = options.baseUrl.replace('://', `://${user}@`);
      assert.throws(() => new CardvaultClient({ ...options, baseUrl }), TypeError, user);
    }
    const slashed = new CardvaultClient({ ...options, baseUrl: `${options.baseUrl}/` });
    assert.equal((await slashed.account()).environment, 'sandbox');
    slashed.close();
    assert.throws(() => new CardvaultClient({ ...options, apiKey: 'a b' }), TypeError);
    const { ca: _, ...withoutCa } = options;
    const suspicious = new CardvaultClient({ ...withoutCa, maxRetries: 0 });
    await assert.rejects(suspicious.account(), ConnectionError);
    suspicious.close();
  });

  test('sends nothing for an id that is none: its path would be that of another operation', async () => {
    const before = (await client.webhooks.list()).webhooks.length;
    const body = { url: 'https://shop.example.com/', events: ['*'] };
    for (const id of ['', '.', '..', undefined as unknown as string]) {
      await assert.rejects(client.webhooks.update(id, body), TypeError);
      await assert.rejects(client.webhooks.get(id), TypeError);
      await assert.rejects(client.payments.lookup(id), TypeError);
    }
    await assert.rejects(client.webhooks.get('../account'), InvalidRequestError);
    assert.equal((await client.webhooks.list()).webhooks.length, before);
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

  test('has one effect whatever happens to responses, and says when the effect is unknown', async () => {
    const agent = new Agent({ ca: options.ca, keepAlive: true });
    /** How each response of the service is spoilt on its way, in turn. */
    const fates = ['lost', 'cut', 'late', 'foreign', 'conflict', 'passed'];
    let [requests, effects] = [0, 0];
    const { certificate, key } = await loadOrCreateLocalIdentity(join(service.directory, 'tls'), service.now);
    const between = createServer({ cert: certificate, key }, (request, response) => {
      const fate = fates[requests++ % fates.length];
      const upstream = forward(
        `${options.baseUrl}${request.url}`,
        { method: request.method ?? '', headers: { ...request.headers, host: 'localhost' }, agent },
        async (answer) => {
          const body = Buffer.concat(await answer.toArray());
          const status = answer.statusCode ?? 0;
          if (status === 200 && answer.headers['idempotent-replayed'] === undefined) effects++;
          if (fate === 'lost') request.socket.destroy();
          else if (fate === 'foreign') response.writeHead(200).end('<html>Sign in to the network</html>');
          else if (fate === 'conflict') response.writeHead(409, { 'retry-after': '0' }).end('{}');
          else response.writeHead(status, { 'content-length': body.length });
          if (fate === 'passed') response.end(body);
          if (fate === 'cut' || fate === 'late') response.write(body.subarray(0, body.length / 2));
          if (fate === 'cut') setTimeout(() => request.socket.destroy(), 20);
        },
      );
      request.pipe(upstream);
    });
    await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
    const baseUrl = `https://localhost:${(between.address() as AddressInfo).port}`;
    // The waits have tests of their own.
    const timing = { ...SYSTEM_TIMING, wait: async () => undefined };
    const patient = new CardvaultClient({ ...options, baseUrl, attemptTimeoutMs: 1500, maxRetries: 8 }, timing);
    const paid = await patient.payments.create(order('payment', { amount: 10 }) as never);
    assert.equal(paid.data.transaction_info.status, 'Collected');
    assert.deepEqual([requests, effects], [fates.length, 1]);
    requests = 0;
    const impatient = new CardvaultClient({ ...options, baseUrl, maxRetries: 0 });
    const payment = order('payment', { amount: 10 }) as never;
    const unknown = await impatient.payments.create(payment).catch((error: unknown) => error);
    assert.ok(unknown instanceof ConnectionError && unknown.idempotencyKey !== undefined);
    const again = { idempotencyKey: unknown.idempotencyKey };
    await patient.payments.create(payment, again);
    assert.equal(effects, 2);
    // The same key with another body has no effect.
    const other = order('payment', { amount: 11 }) as never;
    await assert.rejects(client.payments.create(other, again), InvalidRequestError);
    patient.close();
    impatient.close();
    agent.destroy();
    between.closeAllConnections();
    between.close();
  });

  test('has called every operation of the document with success in the tests above', () => {
    const missing = OPERATIONS.filter(({ operationId }) => !called.has(operationId));
    assert.deepEqual(
      missing.map(({ operationId }) => operationId),
      [],
    );
  });

  test('is packed, installed into an empty project, and works there, also with the Node of the path and the oldest one', {
    timeout: isLong ? 330_000 : 90_000,
  }, async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'cardvault-client-'));
    // The service runs in this process, which a synchronous child would block.
    const run = async (command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> => {
      const child = promisify(execFile)(command, args, { cwd: folder, env: { ...process.env, ...env } });
      const { stdout } = await child.catch(({ message, stdout }) => assert.fail(`${message}\n${stdout}`));
      return stdout;
    };
    try {
      const packed = await run('npm', ['pack', '--json', '--pack-destination', folder, join(ROOT, 'sdk')]);
      const [file] = JSON.parse(packed.slice(packed.indexOf('['))) as { filename: string }[];
      writeFileSync(join(folder, 'package.json'), '{"name":"shop","private":true,"type":"module"}');
      await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, file?.filename ?? '')]);
      writeFileSync(join(folder, 'ca.pem'), options.ca);
      writeFileSync(join(folder, 'shop.js'), SHOP);
      const env = { VAULT_URL: options.baseUrl, VAULT_KEY: options.apiKey };
      const expected = 'sandbox session_expired\ntrue true 400\nTimeoutError\nwebhook.test\n';
      assert.equal(await run(process.execPath, ['shop.js'], env), expected);
      const version = await run('node', ['--version']).catch(() => '');
      const isSupported = Number(/^v([0-9]+)\./.exec(version)?.[1] ?? 0) >= OLDEST_NODE;
      context.diagnostic(`run by Node ${process.version}${isSupported ? ` and ${version.trim()}` : ' alone'}`);
      if (isSupported) assert.equal(await run('node', ['shop.js'], env), expected);
      if (isLong) {
        const oldest = installLibrary(`node-linux-${process.arch}@${OLDEST_NODE}`);
        assert.ok('folder' in oldest, 'reason' in oldest ? oldest.reason : '');
        const program = join(oldest.folder, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node');
        assert.match(await run(program, ['--version']), new RegExp(`^v${OLDEST_NODE}\\.`));
        assert.equal(await run(program, ['shop.js'], env), expected);
        rmSync(oldest.folder, { recursive: true, force: true });
      }
      writeFileSync(join(folder, 'page.ts'), PAGE);
      await run(join(ROOT, 'node_modules', '.bin', 'tsc'), [
        ...['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,dom', '--types', ''],
        ...['--ignoreConfig', 'page.ts'],
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

  test('returns an event of a type that this version does not know', async () => {
    const { Webhook } = await import('standardwebhooks');
    const now = new Date();
    const event: WebhookEvent = {
      ...{ type: 'token.renewed', timestamp: now.toISOString() },
      ...{ environment: 'sandbox', data: {} },
    };
    const body = JSON.stringify(event);
    const headers = {
      'webhook-id': 'evt_a',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('evt_a', now, body),
    };
    assert.deepEqual(verifyWebhook({ headers, body }, secret), event);
  });

  test('takes no text for a secret that is too short to be one', () => {
    const timestamp = Math.floor(Date.now() / 1000);
    for (const text of ['undefined', 'null', 'whsec_undefined', 'whsec_', '']) {
      const guessed = Buffer.from(text.replace(/^whsec_/, ''), 'base64');
      const mac = createHmac('sha256', guessed).update(`evt_a.${timestamp}.{}`).digest('base64');
      const headers = { 'webhook-id': 'evt_a', 'webhook-timestamp': `${timestamp}`, 'webhook-signature': `v1,${mac}` };
      assert.throws(() => verifyWebhook({ headers, body: '{}' }, text), WebhookVerificationError, text);
    }
  });
});
