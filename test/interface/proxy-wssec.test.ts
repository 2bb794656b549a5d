import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { type Headers, newSender, openWssec, proxied, type Sender } from './proxy-requests.ts';

const shared = shareService();

const PAN = '4111111111111111';
const AWKWARD = `O'Brien "X" <&> ]]> é 日本 😀`;
const SOAP11 = 'http://schemas.xmlsoap.org/soap/envelope/';
const SOAP12 = 'http://www.w3.org/2003/05/soap-envelope';

describe('POST /proxy/wssec', () => {
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

  /** Returns the Body that the processor decrypts when this is sent. */
  const received = async (document: string | Uint8Array, headers?: Headers): Promise<string> =>
    openWssec(proxied(await me.wssec(document, headers)).xml);
  const name = () => `{{${token}:detokenize | extract:name}}`;

  describe('200', () => {
    test('the document of the interface, with every part and date form', async () => {
      const dates = ['MM', 'YY', 'YYYY', 'MM/YY', 'MM/YYYY', 'YYYY/MM', 'YYYY-MM'];
      const fields = [
        ['numeroTarjeta', `{{${token}:detokenize | extract:card}}`, PAN],
        ['numero', `{{${token}:detokenize}}`, PAN],
        ['token', `{{${token}:detokenize | extract:token}}`, token],
        ['cvv', `{{${capture}:transaction | extract:cvv}}`, '0123'],
        ['otra', `{{${capture}:transaction | extract:card}}`, '5200828282828210'],
        ['vence', `{{${token}:detokenize | extract:expiration}}`, '03/31'],
        ...dates.map((date) => [
          'fecha',
          `{{${token}:detokenize | extract:expiration | date: ${date}}}`,
          date.replace('YYYY', '2031').replace('YY', '31').replace('MM', '03'),
        ]),
        ['mixto', `a{{${capture}:transaction|extract:name}}-{{${token}:detokenize}}b`, `aBo-${PAN}b`],
      ];
      const document = (index: number): string =>
        `<compra:solicitud xmlns:compra="http://www.example.com/compra"><cabecera>\n  <idTerminal>1</idTerminal>\r\n</cabecera>${fields
          .map((field) => `<compra:${field[0]}>${field[index]}</compra:${field[0]}>`)
          .join('\n')}</compra:solicitud>`;
      assert.equal(await received(document(1)), document(2));
    });

    test('values are escaped for their context', async () => {
      const forText = AWKWARD.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
      const quoted = forText.replaceAll('"', '&quot;');
      assert.equal(await received(`<a>${name()}</a>`), `<a>${forText}</a>`);
      assert.equal(await received(`<a b="${name()}"/>`), `<a b="${quoted}"/>`);
      assert.equal(await received(`<a b='${name()}'/>`), `<a b='${quoted.replaceAll("'", '&apos;')}'/>`);
      const cdata = await received(`<a><![CDATA[x${name()}y]]></a>`);
      assert.equal(textOf(cdata), `x${AWKWARD}y`);
      assert.equal(await received(`<a><![CDATA[<{{${token}:detokenize}}&]]></a>`), `<a><![CDATA[<${PAN}&]]></a>`);
    });

    test('inserted values are not searched again', async () => {
      const sly = await me.token(PAN, { name: `{{${token}:detokenize}}<b>` });
      const document = `<a>{{${sly}:detokenize | extract:name}}</a>`;
      assert.equal(await received(document), `<a>{{${token}:detokenize}}&lt;b&gt;</a>`);
    });

    test('a placeholder may be written with references', async () => {
      const written = `&#123;&#x7b;${token}&#58;detokenize &#124; extract:card}&#x0007D;`;
      assert.equal(
        await received(`<a b="&quot;${written}">&lt;${written}&amp;</a>`),
        `<a b="&quot;${PAN}">&lt;${PAN}&amp;</a>`,
      );
      // Between the sections of CDATA nothing is a reference.
      const literal = '<a><![CDATA[&#123;&#123;x]]></a>';
      assert.equal(await received(literal), literal);
    });

    test('comments are not searched, and no > in a value ends a tag', async () => {
      const document = `<a xmlns:x="urn:x"><!-- {{x --><b xmlns='urn:y'/></a>`;
      assert.equal(await received(document), document);
      const wild = `<a xmlns:x="urn:x" c=' > {{${token}:detokenize}} /> '><!-- <b c="{{x"> --><b/>{{${token}:detokenize}}</a>`;
      assert.equal(await received(wild), wild.replaceAll(`{{${token}:detokenize}}`, PAN));
    });

    test('everything except placeholders is unchanged', async () => {
      for (const document of [
        '<a/>',
        '<a  b = "1"\n\tc=\'2\' ></a >',
        '<a>0.00 }} { { \r\n\t<b>é日😀&#233;&lt;</b><![CDATA[<>&]]><!-- c --> </a>',
        '<x:a xmlns:x="urn:a" xmlns="urn:b" x:b="1"><c xml:lang="es"/></x:a>',
      ])
        assert.equal(await received(document), document);
    });

    test('content before and after the root is omitted', async () => {
      for (const declaration of [
        '<?xml version="1.0"?>',
        `<?xml version='1.0' encoding='utf-8' standalone="yes" ?>\n`,
        '\ufeff',
        '\n',
      ])
        assert.equal(await received(`${declaration}<!-- before --><a>é</a><!-- {{ after -->\n`), '<a>é</a>');
    });

    for (const soap of [SOAP11, SOAP12]) {
      test(`of an envelope of ${soap} the only child of Body is used`, async () => {
        const envelope = (head: string, content: string): string =>
          `<s:Envelope xmlns:s="${soap}" xmlns:q="urn:q" xmlns="urn:default">${head}<s:Body xmlns:p="urn:p">${content}</s:Body></s:Envelope>`;
        const content = `<q:a p:b="{{${token}:detokenize}}"><c type="q:d">{{${capture}:transaction | extract:cvv}}</c></q:a>`;
        for (const head of ['', '<s:Header/>', '\n<s:Header><other>{{x</other></s:Header>\n<!-- c -->']) {
          const got = await received(envelope(head, `\n <!-- {{ -->${content}\n`));
          const [start = '', rest = ''] = got.split('><c ');
          assert.equal(rest, 'type="q:d">0123</c></q:a>');
          assert.ok(start.startsWith('<q:a ') && start.includes(`p:b="${PAN}"`));
          for (const declared of ['xmlns:q="urn:q"', 'xmlns:p="urn:p"', 'xmlns="urn:default"'])
            assert.ok(start.includes(declared), `${declared} in ${start}`);
        }
      });
    }

    test('an Envelope of another namespace is an ordinary document', async () => {
      for (const document of [
        '<Envelope><Body><a/><b/></Body></Envelope>',
        '<s:Envelope xmlns:s="urn:other"><s:Body/></s:Envelope>',
      ])
        assert.equal(await received(document), document);
    });

    test('elements 100 deep, an attribute of half a MiB, 20,000 elements and a full MiB', async () => {
      const deep = `${'<a>'.repeat(99)}<a/>${'</a>'.repeat(99)}`;
      const wide = `<a>${'<b c="d"/>'.repeat(20_000)}</a>`;
      const long = `<a b="${'x'.repeat(512 * 1024)}"/>`;
      const full = `<a>${'y'.repeat(1024 * 1024 - 7)}</a>`;
      for (const document of [deep, wide, long, full]) assert.ok((await received(document)) === document);
    });

    test('a name of 255 characters', async () => {
      const long = await me.token(PAN, { name: '&'.repeat(255) });
      assert.equal(await received(`<a>{{${long}:detokenize | extract:name}}</a>`), `<a>${'&amp;'.repeat(255)}</a>`);
    });

    test('the timestamp starts now and is valid for 300 seconds, and no part of the envelope repeats', async () => {
      const before = service.now();
      const xmls = await Promise.all([1, 2].map(async () => String(proxied(await me.wssec('<a/>')).xml)));
      const [ids, values] = [/Id="([^"]+)"/g, /CipherValue>([^<]+)</g].map((pattern) =>
        xmls.map((xml) => [...xml.matchAll(pattern)].map(([, found = '']) => found)),
      );
      for (const lists of [ids, values]) {
        const all = (lists ?? []).flat();
        assert.equal(new Set(all).size, all.length);
      }
      for (const xml of xmls) {
        const [created = 0, expires = 0] = ['Created', 'Expires'].map((what) =>
          Date.parse(new RegExp(`<wsu:${what}>([^<]+)<`).exec(xml)?.[1] ?? ''),
        );
        assert.ok(before <= created && created <= service.now());
        assert.equal(expires - created, 300_000);
      }
    });
  });
});

/** The text of an element with no children, CDATA and references resolved. */
function textOf(element: string): string {
  const content = element.slice(element.indexOf('>') + 1, element.lastIndexOf('<'));
  const pieces = content.split(/(<!\[CDATA\[.*?\]\]>)/s).map((piece) => {
    if (piece.startsWith('<![CDATA[')) return piece.slice(9, -3);
    assert.ok(!piece.includes('<') && !piece.includes(']]>'), element);
    return piece.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  });
  return pieces.join('');
}
