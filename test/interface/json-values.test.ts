import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ENDPOINTS as ALL } from '../../src/http/endpoints.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { JOSE, newSender, openJose, proxied, type Sender } from './proxy-requests.ts';
import { LINES, PAYMENT_LINES, patternOf } from './request-lines.ts';

const shared = shareService();

const most = LIMITS.jsonValues;

describe('more JSON values than the limit', () => {
  let service: TestService;
  let me: Sender;
  before(async () => {
    service = await shared.open();
    me = await newSender(service);
    await service.enablePayments(me.account);
  });
  after(() => shared.close());

  /** The body with a member of so many values that it has this many in all. */
  const filled = (body: object, values: number): string => {
    const count = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? 1 + Object.values(value).reduce<number>((sum, each) => sum + count(each), 0)
        : 1;
    return JSON.stringify({ ...body, filling: Array(values - count(body) - 1).fill(1) });
  };

  // /proxy/jose has a test of its own below.
  const others = ALL.filter(({ tag, body }) => body !== undefined && (tag === 'Webhooks' || tag === 'Card form')).map(
    ({ method, path, permission = '', example }) => ({
      ...{ method, permission, body: example.body },
      path: path.replace(':id', 'x'),
    }),
  );
  const lines = [...LINES, ...PAYMENT_LINES, ...others].filter(({ body }) => body !== undefined);
  test('every endpoint that reads JSON is in this test', () => {
    const taking = ALL.filter(({ body, path }) => body !== undefined && path !== JOSE).map(
      ({ method, path }) => `${method} ${path}`,
    );
    assert.ok(taking.length >= 4);
    assert.deepEqual(lines.map((line) => `${line.method} ${patternOf(line)}`).sort(), taking.sort());
  });

  for (const line of lines) {
    const { method, path, body } = line;
    test(`are malformed JSON on ${method} ${patternOf(line)}; exactly the limit is accepted`, async () => {
      const send = (text: string) => service.call(method, path, { key: me.key, body: text });
      const { status, json } = await send(filled(body as object, most + 1));
      assert.equal(status, 400);
      const message = PAYMENT_LINES.includes(line) ? json.message : json.desc;
      assert.match(message, /^malformed JSON at character [0-9]+: more than 50000 values$/);
      const refused = PAYMENT_LINES.includes(line)
        ? { status: 'Fail', message, data: { code: 'malformed_json', description: message, path: '' } }
        : { status_code: 400, status: 'fail', desc: message, data: '' };
      assert.deepEqual(json, refused);
      const fits = await send(filled(body as object, most));
      // The filling is at fault, or is nothing to the endpoint, or the record does not exist.
      assert.ok([200, 400, 404].includes(fits.status), fits.text);
      assert.doesNotMatch(fits.text, /malformed JSON/);
    });
  }

  test('are malformed JSON on /proxy/jose; exactly the limit is forwarded', async () => {
    const token = await me.token('4111111111111111');
    const before = (await me.reads()).length;
    const body = { cvv: `{{${token}:detokenize}}` };
    const { status, json } = await me.jose(filled(body, most + 1));
    assert.equal(status, 400);
    assert.match(json.description, /^malformed JSON at character [0-9]+: more than 50000 values$/);
    assert.equal((await me.reads()).length, before, 'nothing was read');
    const text = filled(body, most);
    const payload = await openJose(proxied(await me.jose(text)));
    assert.equal(payload, text.replace(body.cvv, '4111111111111111'));
  });

  test('do not matter to /proxy/hash, which reads text', async () => {
    proxied(await me.hash(filled({}, most + 1)));
  });

  test('leave the service unaffected', async () => {
    const bodies = Array.from({ length: 8 }, () => me.jose(filled({}, 200_000)));
    for (const { status } of await Promise.all(bodies)) assert.equal(status, 400);
    proxied(await me.jose('{}'));
  });
});
