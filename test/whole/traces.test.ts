import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SDK_INSTALLATION, SDK_PACKAGES, SPAN_ATTRIBUTES } from '../../src/http/traces.ts';
import { Search, withoutRandomTexts } from '../fixtures/canaries.ts';
import { installLibrary } from '../fixtures/installed-library.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { type ReceivedSpan, startTraceReceiver } from '../fixtures/trace-receiver.ts';
import { order } from '../interface/payment-requests.ts';
import { onlyLong } from '../scope.ts';

const root = join(import.meta.dirname, '..', '..');
const PAN = '4111111111111111';
const OTHER_PAN = '5555555555554444';
const NAME = 'Canary Cardholder';
/** A number that is typed into the card form, where a code has four digits. */
const FORM_PAN = '378282246310005';
const FORM_CODE = '7391';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const SERVER_KIND = 2;

test('a start without the SDK says how to install it', async () => {
  const variables = { CARDVAULT_TRACES_OTLP: 'http://127.0.0.1:1/v1/traces', CARDVAULT_LIBRARIES: import.meta.dirname };
  await assert.rejects(startTestService({ variables }), ({ message }: Error) => {
    assert.match(message, /@opentelemetry\/[a-z-]+ is not installed; run .*npm install/);
    return message.includes(` ${SDK_INSTALLATION} `);
  });
});

