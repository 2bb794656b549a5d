import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import { luhnPan, type TestService } from '../fixtures/test-service.ts';
import {
  assertForbidden,
  assertRefused,
  CAPTURES,
  type Caller,
  capture,
  dataOf,
  newCaller,
  VISA,
} from './vault-requests.ts';

const shared = shareService();

const MASKED = '411111******1111';
const TRACK = `${VISA}=31011010000012345678`;

let service: TestService;
let me: Caller;
before(async () => {
  service = await shared.open();
  me = await newCaller(service);
});
after(() => shared.close());

/** The texts of both answers for a capture whose additional_info is written as here. */
async function informed(info: string): Promise<{ retrieved: string; inspected: string }> {
  const body = JSON.stringify(capture({ chd: { cvv: '123' }, additional_info: 'HERE' })).replace('"HERE"', () => info);
  const { id } = dataOf(await me.send('POST', CAPTURES, body));
  const [retrieved, inspected] = [
    await me.send('GET', `${CAPTURES}/${id}`),
    await me.send('GET', `${CAPTURES}/${id}/inspect`),
  ];
  dataOf(retrieved);
  dataOf(inspected);
  return { retrieved: retrieved.text, inspected: inspected.text };
}

/** Is additional_info in the answer, written exactly so? */
function assertInfo(response: string, info: string): void {
  const start = response.indexOf('"additional_info":') + '"additional_info":'.length;
  assert.equal(response.slice(start, start + info.length), info);
  assert.match(response[start + info.length] ?? '', /[,}]/);
}

describe('GET /transactions/requests/{id}/inspect', () => {
  const inspect = (id: string) => me.send('GET', `${CAPTURES}/${id}/inspect`);

  describe('200', () => {
    test('no sensitive data, and the pan_index of retrieval', async () => {
      const chd = { card: VISA, name: 'Zoraida Quispe', exp: '12/29', cvv: '918', track_2: TRACK };
      const id = await me.capture({ chd, currency: 'cop', additional_info: { order: 'A-1001' } });
      const response = await inspect(id);
      const retrieved = dataOf(await me.send('GET', `${CAPTURES}/${id}`));
      assert.deepEqual(dataOf(response), {
        id,
        amount: 12500,
        currency: 'COP',
        additional_info: { order: 'A-1001', pan_index: retrieved.additional_info.pan_index },
        status: 'success',
      });
      assert.equal((await me.send('GET', `${CAPTURES}/${id}/inspect/`)).text, response.text);
    });

    test('without a card number there is no pan_index', async () => {
      assert.deepEqual(dataOf(await inspect(await me.capture({ chd: { cvv: '123' } }))).additional_info, {});
    });

    test('missing, deleted, foreign or malformed: fail, and a card number in the path is not repeated', async () => {
      const [deleted, theirs] = [await me.capture(), await (await newCaller(service)).capture()];
      const production = await newCaller(service, { account: me.account, environment: 'production' });
      await me.send('DELETE', `${CAPTURES}/${deleted}`);
      const ids = [deleted, theirs, await production.capture(), '00000000-0000-4000-8000-000000000000', 'x y'];
      for (const id of ids) assert.deepEqual(dataOf(await inspect(encodeURIComponent(id))), { id, status: 'fail' });
      assert.deepEqual(dataOf(await inspect(VISA)), { id: MASKED, status: 'fail' });
    });
  });

  describe('200, card numbers in additional_info', () => {
    const nineteen = luhnPan('455667', 19);
    const twelve = luhnPan('455667', 12);
    const cases: readonly (readonly [about: string, sent: string, inspected: string])[] = [
      ['a string', `{"a":"${VISA}"}`, `{"a":"${MASKED}"}`],
      ['a number', `{"a":${VISA}}`, `{"a":"${MASKED}"}`],
      ['a number with exponent', '{"a":4.111111111111111e15}', `{"a":"${MASKED}"}`],
      ['a key', `{"${VISA}":1}`, `{"${MASKED}":1}`],
      ['nested', `{"a":[{"b":["x",{"${VISA}":"${VISA}"}]}]}`, `{"a":[{"b":["x",{"${MASKED}":"${MASKED}"}]}]}`],
      ['blanks', '{"a":"4111 1111 1111 1111"}', `{"a":"${MASKED}"}`],
      ['dashes', '{"a":"4111-1111-1111-1111"}', `{"a":"${MASKED}"}`],
      ['blanks and dashes, many', '{"a":"4 1 1 1-1111 - 1111  1111"}', `{"a":"${MASKED}"}`],
      ['in the middle of a text', `{"a":"card ${VISA}, thanks"}`, `{"a":"card ${MASKED}, thanks"}`],
      ['beside letters', `{"a":"x${VISA}y"}`, `{"a":"x${MASKED}y"}`],
      ['twice', `{"a":"${VISA}/${VISA}"}`, `{"a":"${MASKED}/${MASKED}"}`],
      ['written with escapes', `{"a":"\\u0034${VISA.slice(1)}"}`, `{"a":"${MASKED}"}`],
      ['19 digits as a number', `{"a":${nineteen}}`, `{"a":"455667*********${nineteen.slice(-4)}"}`],
      ['12 digits', `{"a":"${twelve}"}`, `{"a":"455667**${twelve.slice(-4)}"}`],
      [
        'none: fails Luhn',
        '{"a":"4111111111111112","b":4111111111111112}',
        '{"a":"4111111111111112","b":4111111111111112}',
      ],
      [
        'none: 11 and 20 digits',
        '{"a":"00000000000","b":"00000000000000000001"}',
        '{"a":"00000000000","b":"00000000000000000001"}',
      ],
    ];
    for (const [about, sent, masked] of cases) {
      test(`${about}: truncated in inspection, unchanged in retrieval`, async () => {
        const { retrieved, inspected } = await informed(sent);
        assertInfo(inspected, masked);
        assert.deepEqual(JSON.parse(retrieved).data.additional_info, JSON.parse(sent));
      });
    }
  });

  describe('403', () => {
    test('every cause has the same body', async () => {
      const path = `${CAPTURES}/${await me.capture()}/inspect`;
      await assertForbidden(service, { method: 'GET', path }, 'captures:inspect');
    });
  });
});

