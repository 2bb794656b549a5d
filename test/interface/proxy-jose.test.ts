import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { calculateJwkThumbprint } from 'jose';
import { shareService } from '../fixtures/shared-service.ts';
import { luhnPan, type TestService } from '../fixtures/test-service.ts';
import type { Sender } from './proxy-requests.ts';
import {
  assertRefused,
  type Headers,
  joseHeader,
  MERCHANT,
  newSender,
  openJose,
  PROCESSOR,
  proxied,
} from './proxy-requests.ts';

const shared = shareService();

const PAN = '4111111111111111';
const AWKWARD = `O'Brien "X" <&> \\ / é 日本 😀`;

describe('POST /proxy/jose', () => {
  let service: TestService;
  let me: Sender;
  let token: string;
  let capture: string;
  before(async () => {
    service = await shared.open();
    me = await newSender(service);
    token = await me.token(PAN, { name: AWKWARD, exp: '03/31' });
    capture = await me.capture({ card: '5200828282828210', name: 'Bo', exp: '11/28', cvv: '0123' });
  });
  after(() => shared.close());

  /** Returns what the processor decrypts when this is sent. */
  const received = async (body: string, headers?: Headers): Promise<string> =>
    openJose(proxied(await me.jose(body, headers)));
  const value = async (placeholder: string): Promise<string> =>
    JSON.parse(await received(JSON.stringify({ value: placeholder }))).value;

  describe('200', () => {
    const parts: readonly [placeholder: string, expected: string][] = [
      ['{{T:detokenize}}', PAN],
      ['{{T:detokenize | extract:card}}', PAN],
      ['{{T:detokenize | extract:name}}', AWKWARD],
      ['{{T:detokenize | extract:token}}', 'T'],
      ['{{T:detokenize | extract:expiration}}', '03/31'],
      ['{{T:detokenize | extract:expiration | date:MM}}', '03'],
      ['{{T:detokenize | extract:expiration | date:YY}}', '31'],
      ['{{T:detokenize | extract:expiration | date:YYYY}}', '2031'],
      ['{{T:detokenize | extract:expiration | date:MM/YY}}', '03/31'],
      ['{{T:detokenize | extract:expiration | date:MM/YYYY}}', '03/2031'],
      ['{{T:detokenize | extract:expiration | date:YYYY/MM}}', '2031/03'],
      ['{{T:detokenize | extract:expiration | date:YYYY-MM}}', '2031-03'],
      ['{{C:transaction}}', '5200828282828210'],
      ['{{C:transaction | extract:card}}', '5200828282828210'],
      ['{{C:transaction | extract:name}}', 'Bo'],
      ['{{C:transaction | extract:token}}', 'C'],
      ['{{C:transaction | extract:cvv}}', '0123'],
      ['{{C:transaction | extract:expiration}}', '11/28'],
      ['{{C:transaction | extract:expiration | date: YYYY-MM}}', '2028-11'],
      ['{{T:detokenize|extract:card}}', PAN],
      ['{{\t\r\n T \n:\r detokenize \t| \n extract \t:\n card \r\n}}', PAN],
      ['x{{T:detokenize}}y', `x${PAN}y`],
      ['{{T:detokenize}}{{C:transaction}}', `${PAN}5200828282828210`],
      ['a {{C:transaction | extract:cvv}} b {{T:detokenize | extract:name}} c', `a 0123 b ${AWKWARD} c`],
      ['{{T:detokenize}}}', `${PAN}}`],
      ['{ {T:detokenize} } }}', '{ {T:detokenize} } }}'],
    ];
    for (const [placeholder, expected] of parts) {
      test(JSON.stringify(placeholder), async () => {
        const fill = (text: string): string => text.replaceAll(/\b[TC]\b/g, (sign) => (sign === 'T' ? token : capture));
        const id = expected === 'T' ? token : expected === 'C' ? capture : expected;
        const isLiteral = expected.startsWith('{ ');
        assert.equal(await value(isLiteral ? placeholder : fill(placeholder)), id);
      });
    }

    test('everything except placeholders is unchanged byte for byte', async () => {
      const start =
        '\r\n {"z" : 0.00, "a":1e5 ,"big":123456789012345678901234567890,\t"u":"\\u00e9\\/\\ud83d\\ude00é日😀 }} \\u007f",';
      const end = ` "n":null,"":[ ] , "references": [ {}, {"referenceKey":"k"} ],"b":[true,false,-0,-0.0E+0]}\n `;
      const text = `${start}"cardData":{"cardNumber":"{{${token}:detokenize}}"},${end}`;
      assert.equal(await received(text), `${start}"cardData":{"cardNumber":"${PAN}"},${end}`);
      const plain = `${start}"x":1,${end}`;
      assert.equal(await received(plain), plain);
    });

    test('the example of the interface', async () => {
      const body = {
        uniqueCode: 'A-1',
        purchaseAmount: 12500,
        cardData: {
          cardNumber: `{{${token}:detokenize | extract:card}}`,
          cardExpireMonth: `{{${token}:detokenize | extract:expiration | date: MM}}`,
          cardExpireYear: `{{${token}:detokenize | extract:expiration | date: YY}}`,
          cvv: `{{${capture}:transaction | extract:cvv}}`,
        },
        references: [{ referenceKey: 'holder', referenceDescription: `{{${token}:detokenize | extract:name}}` }],
      };
      const cardData = { cardNumber: PAN, cardExpireMonth: '03', cardExpireYear: '31', cvv: '0123' };
      const references = [{ referenceKey: 'holder', referenceDescription: AWKWARD }];
      assert.deepEqual(JSON.parse(await received(JSON.stringify(body))), { ...body, cardData, references });
    });

    test('values are escaped as by JSON.stringify, and are not searched again', async () => {
      const text = `{"a":"{{${token}:detokenize | extract:name}}"}`;
      assert.equal(await received(text), `{"a":${JSON.stringify(AWKWARD)}}`);
      const sly = await me.token(PAN, { name: `{{${token}:detokenize}}` });
      assert.equal(await value(`{{${sly}:detokenize | extract:name}}`), `{{${token}:detokenize}}`);
    });

    test('a name of 255 characters, also with four bytes per character', async () => {
      for (const name of ['n'.repeat(255), '😀'.repeat(255)]) {
        const long = await me.token(PAN, { name });
        assert.equal(await value(`<{{${long}:detokenize | extract:name}}>`), `<${name}>`);
      }
    });

    test('a placeholder may be written with escapes', async () => {
      const escaped = [...`{{${token}:detokenize}}`].map(
        (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
      const text = `{"a":"\\n\\u00e9${escaped.join('')}\\t\\/","b":"\\u007b{${token}:detokenize\\u007d}"}`;
      assert.equal(await received(text), `{"a":"\\n\\u00e9${PAN}\\t\\/","b":"${PAN}"}`);
    });

    test('keys and numbers are not searched', async () => {
      const text = `{"{{x":1,"{{${token}:detokenize}}":"{{${token}:detokenize}}"}`;
      assert.equal(await received(text), `{"{{x":1,"{{${token}:detokenize}}":"${PAN}"}`);
    });

    test('100 placeholders of 60 records', async () => {
      const tokens = await Promise.all(Array.from({ length: 60 }, () => me.token(luhnPan('411111'))));
      const list = Array.from({ length: 100 }, (_, index) => `{{${tokens[index % 60]}:detokenize | extract:token}}`);
      const text = JSON.stringify({ references: [], list });
      const { list: got } = JSON.parse(await received(text));
      assert.deepEqual(
        got,
        Array.from({ length: 100 }, (_, index) => tokens[index % 60]),
      );
    });

    test('a payload of 1 MiB', async () => {
      const full = `{"a":"${'x'.repeat(1024 * 1024 - 8)}"}`;
      assert.equal(await received(full), full);
    });

    test('the smallest payload, null members, and unknown ones', async () => {
      for (const text of [
        '{}',
        ' { } ',
        '{"cardData":null,"references":null}',
        '{"other":{"a":[1]}}',
        '{"cardData":{}}',
      ])
        assert.equal(await received(text), text);
    });

    test('headers contain algorithms and key ids', async () => {
      const data = proxied(await me.jose({}));
      const [processor = '', merchant = ''] = await Promise.all(
        [PROCESSOR, MERCHANT].map(({ publicKey }) =>
          calculateJwkThumbprint(publicKey.export({ format: 'jwk' }) as object),
        ),
      );
      const outer = joseHeader(data.value);
      assert.deepEqual(outer, { alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: processor, typ: 'JWT', cty: 'JWT' });
      const { alg, kid } = joseHeader(data.encryption);
      assert.deepEqual({ alg, kid }, { alg: 'RS256', kid: merchant });
    });

    test('equal payloads have different results', async () => {
      const [one, other] = await Promise.all([me.jose({ a: 1 }), me.jose({ a: 1 })]);
      const [first, second] = [proxied(one).value.split('.'), proxied(other).value.split('.')];
      for (const part of [1, 2, 3, 4]) assert.notEqual(first[part], second[part]);
    });
  });

  describe('400', () => {
    const refused: readonly [body: string, description: string | RegExp][] = [
      ['', /^malformed JSON/],
      ['{', /^malformed JSON/],
      ['{"a":1,"a":2}', /^malformed JSON/],
      ['{"a":{"b":1,"b":2}}', /^malformed JSON/],
      [`{"a":${'['.repeat(32)}${']'.repeat(32)}}`, /^malformed JSON/],
      ['\ufeff{}', /^malformed JSON/],
      ['{} {}', /^malformed JSON/],
      ['{"a":NaN}', /^malformed JSON/],
      ['{"a":"\n"}', /^malformed JSON/],
      ['[]', /expected (a JSON |an )?object/],
      ['"{{x"', /expected (a JSON |an )?object/],
      ['{"cardData":[]}', /^cardData: expected/],
      ['{"cardData":"{{x"}', /^cardData: expected/],
      ['{"references":{}}', /^references: expected/],
      ['{"references":[1]}', /^references\[0\]: expected/],
      ['{"references":[{},"x"]}', /^references\[1\]: expected/],
    ];
    for (const [body, description] of refused) {
      test(body.slice(0, 40), async () => assertRefused(await me.jose(body), description));
    }

    test('bytes that are not UTF-8, alone and beside a placeholder', async () => {
      for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
        const body = Buffer.concat([
          Buffer.from(`{"a":"{{${token}:detokenize}}`),
          Buffer.from(bytes),
          Buffer.from('"}'),
        ]);
        assertRefused(await me.jose(body), /^malformed JSON/);
      }
    });
  });
});