test('the SDK has the same versions in the package and in its installation by operators', () => {
  const { peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  assert.deepEqual(peerDependencies, { ...SDK_PACKAGES });
  for (const name of Object.keys(SDK_PACKAGES)) assert.deepEqual(peerDependenciesMeta[name], { optional: true });
  const page = readFileSync(join(root, 'docs', 'operations.md'), 'utf8');
  const commands = page.split('\n').filter((line) => line.includes('npm install') && line.includes('@opentelemetry/'));
  assert.equal(commands.length, 2);
  for (const command of commands) assert.ok(command.endsWith(` ${SDK_INSTALLATION}`), command);
});

describe('traces', { skip: onlyLong }, () => {
  let receiver: Awaited<ReturnType<typeof startTraceReceiver>>;
  let service: TestService;
  let libraries: string;
  let ended: readonly ReceivedSpan[];
  let formSecret: string;
  const responses: Record<string, string | undefined> = {};

  before(async () => {
    const installed = installLibrary(...SDK_INSTALLATION.split(' '));
    if ('reason' in installed) throw new Error(installed.reason);
    libraries = installed.folder;
    receiver = await startTraceReceiver();
    const headersFile = join(receiver.folder, 'headers');
    writeFileSync(headersFile, 'x-collector-key: canary-of-the-collector\n');
    service = await startTestService({
      variables: {
        CARDVAULT_LIBRARIES: libraries,
        CARDVAULT_TRACES_OTLP: receiver.url,
        CARDVAULT_TRACES_CA: receiver.caFile,
        CARDVAULT_TRACES_OTLP_HEADERS_FILE: headersFile,
      },
    });
    await makeRequests();
    // A stop sends what waits.
    await service.stop();
    ended = receiver.spans;
  });
  after(() => {
    receiver.stop();
    rmSync(libraries, { recursive: true, force: true });
  });

  async function makeRequests(): Promise<void> {
    const account = await service.newAccount();
    const { secret: key } = await service.newKey(account);
    await service.enablePayments(account);
    const call = async (id: string, method: string, path: string, options: Parameters<TestService['call']>[2] = {}) => {
      const headers = { 'x-request-id': id, ...options.headers };
      const response = await service.call(method, path, { ...options, headers });
      responses[id] = response.headers['traceresponse'] as string | undefined;
      return response;
    };
    const card = { card: PAN, name: NAME, exp: '12/29' };
    const body = { chd: [card], tags: [], scheme: 1 };
    const traceparent = `00-${TRACE}-${PARENT}-01`;
    const made = await call('tokenize', 'POST', '/v1/tokenization/simple', { key, body, headers: { traceparent } });
    assert.equal(made.status, 200, made.text);
    const hidden = { traceparent: `00-${TRACE}-${PAN}-01`, tracestate: `vendor=${PAN}`, baggage: `card=${PAN}` };
    await call('hidden', 'GET', `/v1/account?card=${PAN}`, { key, headers: hidden });
    await call('unsampled', 'GET', '/v1/account', { key, headers: { traceparent: `00-${TRACE}-${PARENT}-00` } });
    await call('path', 'GET', `/v1/tokens/${OTHER_PAN}/inspect`, { key });
    await call('unknown', 'GET', `/v1/${PAN}`, { key });
    await call('denied', 'GET', '/v1/account', { key: `cv_sandbox_${PAN}`, headers: { traceparent } });
    await call('malformed', 'POST', '/v1/tokenization/simple', { key, body: `{"chd":[{"card":"${PAN}` });
    const paid = order('payment', {
      card: { number: PAN, expiration_date: '12/2029', security_code: '987', holder: NAME },
    });
    const payment = await call('payment', 'POST', '/v1/payments', { key, body: paid });
    assert.equal(payment.status, 200, payment.text);
    const session = { allowed_origins: ['https://shop.example.com'], amount: 1, currency: 'USD', ttl: 10 };
    const opened = (await service.call('POST', '/v1/capture-sessions', { key, body: session })).json.data;
    formSecret = opened.client_secret;
    const submit = (name: string, more: object, path = '') =>
      call(name, 'POST', `/v1/card/${opened.id}${path}`, {
        environment: 'cards',
        body: { number: FORM_PAN, exp: '12/29', name: NAME, cvv: FORM_CODE, attempt: randomUUID(), ...more },
        headers: {
          origin: `https://localhost:${service.ports.cards}`,
          authorization: `Bearer ${formSecret}`,
          traceparent,
        },
      });
    assert.equal((await submit('form-refused', { exp: '' })).status, 400);
    await submit('form-malformed', { attempt: FORM_PAN });
    await submit('form-path', {}, `/${FORM_PAN}?secret=${formSecret}`);
    assert.equal((await submit('form', {})).status, 200);
  }

  const spanOf = (id: string): ReceivedSpan => {
    const found = ended.filter(({ attributes }) => attributes[SPAN_ATTRIBUTES.requestId] === id);
    assert.equal(found.length, 1, id);
    return found[0] as ReceivedSpan;
  };
  const childrenOf = ({ traceId, spanId }: ReceivedSpan): ReceivedSpan[] =>
    ended.filter((each) => each.traceId === traceId && each.parentSpanId === spanId);

  test('reach the collector with its headers, and name the service', () => {
    assert.ok(receiver.headers.length > 0);
    for (const headers of receiver.headers) {
      assert.equal(headers['x-collector-key'], 'canary-of-the-collector');
      assert.equal(headers['content-type'], 'application/x-protobuf');
    }
    for (const { 'service.name': name, ...others } of receiver.resources) {
      assert.equal(name, 'cardvault');
      assert.deepEqual(Object.keys(others), ['service.version']);
    }
  });

  test('have a span for each request, by its route', () => {
    const tokenized = spanOf('tokenize');
    assert.deepEqual([tokenized.name, tokenized.kind], ['POST /v1/tokenization/simple', SERVER_KIND]);
    const { [SPAN_ATTRIBUTES.account]: account, ...others } = tokenized.attributes;
    assert.match(String(account), /^acct_/);
    assert.deepEqual(others, {
      [SPAN_ATTRIBUTES.method]: 'POST',
      [SPAN_ATTRIBUTES.route]: '/v1/tokenization/simple',
      [SPAN_ATTRIBUTES.status]: 200,
      [SPAN_ATTRIBUTES.listener]: 'sandbox',
      [SPAN_ATTRIBUTES.requestId]: 'tokenize',
    });
    assert.ok(tokenized.end >= tokenized.start);
    assert.equal(spanOf('path').attributes[SPAN_ATTRIBUTES.route], '/v1/tokens/:token/inspect');
    assert.equal(spanOf('denied').attributes[SPAN_ATTRIBUTES.failure], 'access_denied');
    assert.equal(spanOf('malformed').attributes[SPAN_ATTRIBUTES.status], 400);
  });

  test('of submissions of the card form have the route, another trace, and their commits', () => {
    const { attributes, traceId, name } = spanOf('form');
    assert.deepEqual([name, attributes[SPAN_ATTRIBUTES.listener]], ['POST /v1/card/:id', 'cards']);
    assert.notEqual(traceId, TRACE);
    assert.deepEqual(
      childrenOf(spanOf('form')).map((span) => span.name),
      ['commit'],
    );
    assert.equal(spanOf('form-refused').attributes[SPAN_ATTRIBUTES.status], 400);
    assert.equal(spanOf('form-malformed').attributes[SPAN_ATTRIBUTES.route], '/v1/card/:id');
    assert.notEqual(spanOf('form-path').attributes[SPAN_ATTRIBUTES.status], 200);
  });

  test('have the commits and the calls to processors as children', () => {
    const commits = childrenOf(spanOf('tokenize'));
    assert.deepEqual(
      commits.map(({ name, attributes }) => [name, attributes[SPAN_ATTRIBUTES.result]]),
      [['commit', 'committed']],
    );
    const steps = childrenOf(spanOf('payment')).sort((one, other) => (one.start < other.start ? -1 : 1));
    assert.deepEqual(
      steps.map(({ name }) => name),
      ['commit', 'processor payment', 'commit'],
    );
    assert.deepEqual(steps[1]?.attributes, {
      [SPAN_ATTRIBUTES.processor]: 'simulator',
      [SPAN_ATTRIBUTES.operation]: 'payment',
      [SPAN_ATTRIBUTES.result]: 'approved',
    });
  });

  test('continue the trace of a client with a key, and return their own place in it', () => {
    const { traceId, parentSpanId, spanId } = spanOf('tokenize');
    assert.deepEqual([traceId, parentSpanId], [TRACE, PARENT]);
    assert.equal(responses['tokenize'], `00-${TRACE}-${spanId}-01`);
  });

  test('start another trace for a malformed parent, and for a client without a key', () => {
    for (const id of ['hidden', 'denied', 'path', 'payment']) {
      const { traceId, parentSpanId } = spanOf(id);
      assert.notEqual(traceId, TRACE, id);
      assert.equal(parentSpanId, '', id);
    }
    assert.match(responses['hidden'] ?? '', new RegExp(`^00-${spanOf('hidden').traceId}-`));
    assert.equal(responses['denied'], undefined);
  });

  test('are not sent where the client samples its trace away', () => {
    assert.equal(ended.filter(({ attributes }) => attributes[SPAN_ATTRIBUTES.requestId] === 'unsampled').length, 0);
    assert.match(responses['unsampled'] ?? '', new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
  });

  test('hold the attributes of the list alone, and no data of cards', () => {
    const allowed = new Set<string>(Object.values(SPAN_ATTRIBUTES));
    const used = new Set(ended.flatMap(({ attributes }) => Object.keys(attributes)));
    assert.deepEqual(
      [...used].filter((name) => !allowed.has(name)),
      [],
    );
    assert.deepEqual(
      [...allowed].filter((name) => !used.has(name)),
      [],
      'attributes that no span has',
    );
    for (const { statusMessage } of ended) assert.equal(statusMessage, '');
    const sent = Buffer.concat(receiver.bodies);
    const canaries = [PAN, OTHER_PAN, NAME, '987', 'Ana', 'canary', '12/29', '2029', 'cv_sandbox_', '127.0.0.1'];
    for (const canary of canaries) assert.equal(sent.includes(canary), false, canary);
    assert.deepEqual(new Search([PAN, OTHER_PAN, FORM_PAN, NAME, formSecret]).found(sent), []);
    for (const { attributes } of ended)
      for (const value of Object.values(attributes))
        assert.ok(!withoutRandomTexts(String(value)).includes(FORM_CODE), String(value));
    for (const digits of [PAN, OTHER_PAN]) assert.equal(sent.includes(Buffer.from(digits, 'hex')), false, digits);
  });
});

describe('a collector that is away', { skip: onlyLong }, () => {
  test('delays no request, and is reported once', async () => {
    const installed = installLibrary(...SDK_INSTALLATION.split(' '));
    if ('reason' in installed) throw new Error(installed.reason);
    const variables = {
      CARDVAULT_LIBRARIES: installed.folder,
      CARDVAULT_TRACES_OTLP: 'http://127.0.0.1:1/v1/traces',
    };
    const service = await startTestService({ variables });
    try {
      const { secret: key } = await service.newKey(await service.newAccount());
      assert.equal((await service.call('GET', '/v1/account', { key })).status, 200);
    } finally {
      await service.stop();
      rmSync(installed.folder, { recursive: true, force: true });
    }
    assert.equal(service.log.filter((line) => line.includes('"traces not sent"')).length, 1);
  });
});