describe('additional_info, preserved exactly', () => {
  const exact = [
    '{}',
    '{"a":10.50,"b":0.00,"c":1e400,"d":-0,"e":1E+2,"f":-0.0}',
    '{"a":123456789012345678901234567890,"b":-9007199254740993,"c":9007199254740993}',
    '{"__proto__":{"x":1},"constructor":"c","toString":null,"hasOwnProperty":[]}',
    '{"a":{"__proto__":{"__proto__":1}},"toJSON":"x","b":{"toJSON":{}}}',
    '{"":"","a":null,"b":false,"c":[[],{}],"d":[1.0,[2.50]]}',
    '{"a":"\\ud800","\\udc00":1}',
    '{"a":"\\u0000\\u001f\\"\\\\","b":"é🙂\u2028\u007f"}',
    '{"rawJSON":"1","a":{"rawJSON":"2"}}',
    '{"id":"x","pan":"y","status":"z","additional_info":{"additional_info":1}}',
  ];
  for (const info of exact) {
    test(`${info}: is returned as it was sent, retrieved and inspected`, async () => {
      const { retrieved, inspected } = await informed(info);
      assertInfo(retrieved, info);
      assertInfo(inspected, info);
    });
  }

  test('up to 32 levels', async () => {
    const info = `{"a":${'['.repeat(30)}1.0${']'.repeat(30)}}`;
    const { retrieved, inspected } = await informed(info);
    assertInfo(retrieved, info);
    assertInfo(inspected, info);
  });

  test('16 KiB of numbers', async () => {
    const info = `{"a":[${Array.from({ length: 3000 }, (_, index) => `${index % 10}.10`).join(',')}]}`;
    const { retrieved, inspected } = await informed(info);
    assertInfo(retrieved, info);
    assertInfo(inspected, info);
  });

  test('with a card number, pan_index comes last and nothing else changes', async () => {
    const info = '{"__proto__":10.50,"a":1e400}';
    const body = JSON.stringify(capture({ additional_info: 'HERE' })).replace('"HERE"', info);
    const { id } = dataOf(await me.send('POST', CAPTURES, body));
    for (const path of [`${CAPTURES}/${id}`, `${CAPTURES}/${id}/inspect`])
      assert.match((await me.send('GET', path)).text, /\{"__proto__":10\.50,"a":1e400,"pan_index":"[0-9a-f]{32}"\}/);
  });

  test('a key called __proto__ at the top of a request is ignored like any other', async () => {
    const body = JSON.stringify(capture()).replace('{', '{"__proto__":{"amount":1},');
    const { id } = dataOf(await me.send('POST', CAPTURES, body));
    assert.equal(dataOf(await me.send('GET', `${CAPTURES}/${id}`)).amount, 12500);
    const missing = JSON.stringify(capture({ amount: undefined })).replace('{', '{"__proto__":{"amount":1},');
    assertRefused(await me.send('POST', CAPTURES, missing), 'amount: required');
  });
});
