import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { listAudit } from '../../console/wire/audit.ts';
import { tryPayload } from '../../console/wire/proxy.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { formatReason } from '../../src/kernel/reasons.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newSender, openJose, openWssec, type Sender } from '../interface/proxy-requests.ts';
import { VISA } from '../interface/vault-requests.ts';
import { type AccountUser, assertRefused, assertUnknown, newAccountUser, successData } from './account-user.ts';

describe('the workbench', { timeout: 120_000 }, () => {
  let service: TestService;
  let sender: Sender;
  let desk: AccountUser;
  let token: string;

  before(async () => {
    service = await startTestService();
    sender = await newSender(service);
    desk = await newAccountUser(service, sender.account);
    token = await sender.token(VISA);
  });
  after(() => service.stop());

  const tried = async (body: object, of = desk) => successData(await of.call(tryPayload, { body }));
  const card = (): string => `{{ ${token} : detokenize | extract:card }}`;

  test('returns the result of the endpoint: a payload that only the processor can decrypt', async () => {
    const jose = await tried({ kind: 'jose', payload: `{"cardNumber":"${card()}"}` });
    assert.deepEqual([jose.status, jose.error], [200, null]);
    const response = JSON.parse(jose.response);
    assert.equal(jose.response, JSON.stringify(response, undefined, 2));
    assert.deepEqual(Object.keys(response), ['status', 'data']);
    assert.equal(await openJose(response.data), `{"cardNumber":"${VISA}"}`);
    const wssec = await tried({ kind: 'wssec', payload: `<a>${card()}</a>` });
    assert.equal(openWssec(JSON.parse(wssec.response).data.xml), `<a>${VISA}</a>`);
    const hash = await tried({ kind: 'hash', hash_type: 'SHA512', payload: `ñ ${card()}` });
    const hashValue = createHash('sha512').update(`ñ ${VISA}`).digest('base64');
    assert.deepEqual(JSON.parse(hash.response), { status: 200, data: { hashValue, hashType: 'SHA512' } });
    for (const { response: text, duration_ms } of [jose, wssec, hash]) {
      assert.ok(!text.includes(VISA));
      assert.ok(Number.isInteger(duration_ms) && duration_ms >= 0);
    }
  });

  test('a payload is rejected as by the endpoint', async () => {
    const cases = [
      { kind: 'jose', payload: '{"a":', code: 'malformed_json' },
      { kind: 'jose', payload: '{"cardData":1}', code: 'invalid_field' },
      { kind: 'jose', payload: '{"cardNumber":"{{x | y}}"}', code: 'invalid_placeholder' },
      {
        kind: 'jose',
        payload: '{"cardNumber":"{{4111111111111112:detokenize | extract:card}}"}',
        code: 'unknown_token',
      },
      { kind: 'wssec', payload: '<a>', code: 'malformed_xml' },
      { kind: 'hash', payload: 'x', code: 'invalid_field' },
    ];
    for (const { code, ...body } of cases) {
      const { status, response, error } = await tried(body);
      const { payload } = body;
      const sent =
        body.kind === 'jose'
          ? await sender.jose(payload)
          : body.kind === 'wssec'
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
      { kind: 'jose', payload: '{\n "a": 1,\n "a": 2}', at: [3, 2] },
      { kind: 'jose', payload: '{"cardNumber":\r\n  "\\n{{x | y}}"}', at: [2, 10] },
      { kind: 'jose', payload: '\n{"cardNumber":"{{4111111111111112:detokenize}}"}', at: [2, 16] },
      { kind: 'wssec', payload: '<a>\n  <b></a>', at: [2, 9] },
      { kind: 'wssec', payload: '<a>\n&#32;{{x | y}}</a>', at: [2, 10] },
      { kind: 'wssec', payload: envelope('<a b="{{x}}"/>'), at: [2, 18] },
      { kind: 'hash', hash_type: 'SHA256', payload: 'one\rtwo {{x | y}}', at: [2, 9] },
    ];
    for (const { at, ...body } of cases) {
      const { line, column } = (await tried(body)).error.explanation.values;
      assert.deepEqual([line, column], at, body.payload);
    }
  });

  test("missing keys are reported with the endpoint's error", async () => {
    const other = await newAccountUser(service, await service.newAccount());
    const { status, error } = await tried({ kind: 'jose', payload: '{}' }, other);
    assert.deepEqual([status, error.code], [400, 'proxy_not_configured']);
  });

  test('a placeholder reads records of the account’s own sandbox only', async () => {
    const others = await newSender(service);
    const live = await newSender(service, { account: sender.account, environment: 'production' });
    for (const foreign of [await others.token(VISA), await live.token(VISA)]) {
      const { error } = await tried({
        kind: 'hash',
        hash_type: 'SHA256',
        payload: `{{${foreign}:detokenize | extract:card}}`,
      });
      assert.equal(error.code, 'unknown_token');
    }
  });

  test('reads of card data are audited with the user', async () => {
    await tried({ kind: 'hash', hash_type: 'SHA256', payload: card() });
    const body = { target: `token:${token}`, actor: desk.person.id };
    const [read] = successData(await desk.call(listAudit, { body })).records;
    assert.deepEqual(
      [read.action, read.environment, read.actor_type, read.detail],
      ['token.detokenized', 'sandbox', 'person', [{ name: 'use', value: 'hash' }]],
    );
  });

  test('a body of another kind is reported with its field', async () => {
    assertRefused(await desk.call(tryPayload, { body: { kind: 'xml', payload: 'x' } }), 'invalid_field', 'kind');
    assertRefused(await desk.call(tryPayload, { body: { kind: 'jose' } }), 'invalid_field', 'payload');
    const payload = 'x'.repeat(LIMITS.workbenchPayloadCharacters + 1);
    assertRefused(await desk.call(tryPayload, { body: { kind: 'hash', payload } }), 'invalid_field', 'payload');
    const hash = { kind: 'hash', hash_type: 'MD5', payload: 'x' };
    assertRefused(await desk.call(tryPayload, { body: hash }), 'invalid_field', 'hash_type', 'MD5');
  });

  test('the workbench of another account is unknown', async () => {
    const stranger = await newAccountUser(service, await service.newAccount());
    const body = { kind: 'hash', hash_type: 'SHA256', payload: card() };
    assertUnknown(await stranger.call(tryPayload, { params: { account: desk.account }, body }));
  });
});
