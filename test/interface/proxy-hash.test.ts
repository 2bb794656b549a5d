import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { exchange, requestText } from '../fixtures/wire.ts';
import { assertRefused, HASH, type Headers, newSender, proxied, type Sender, withKey } from './proxy-requests.ts';

const shared = shareService();

const PAN = '4111111111111111';
const AWKWARD = `O'Brien "X" <&> \\ / é 日本 😀`;
const TYPES = { SHA256: 'sha256', SHA384: 'sha384', SHA512: 'sha512' } as const;

describe('POST /proxy/hash', () => {
  let service: TestService;
  let me: Sender;
  let token: string;
  let capture: string;
  before(async () => {
    service = await shared.open();
    // No keys are needed to hash.
    me = await newSender(service, { setup: false });
    token = await me.token(PAN, { name: AWKWARD, exp: '03/31' });
    capture = await me.capture({ card: '5200828282828210', name: 'Bo', exp: '11/28', cvv: '0123' });
  });
  after(() => shared.close());

  const digest = (text: string | Uint8Array, type: keyof typeof TYPES = 'SHA256'): string =>
    createHash(TYPES[type]).update(text).digest('base64');
  const assertHashed = async (sent: string, expected: string, headers?: Headers): Promise<void> =>
    assert.deepEqual(proxied(await me.hash(sent, headers)), { hashValue: digest(expected), hashType: 'SHA256' });

  describe('200', () => {
    for (const type of Object.keys(TYPES) as (keyof typeof TYPES)[]) {
      test(`${type} of the example of the interface`, async () => {
        const body = (number: string, month: string, year: string, holder: string, csc: string): string =>
          `{"chd":{"holder":"${holder}","number":"${number}","csc":"${csc}","numberLength":16,"expiration":{"month":"${month}","year":"${year}"},"token":null}}`;
        const expiration = `{{${token}:detokenize | extract:expiration | date: `;
        const sent = body(
          `{{${token}:detokenize | extract:card}}`,
          `${expiration}MM}}`,
          `${expiration}YYYY}}`,
          `{{${token}:detokenize | extract:name}}`,
          `{{${capture}:transaction | extract:cvv}}`,
        );
        const name = JSON.stringify(AWKWARD).slice(1, -1);
        const expected = digest(body(PAN, '03', '2031', name, '0123'), type);
        assert.deepEqual(proxied(await me.hash(sent, {}, `type=${type}`)), { hashValue: expected, hashType: type });
      });
    }

    test('every part and date form', async () => {
      const card = `{{${token}:detokenize`;
      const other = `{{${capture}:transaction`;
      const expected: Readonly<Record<string, string>> = {
        [`${card}}}`]: PAN,
        [`${card}|extract:card}}`]: PAN,
        [`${card} | extract:token}}`]: token,
        [`${card} | extract:expiration}}`]: '03/31',
        [`${card} | extract:expiration | date:MM}}`]: '03',
        [`${card} | extract:expiration | date:YY}}`]: '31',
        [`${card} | extract:expiration | date:YYYY}}`]: '2031',
        [`${card} | extract:expiration | date:MM/YY}}`]: '03/31',
        [`${card} | extract:expiration | date:MM/YYYY}}`]: '03/2031',
        [`${card} | extract:expiration | date:YYYY/MM}}`]: '2031/03',
        [`${card} | extract:expiration | date:YYYY-MM}}`]: '2031-03',
        [`${other}}}`]: '5200828282828210',
        [`${other} | extract:cvv}}`]: '0123',
        [`${other} | extract:name}}`]: 'Bo',
        [`${other} | extract:token}}`]: capture,
      };
      for (const [sent, value] of Object.entries(expected)) await assertHashed(sent, value);
      await assertHashed(Object.keys(expected).join('\n'), Object.values(expected).join('\n'));
    });

    test('an empty body, and none at all', async () => {
      await assertHashed('', '');
      const headers = { 'ft-access-key': me.key };
      assert.equal(proxied(await service.call('POST', `${HASH}?type=SHA256`, { headers })).hashValue, digest(''));
    });

    test('any text, byte for byte', async () => {
      for (const text of [
        ' ',
        '\r\n',
        '0.00',
        '{',
        '{"a":1,"a":2}',
        '\ufeff{}',
        '<a/>',
        'é日😀',
        '\u0000\u0001',
        '}}',
        '{ {',
      ])
        await assertHashed(text, text);
      const deep = `${'['.repeat(100)}`;
      await assertHashed(`${deep}{{${token}:detokenize}}`, `${deep}${PAN}`);
    });

    test('placeholders in keys and anywhere else, but not in escapes', async () => {
      await assertHashed(`{"{{${token}:detokenize}}":{{${capture}:transaction}}}`, `{"${PAN}":5200828282828210}`);
      for (const text of [`\\u007b\\u007b${token}:detokenize}}`, '{\\u007bx', '&#123;&#123;x', '%7B%7Bx'])
        await assertHashed(text, text);
    });

    test('values are escaped as in a JSON string, whatever the format', async () => {
      const name = `{{${token}:detokenize | extract:name}}`;
      await assertHashed(`<a>${name}</a>`, `<a>${JSON.stringify(AWKWARD).slice(1, -1)}</a>`);
    });

    test('any media type, or none', async () => {
      const types = [
        'application/json',
        'text/plain; charset=iso-8859-1',
        'application/octet-stream',
        'nonsense',
        ';',
        '*/*',
      ];
      for (const type of types) await assertHashed('é', 'é', { 'content-type': type });
      const headers = { 'ft-access-key': me.key, 'content-length': '3' };
      const [response] = await exchange(service, requestText(`POST ${HASH}?type=SHA256`, headers, 'abc'));
      assert.equal(JSON.parse(response?.body ?? '').data.hashValue, digest('abc'));
    });

    test('a body of 1 MiB', async () => {
      const full = 'x'.repeat(1024 * 1024);
      await assertHashed(full, full);
    });

    test('other members of the query, and escapes in it', async () => {
      const headers = withKey(me.key, 'text/plain');
      for (const path of ['/proxy/hash?a=b&type=SHA256&c', '/proxy/hash?typ%65=SHA%32%356'])
        assert.equal(proxied(await service.call('POST', path, { headers, body: 'a' })).hashValue, digest('a'), path);
    });
  });

  describe('400', () => {
    const queries = [
      '',
      'type',
      'type=',
      'type=sha256',
      'type=SHA-256',
      'type=SHA1',
      'type=MD5',
      'type=SHA256&type=SHA256',
      'type=SHA256&type=SHA512',
      'type=SHA256&type=',
      'Type=SHA256',
      'type=SHA256%20',
      'type=SHA256,SHA512',
      'type[]=SHA256',
      'type=toString',
      'type=4111111111111111',
    ];
    for (const query of queries) {
      test(`?${query}`, async () => {
        assertRefused(await me.hash('a', {}, query), 'type: expected one of SHA256, SHA384, SHA512, given once');
      });
    }

    test('no query', async () => {
      const headers = withKey(me.key, 'text/plain');
      assertRefused(await service.call('POST', HASH, { headers, body: 'a' }), /^type: /);
      assertRefused(await service.call('POST', `${HASH}?`, { headers, body: 'a' }), /^type: /);
    });

    test('a body that is not UTF-8', async () => {
      for (const bytes of [[0xff], [0xe9], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf4, 0x90, 0x80, 0x80]])
        assertRefused(await me.hash(Buffer.from(bytes)), 'body: expected UTF-8 text');
      assertRefused(await me.hash(Buffer.from('{"a":1}', 'utf16le').fill(0xd8, 0, 1)), 'body: expected UTF-8 text');
    });

    test('{{ that starts no placeholder', async () => {
      for (const text of ['{{', '{"a":{{"b":1}}}', `{{{${token}:detokenize}}}`, '<!-- {{ -->'])
        assertRefused(await me.hash(text), /^line 1: placeholder 1: /);
    });
  });
});
