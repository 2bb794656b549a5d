import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { TestResponse } from '../fixtures/test-service.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { assertRefused, newSender, openJose, openWssec, proxied, type Sender } from './proxy-requests.ts';
import { newCaller } from './vault-requests.ts';

const PAN = '4111111111111111';
const NOBODY = '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c';

/** How a text is put into a payload of each endpoint, and how its position is reported. */
const ENDPOINTS: readonly [name: string, place: string, send: (me: Sender, text: string) => Promise<TestResponse>][] = [
  ['jose', '/cardData/cardNumber', (me, text) => me.jose({ cardData: { cardNumber: text } })],
  ['wssec, text', 'line 2', (me, text) => me.wssec(`<a>\n<b>${escaped(text)}</b></a>`)],
  ['wssec, attribute', 'line 2', (me, text) => me.wssec(`<a>\n<b c="${escaped(text)}"/></a>`)],
  ['wssec, CDATA', 'line 3', (me, text) => me.wssec(`<?xml version="1.0"?>\n<a>\n<![CDATA[${text}]]></a>`)],
  ['hash', 'line 3', (me, text) => me.hash(`\r\n\n${text}`)],
];
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

let service: TestService;
let me: Sender;
let token: string;
let capture: string;
before(async () => {
  service = await startTestService();
  me = await newSender(service);
  token = await me.token(PAN);
  capture = await me.capture({ card: PAN, name: 'Ana', exp: '12/29', cvv: '123' });
});
after(() => service.stop());

const fill = (text: string): string => text.replace(/\bT\b/, token).replace(/\bC\b/, capture);

for (const [name, location, send] of ENDPOINTS) {
  describe(`an invalid placeholder: ${name}`, () => {
    // One of each kind: a text that starts no placeholder, an unknown word, and a placeholder without an end. The
    // grammar has tests of its own.
    const malformed: readonly [text: string, expectation: string][] = [
      ['{{<script>:detokenize}}', 'expected a token, as {{ begins a placeholder'],
      ['{{T:detokenize | extract:pan}}', 'expected one of card, expiration, name, token'],
      ['{{T:detokenize', 'expected | or }}'],
    ];
    for (const [text, expectation] of malformed) {
      test(text, async () => {
        const response = await send(me, fill(text));
        assertRefused(
          response,
          new RegExp(`^${location}: placeholder 1: character [0-9]+ of the (value|line): ${literally(expectation)}$`),
        );
        assert.ok(!response.text.includes(token) && !response.text.includes('<'));
      });
    }

    test('the number counts all earlier placeholders', async () => {
      const good = `{{${token}:detokenize}}`;
      assertRefused(await send(me, `${good} ${good}{{x`), new RegExp(`^${location}: placeholder 3: `));
      assertRefused(
        await send(me, `${good} ${good}{{${NOBODY}:detokenize}}`),
        `${location}: placeholder 3: no such token`,
      );
    });

    test('unknown records: never created, deleted, of another account, environment or type', async () => {
      const other = await newSender(service);
      const production = await newSender(service, { account: me.account, environment: 'production' });
      const deleted = await me.token(PAN);
      const caller = await newCaller(service, { account: me.account });
      await caller.send('DELETE', '/v1/tokens', { tokens: [deleted] });
      const gone = await me.capture({ cvv: '123' });
      await caller.send('DELETE', `/transactions/requests/${gone}`);
      for (const unknown of [
        NOBODY,
        deleted,
        await other.token(PAN),
        await production.token(PAN),
        capture,
        PAN,
        'x',
        '-',
      ])
        assertRefused(await send(me, `{{${unknown}:detokenize}}`), `${location}: placeholder 1: no such token`);
      const chd = { cvv: '123' };
      for (const unknown of [NOBODY, gone, await other.capture(chd), await production.capture(chd), token, PAN, 'x'])
        assertRefused(
          await send(me, `{{${unknown}:transaction}}`),
          `${location}: placeholder 1: no such capture, or its ttl has ended`,
        );
      // The records that are unknown here exist there.
      const theirs = await other.token(PAN);
      proxied(await send(other, `{{${theirs}:detokenize}}`));
    });

    test('a card number in place of a token is never repeated', async () => {
      const pan = luhnPan('542418');
      for (const text of [
        `{{${pan}:detokenize}}`,
        `{{${pan}:transaction | extract:cvv}}`,
        `{{${pan}}}`,
        `{{ ${pan} ${pan}`,
      ]) {
        const response = await send(me, text);
        assertRefused(response, new RegExp(`^${location}: placeholder 1: `));
        assert.ok(!`${response.text}${JSON.stringify(response.headers)}`.includes(pan));
      }
      assert.ok(!JSON.stringify(await me.reads()).includes(pan));
      assert.ok(!service.log.join('').includes(pan));
    });

    test('parts that a record does not have', async () => {
      const [bare, expiring, track] = await Promise.all([
        me.capture({ cvv: '123' }),
        me.capture({ card: PAN }),
        me.capture({ track_2: `${PAN}=29121010000012345678` }),
      ]);
      const missing = (what: string): string => `${location}: placeholder 1: the record has no ${what}`;
      assertRefused(await send(me, `{{${bare}:transaction}}`), missing('card number'));
      assertRefused(await send(me, `{{${bare}:transaction | extract:card | encrypt}}`), missing('card number'));
      assertRefused(await send(me, `{{${bare}:transaction | extract:name}}`), missing('name'));
      assertRefused(await send(me, `{{${expiring}:transaction | extract:expiration | date:MM}}`), missing('expiry'));
      assertRefused(await send(me, `{{${expiring}:transaction | extract:cvv}}`), missing('security code'));
      assertRefused(await send(me, `{{${track}:transaction | extract:cvv}}`), missing('security code'));
      const caller = await newCaller(service, { account: me.account });
      const created = await caller.send('POST', `/transactions/requests/${expiring}/tokenize`, { tags: [], scheme: 7 });
      const nameless = created.json.data.tokens[0].token;
      assertRefused(await send(me, `{{${nameless}:detokenize | extract:name}}`), missing('name'));
      assertRefused(await send(me, `{{${nameless}:detokenize | extract:expiration}}`), missing('expiry'));
      proxied(await send(me, `{{${nameless}:detokenize}}{{${track}:transaction | extract:expiration}}`));
    });
  });
}

const literally = (text: string): string => text.replace(/[|\\{}()[\]^$+*?.-]/g, '\\$&');

test('an expired capture is unknown from that second on', async () => {
  const brief = await me.capture({ card: PAN, cvv: '123' }, 1);
  const text = `{{${brief}:transaction | extract:cvv}}`;
  assert.equal(await openJose(proxied(await me.jose({ cvv: text }))), '{"cvv":"123"}');
  assert.equal(openWssec(proxied(await me.wssec(`<a>${text}</a>`)).xml), '<a>123</a>');
  service.advance(60_000);
  assertRefused(await me.jose({ cvv: text }), '/cvv: placeholder 1: no such capture, or its ttl has ended');
  assertRefused(await me.wssec(`<a>${text}</a>`), 'line 1: placeholder 1: no such capture, or its ttl has ended');
  assertRefused(await me.hash(text), 'line 1: placeholder 1: no such capture, or its ttl has ended');
});
