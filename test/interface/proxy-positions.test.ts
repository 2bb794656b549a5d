import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { assertRefused, newSender, proxied, type Sender } from './proxy-requests.ts';

const shared = shareService();

const NOBODY = '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c';

let service: TestService;
let me: Sender;
let token: string;
before(async () => {
  service = await shared.open();
  me = await newSender(service);
  token = await me.token('4111111111111111');
});
after(() => shared.close());

describe('the location of a placeholder', () => {
  const bad = '{{x';
  const pointers: readonly [body: unknown, pointer: string][] = [
    [{ cardData: { cvv: bad } }, '/cardData/cvv'],
    [{ references: [{}, { referenceKey: 'k', referenceDescription: bad }] }, '/references/1/referenceDescription'],
    [{ credentialOnFile: { cardNumber: [bad] } }, '/credentialOnFile/cardNumber/0'],
    [{ secretMember: bad }, '/*'],
    [{ '4111111111111111': { 'a/b~c': [[bad]] } }, '/*/*/0/0'],
    [{ '': bad }, '/*'],
    [{ services: { '4111111111111111': bad } }, '/services/*'],
    [{ toString: bad }, '/*'],
    ['{"__proto__":{"constructor":"{{x"}}', '/*/*'],
    ['{"\\u0063vv":"{{x"}', '/cvv'],
  ];
  for (const [body, pointer] of pointers) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    // Where a key is hidden, the position in the body identifies it.
    const location = pointer.includes('*')
      ? `${pointer} (character ${text.indexOf('"{{x"') + 1} of the body)`
      : pointer;
    test(`${text} is at ${location}`, async () => {
      assertRefused(await me.jose(text), `${location}: placeholder 1: character 4 of the value: expected :`);
    });
  }

  test('the character is counted in the decoded value', async () => {
    assertRefused(
      await me.jose('{"cvv":"\\u00e9\\n{{x"}'),
      '/cvv: placeholder 1: character 6 of the value: expected :',
    );
    assertRefused(
      await me.wssec('<a>&#233;&amp;{{x</a>'),
      'line 1: placeholder 1: character 6 of the value: expected :',
    );
  });

  test('lines are those of the request', async () => {
    const envelope = (content: string): string =>
      `<?xml version="1.0"?>\n<s:Envelope\n xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">\n<s:Header>\n</s:Header><s:Body>\n${content}\n</s:Body></s:Envelope>`;
    assertRefused(await me.wssec(envelope('<a>\n\n{{x</a>')), /^line 8: placeholder 1: /);
    assertRefused(await me.wssec(`\n<!-- \n {{ -->\n<a\n b="\n{{x"/>`.trimStart()), /^line 5: placeholder 1: /);
    assertRefused(await me.wssec('\r\r\n<a>\r{{x</a>'), /^line 4: placeholder 1: /);
    assertRefused(await me.hash('{{x'), /^line 1: placeholder 1: /);
    assertRefused(await me.hash('\r\n\r\n{{x'), /^line 3: placeholder 1: /);
    assertRefused(await me.hash('\n'.repeat(5000).concat('{{x')), /^line 5001: placeholder 1: /);
  });

  test('numbers continue from value to value', async () => {
    const good = `{{${token}:detokenize}}`;
    const body = { cvv: `${good}${good}`, brandId: good, mcc: `${good}{{x` };
    assertRefused(await me.jose(body), /^\/mcc: placeholder 5: /);
    assertRefused(
      await me.wssec(`<a b="${good}">${good}\n<![CDATA[${good}]]>\n<c d='{{x'/></a>`),
      /^line 3: placeholder 4: /,
    );
  });

  test('100 placeholders over all values are accepted, 101 are not', async () => {
    const some = `{{${token}:detokenize}}`.repeat(60);
    for (const [more, isTaken] of [
      [40, true],
      [41, false],
    ] as const) {
      const rest = `{{${token}:detokenize}}`.repeat(more);
      const responses = [
        await me.jose({ cvv: some, mcc: rest }),
        await me.wssec(`<a b="${some}">${rest}</a>`),
        await me.hash(`${some}\n${rest}`),
      ];
      for (const response of responses) {
        if (isTaken) proxied(response);
        else assertRefused(response, /: placeholder 101: .*: expected at most 100 placeholders$/);
      }
    }
  });

  test('the first error in the payload is reported, and nothing is read when a placeholder is malformed', async () => {
    const before = (await me.reads()).length;
    const unknown = `{{${NOBODY}:detokenize}}`;
    assertRefused(await me.jose({ cvv: unknown, mcc: '{{x' }), /^\/mcc: placeholder 2: character/);
    assert.equal((await me.reads()).length, before);
    const captures = `{{${NOBODY}:transaction}}`;
    assertRefused(
      await me.jose({ cvv: captures, mcc: unknown }),
      '/cvv: placeholder 1: no such capture, or its ttl has ended',
    );
    assertRefused(await me.jose({ cvv: unknown, mcc: captures }), '/cvv: placeholder 1: no such token');
  });
});
