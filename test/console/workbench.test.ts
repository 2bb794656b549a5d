import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { listAudit } from '../../console/wire/audit.ts';
import { OPERATIONS, runInWorkbench } from '../../console/wire/workbench.ts';
import { ENDPOINTS } from '../../src/http/endpoints.ts';
import { WORKBENCH_ENDPOINTS } from '../../src/http/workbench.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { formatReason } from '../../src/kernel/reasons.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { order } from '../interface/payment-requests.ts';
import { newSender, openJose, openWssec, type Sender } from '../interface/proxy-requests.ts';
import { VISA } from '../interface/vault-requests.ts';
import { type AccountUser, assertRefused, assertUnknown, newAccountUser, successData } from './account-user.ts';

describe('the workbench', { timeout: 120_000 }, () => {
  let service: TestService;
  let sender: Sender;
  let desk: AccountUser;
  let token: string;
  let key: string;

  before(async () => {
    service = await startTestService();
    sender = await newSender(service);
    desk = await newAccountUser(service, sender.account);
    token = await sender.token(VISA);
    key = (await service.newKey(sender.account)).secret;
  });
  after(() => service.stop());

  const tried = async (body: object, of = desk) => successData(await of.call(runInWorkbench, { body }));
  const card = (): string => `{{ ${token} : detokenize | extract:card }}`;

  test('returns the result of the endpoint: a payload that only the processor can decrypt', async () => {
    const jose = await tried({ operation: 'proxyJose', payload: `{"cardNumber":"${card()}"}` });
    assert.deepEqual([jose.status, jose.error], [200, null]);
    const response = JSON.parse(jose.response);
    assert.equal(jose.response, JSON.stringify(response, undefined, 2));
    assert.deepEqual(Object.keys(response), ['status', 'data']);
    assert.equal(await openJose(response.data), `{"cardNumber":"${VISA}"}`);
    const wssec = await tried({ operation: 'proxyWssec', payload: `<a>${card()}</a>` });
    assert.equal(openWssec(JSON.parse(wssec.response).data.xml), `<a>${VISA}</a>`);
    const hash = await tried({ operation: 'proxyHash', hash_type: 'SHA512', payload: `ñ ${card()}` });
    const hashValue = createHash('sha512').update(`ñ ${VISA}`).digest('base64');
    assert.deepEqual(JSON.parse(hash.response), { status: 200, data: { hashValue, hashType: 'SHA512' } });
    for (const { response: text, duration_ms } of [jose, wssec, hash]) {
      assert.ok(!text.includes(VISA));
      assert.ok(Number.isInteger(duration_ms) && duration_ms >= 0);
    }
  });

  test('a payload is rejected as by the endpoint', async () => {
    const cases = [
      { operation: 'proxyJose', payload: '{"a":', code: 'malformed_json' },
      { operation: 'proxyJose', payload: '{"cardData":1}', code: 'invalid_field' },
      { operation: 'proxyJose', payload: '{"cardNumber":"{{x | y}}"}', code: 'invalid_placeholder' },
      {
        operation: 'proxyJose',
        payload: '{"cardNumber":"{{4111111111111112:detokenize | extract:card}}"}',
        code: 'unknown_token',
      },
      { operation: 'proxyWssec', payload: '<a>', code: 'malformed_xml' },
      { operation: 'proxyHash', payload: 'x', code: 'invalid_field' },
    ];
    for (const { code, ...body } of cases) {
      const { status, response, error } = await tried(body);
      const { payload } = body;
      const sent =
        body.operation === 'proxyJose'
          ? await sender.jose(payload)
          : body.operation === 'proxyWssec'
            ? await sender.wssec(payload)
            : await sender.hash(payload, {}, '');
      assert.equal(error.code, code, response);
      assert.equal(status, sent.status);
      assert.deepEqual(JSON.parse(response), sent.json);
      assert.equal(`${error.field}: ${formatReason(error.explanation)}`.replace(/^null: /, ''), sent.json.description);
    }
  });

  test('an error has line and column in the payload, whatever the endpoint reports', async () => {
    const envelope = (body: string): string =>
      `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">\n<s:Body>${body}</s:Body></s:Envelope>`;
    const cases = [
      { operation: 'proxyJose', payload: '{\n "a": 1,\n "a": 2}', at: [3, 2] },
      { operation: 'proxyJose', payload: '{"cardNumber":\r\n  "\\n{{x | y}}"}', at: [2, 10] },
      { operation: 'proxyJose', payload: '\n{"cardNumber":"{{4111111111111112:detokenize}}"}', at: [2, 16] },
      { operation: 'proxyWssec', payload: '<a>\n  <b></a>', at: [2, 9] },
      { operation: 'proxyWssec', payload: '<a>\n&#32;{{x | y}}</a>', at: [2, 10] },
      { operation: 'proxyWssec', payload: envelope('<a b="{{x}}"/>'), at: [2, 18] },
      { operation: 'proxyHash', hash_type: 'SHA256', payload: 'one\rtwo {{x | y}}', at: [2, 9] },
    ];
    for (const { at, ...body } of cases) {
      const { line, column } = (await tried(body)).error.explanation.values;
      assert.deepEqual([line, column], at, body.payload);
    }
  });

  test("missing keys are reported with the endpoint's error", async () => {
    const other = await newAccountUser(service, await service.newAccount());
    const { status, error } = await tried({ operation: 'proxyJose', payload: '{}' }, other);
    assert.deepEqual([status, error.code], [400, 'proxy_not_configured']);
  });

  test('a placeholder reads records of the account’s own sandbox only', async () => {
    const others = await newSender(service);
    const live = await newSender(service, { account: sender.account, environment: 'production' });
    for (const foreign of [await others.token(VISA), await live.token(VISA)]) {
      const { error } = await tried({
        operation: 'proxyHash',
        hash_type: 'SHA256',
        payload: `{{${foreign}:detokenize | extract:card}}`,
      });
      assert.equal(error.code, 'unknown_token');
    }
  });

  test('reads of card data are audited with the user', async () => {
    await tried({ operation: 'proxyHash', hash_type: 'SHA256', payload: card() });
    const body = { target: `token:${token}`, actor: desk.person.id };
    const [read] = successData(await desk.call(listAudit, { body })).records;
    assert.deepEqual(
      [read.action, read.environment, read.actor_type, read.detail],
      ['token.detokenized', 'sandbox', 'person', [{ name: 'use', value: 'hash' }]],
    );
  });

  test('a body of another kind is reported with its field', async () => {
    assertRefused(
      await desk.call(runInWorkbench, { body: { operation: 'xml', payload: 'x' } }),
      'invalid_field',
      'operation',
    );
    // It would return a complete card number.
    assertRefused(
      await desk.call(runInWorkbench, { body: { operation: 'retrieveCapture', parameter: 'x' } }),
      'invalid_field',
      'operation',
    );
    const payload = 'x'.repeat(LIMITS.workbenchPayloadCharacters + 1);
    assertRefused(
      await desk.call(runInWorkbench, { body: { operation: 'proxyHash', payload } }),
      'invalid_field',
      'payload',
    );
    const hash = { operation: 'proxyHash', hash_type: 'MD5', payload: 'x' };
    assertRefused(await desk.call(runInWorkbench, { body: hash }), 'invalid_field', 'hash_type', 'MD5');
  });

  test('has the endpoints of the API with their paths, but those that return card numbers, secrets or the calling key', () => {
    const listed = Object.entries(OPERATIONS).map(([name, { method, path }]) => `${name} ${method} ${path}`);
    const served = WORKBENCH_ENDPOINTS.map(({ operationId, method, path }) => `${operationId} ${method} ${path}`);
    assert.deepEqual(listed.sort(), served.sort());
    const left = ENDPOINTS.filter(
      (endpoint) =>
        !WORKBENCH_ENDPOINTS.includes(endpoint) && endpoint.tag !== 'Webhooks' && endpoint.tag !== 'Card form',
    );
    assert.deepEqual(left.map(({ operationId }) => operationId).sort(), [
      'getAccount',
      'retrieveCapture',
      'showAccount',
    ]);
  });

  test('stores, inspects and deletes a token as the API does', async () => {
    const body = { chd: [{ card: VISA, name: 'Ana Lopez', exp: '12/29' }], tags: ['bench'], scheme: 1 };
    const created = await tried({ operation: 'tokenizeCards', payload: JSON.stringify(body) });
    assert.deepEqual([created.status, created.error], [200, null]);
    const { status, data } = JSON.parse(created.response);
    const [{ token: made, created_by: by, card: shown }] = data.tokens;
    assert.deepEqual([status, by.user_id, by.name], ['success', desk.person.id, desk.person.name]);
    assert.ok(!created.response.includes(VISA) && shown.includes('******'));
    const sent = await service.call('GET', `/v1/tokens/${made}/inspect`, { key });
    const inspected = await tried({ operation: 'inspectToken', parameter: made });
    assert.deepEqual(JSON.parse(inspected.response), sent.json);
    const deleted = await tried({ operation: 'deleteTokens', payload: JSON.stringify({ tokens: [made] }) });
    assert.deepEqual(JSON.parse(deleted.response).data.tokens, [{ id: made, status: 'success' }]);
    const gone = await tried({ operation: 'inspectToken', parameter: made });
    assert.deepEqual([gone.status, gone.error.code], [400, 'unknown_token']);
    const { records } = successData(await desk.call(listAudit, { body: { target: `token:${made}` } }));
    const actors = records.map((each: Record<string, string>) => [
      each['action'],
      each['actor_type'],
      each['environment'],
    ]);
    assert.deepEqual(actors, [['token.deleted', 'person', 'sandbox']]);
  });

  test('a payment is authorized, captured in part and looked up, and amounts keep their digits', async () => {
    const payment = order('authorization', { amount: 12.5 });
    const off = await tried({ operation: 'createPayment', payload: JSON.stringify(payment) });
    assert.deepEqual([off.status, off.error.code], [403, 'access_denied']);
    await service.enablePayments(desk.account);
    const authorized = await tried({ operation: 'createPayment', payload: JSON.stringify(payment) });
    const { transaction_info: info } = JSON.parse(authorized.response).data;
    assert.deepEqual([authorized.status, info.status], [200, 'Authorized']);
    const capture = {
      transaction_info: { type: 'capture', reference_code: 'A-1' },
      capture_info: { amount_details: { total_amount: 2.5, currency: 'USD' } },
    };
    const parameter = info.transaction_id;
    const captured = await tried({ operation: 'capturePayment', parameter, payload: JSON.stringify(capture) });
    assert.deepEqual([captured.status, JSON.parse(captured.response).status], [200, 'success']);
    const looked = await tried({ operation: 'showPayment', parameter });
    assert.equal(JSON.parse(looked.response).data.order_info.amount_details.collected_amount, 2.5);
    const sent = await service.call('GET', `/v1/payments/transactions/${parameter}`, { key });
    assert.equal(looked.response.replace(/\s/g, ''), sent.text.replace(/\s/g, ''));
    const again = await tried({ operation: 'capturePayment', parameter, payload: JSON.stringify(capture) });
    assert.deepEqual([again.status, again.error.code], [400, 'payment_state']);
  });

  test('a capture is created and inspected, without its card', async () => {
    const body = {
      chd: { card: VISA, exp: '12/29', cvv: '123' },
      amount: 100,
      currency: 'USD',
      additional_info: {},
      ttl: 60,
    };
    const created = await tried({ operation: 'createCapture', payload: JSON.stringify(body) });
    assert.equal(created.status, 200, created.response);
    const id = Object.values(JSON.parse(created.response).data).find((each) => typeof each === 'string') as string;
    const inspected = await tried({ operation: 'inspectCapture', parameter: id });
    assert.equal(inspected.status, 200, inspected.response);
    for (const { response } of [created, inspected]) assert.ok(!response.includes(VISA) && !response.includes('"123"'));
    assert.equal((await tried({ operation: 'deleteCapture', parameter: id })).status, 200);
    const gone = JSON.parse((await tried({ operation: 'inspectCapture', parameter: id })).response);
    assert.deepEqual(gone.data, { id, status: 'fail' });
  });

  test('the workbench of another account is unknown', async () => {
    const stranger = await newAccountUser(service, await service.newAccount());
    const body = { operation: 'proxyHash', hash_type: 'SHA256', payload: card() };
    assertUnknown(await stranger.call(runInWorkbench, { params: { account: desk.account }, body }));
  });
});
