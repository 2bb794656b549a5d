import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { assertRefused, newSender, openWssec, proxied, type Sender } from './proxy-requests.ts';

const shared = shareService();

const CANARY = 'CanaryOfTheDocument';

describe('POST /proxy/wssec', () => {
  let service: TestService;
  let me: Sender;
  before(async () => {
    service = await shared.open();
    me = await newSender(service);
  });
  after(() => shared.close());

  const laughs = Array.from({ length: 30 }, (_, index) => `<!ENTITY l${index + 1} "${`&l${index};`.repeat(10)}">`).join(
    '',
  );
  const envelope = (body: string, soap = 'http://schemas.xmlsoap.org/soap/envelope/'): string =>
    `<s:Envelope xmlns:s="${soap}">${body}</s:Envelope>`;

  const hostile: readonly [what: string, document: string | Uint8Array][] = [
    ['nothing', ''],
    ['blanks', ' \n'],
    ['text', CANARY],
    ['JSON', `{"${CANARY}":1}`],
    ['a comment alone', `<!-- ${CANARY} -->`],
    ['an element that does not end', `<${CANARY}>`],
    ['an end of another element', `<a></${CANARY}>`],
    ['an end without a start', `<a/></${CANARY}>`],
    ['two roots', `<a/><${CANARY}/>`],
    ['text after the root', `<a/>${CANARY}`],
    ['text before the root', `${CANARY}<a/>`],
    ['a tag cut off', `<a b="${CANARY}`],
    ['an attribute without quotes', `<a b=${CANARY}/>`],
    ['an attribute without value', `<a ${CANARY}/>`],
    ['an attribute twice', `<a ${CANARY}="1" ${CANARY}="2"/>`],
    ['an attribute twice, by namespace', `<a xmlns:p="urn:x" xmlns:q="urn:x" p:${CANARY}="1" q:${CANARY}="2"/>`],
    ['< in an attribute', `<a b="<${CANARY}"/>`],
    ['& alone', `<a>&${CANARY}</a>`],
    ['an unknown entity', `<a>&${CANARY};</a>`],
    ['an unknown entity in an attribute', `<a b="&${CANARY};"/>`],
    ['an HTML entity', '<a>&nbsp;</a>'],
    ['a reference to nothing', '<a>&#0;</a>'],
    ['a reference to a surrogate', '<a>&#xd800;</a>'],
    ['a reference beyond Unicode', '<a>&#x110000;</a>'],
    ['a control character', '<a>\u0001</a>'],
    ['U+FFFE', '<a>\ufffe</a>'],
    [']]> in text', `<a>${CANARY}]]></a>`],
    ['-- in a comment', `<a><!-- ${CANARY} -- --></a>`],
    ['a comment that does not end', `<a><!-- ${CANARY}</a>`],
    ['CDATA that does not end', `<a><![CDATA[${CANARY}</a>`],
    ['a DOCTYPE', `<!DOCTYPE ${CANARY}><a/>`],
    ['a DOCTYPE with an external subset', `<!DOCTYPE a SYSTEM "http://127.0.0.1:1/${CANARY}"><a/>`],
    ['an external entity', `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>`],
    ['a parameter entity', `<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1:1/x">%x;]><a/>`],
    ['an internal entity', `<!DOCTYPE a [<!ENTITY x "${CANARY}">]><a>&x;</a>`],
    ['a billion laughs', `<!DOCTYPE a [<!ENTITY l0 "${CANARY}">${laughs}]><a>&l30;</a>`],
    ['an entity of a MiB', `<!DOCTYPE a [<!ENTITY x "${'x'.repeat(500_000)}">]><a>${'&x;'.repeat(100_000)}</a>`],
    ['a default attribute', `<!DOCTYPE a [<!ATTLIST a b CDATA "${CANARY}">]><a/>`],
    ['a DOCTYPE after the root', `<a/><!DOCTYPE a>`],
    ['a DOCTYPE within', `<a><!DOCTYPE a></a>`],
    ['a processing instruction before', `<?${CANARY} x?><a/>`],
    ['a processing instruction within', `<a><?${CANARY} x?></a>`],
    ['a processing instruction after', `<a/><?${CANARY} x?>`],
    ['a style sheet', `<?xml version="1.0"?><?xml-stylesheet href="${CANARY}"?><a/>`],
    ['an XML declaration not at the start', ' <?xml version="1.0"?><a/>'],
    ['an XML declaration within', '<a><?xml version="1.0"?></a>'],
    ['an XML declaration without a version', '<?xml encoding="utf-8"?><a/>'],
    ['XML 1.1', '<?xml version="1.1"?><a/>'],
    ['XML 2.0', '<?xml version="2.0"?><a/>'],
    ['the encoding ISO-8859-1', '<?xml version="1.0" encoding="ISO-8859-1"?><a/>'],
    ['the encoding UTF-16', '<?xml version="1.0" encoding="UTF-16"?><a/>'],
    ['an encoding that there is not', `<?xml version="1.0" encoding="${CANARY}"?><a/>`],
    ['UTF-16', Buffer.from('\ufeff<a/>', 'utf16le')],
    ['UTF-16 of the other order', Buffer.from('\ufeff<a/>', 'utf16le').swap16()],
    ['Latin-1', Buffer.from('<a>é</a>', 'latin1')],
    ['an overlong form', Buffer.from([0x3c, 0x61, 0x3e, 0xc0, 0xbc, 0x3c, 0x2f, 0x61, 0x3e])],
    ['a lone surrogate', Buffer.from([0x3c, 0x61, 0x3e, 0xed, 0xa0, 0x80, 0x3c, 0x2f, 0x61, 0x3e])],
    ['a NUL', '<a>\u0000</a>'],
    ['an undeclared prefix', `<${CANARY.toLowerCase()}:a/>`],
    ['an undeclared prefix of an attribute', `<a ${CANARY.toLowerCase()}:b="1"/>`],
    ['a prefix bound to nothing', '<a xmlns:p=""/>'],
    ['a relative namespace', `<a xmlns="${CANARY}"/>`],
    ['a namespace that is no URI', '<a xmlns:p="urn:{{x"/>'],
    ['another meaning of xml', `<a xmlns:xml="urn:${CANARY}"/>`],
    ['another meaning of xmlns', `<a xmlns:xmlns="urn:${CANARY}"/>`],
    ['a prefix of xmlns', `<a xmlns:p="http://www.w3.org/2000/xmlns/"/>`],
    ['two colons', '<a:b:c xmlns:a="urn:a"/>'],
    ['a name that begins with a digit', `<1${CANARY}/>`],
    ['a local name that begins with a digit', '<a:1 xmlns:a="urn:a"/>'],
    ['a placeholder as name', '<{{x:detokenize}}/>'],
    ['elements 101 deep', `${'<a>'.repeat(100)}<a/>${'</a>'.repeat(100)}`],
    ['elements 100,000 deep', '<a>'.repeat(100_000)],
    ['elements 100 deep in an envelope', envelope(`<s:Body>${'<a>'.repeat(99)}${'</a>'.repeat(99)}</s:Body>`)],
    ['an envelope without a Body', envelope('')],
    ['an envelope with a Header alone', envelope('<s:Header/>')],
    ['an empty Body', envelope('<s:Body/>')],
    ['a Body of blanks', envelope('<s:Body> \n<!-- x --></s:Body>')],
    ['a Body of text', envelope(`<s:Body>${CANARY}</s:Body>`)],
    ['a Body with two children', envelope(`<s:Body><a/><${CANARY}/></s:Body>`)],
    ['a Body with text before its child', envelope(`<s:Body>${CANARY}<a/></s:Body>`)],
    ['a Body with text after its child', envelope(`<s:Body><a/>${CANARY}</s:Body>`)],
    ['a Body with CDATA', envelope(`<s:Body><a/><![CDATA[${CANARY}]]></s:Body>`)],
    ['two Bodies', envelope('<s:Body><a/></s:Body><s:Body><a/></s:Body>')],
    ['two Bodies of SOAP 1.2', envelope('<s:Body><a/></s:Body><s:Body/>', 'http://www.w3.org/2003/05/soap-envelope')],
    ['a Body of another namespace', envelope('<Body><a/></Body>')],
    ['a Body of the other SOAP', envelope('<Body xmlns="http://www.w3.org/2003/05/soap-envelope"><a/></Body>')],
  ];
  for (const [what, document] of hostile) {
    test(`rejects ${what}`, async () => {
      const began = performance.now();
      const response = await me.wssec(document);
      assertRefused(response, /^malformed XML(:| at line [0-9]+:) [A-Za-z\]<]/);
      assert.ok(response.json.description.length < 100);
      assert.doesNotMatch(response.text, /canary/i);
      assert.ok(performance.now() - began < 5000, 'it took too long');
    });
  }

  test('rejects a placeholder for a name that XML cannot contain', async () => {
    for (const sign of ['\ufffe', '\uffff']) {
      const token = await me.token('4111111111111111', { name: `Ana${sign}` });
      const response = await me.wssec(`<a>{{${token}:detokenize | extract:name}}</a>`);
      assertRefused(response, 'line 1: placeholder 1: the value cannot be written in this place');
    }
  });

  test('responds in time to highly repetitive documents, and continues to run', async () => {
    const attributes = Array.from({ length: 40_000 }, (_, index) => `a${index}="${index}"`).join(' ');
    const namespaces = Array.from({ length: 5000 }, (_, index) => `xmlns:p${index}="urn:x${index}"`).join(' ');
    for (const document of [
      `<a ${attributes}/>`,
      `<a ${namespaces}>${'<b/>'.repeat(1000)}</a>`,
      `<a>${'&lt;'.repeat(200_000)}</a>`,
      `<a>${'<!---->'.repeat(100_000)}</a>`,
      `<a>${'<![CDATA[]]>'.repeat(50_000)}</a>`,
      `<a>${'{ '.repeat(400_000)}</a>`,
      `<a>${'}}'.repeat(400_000)}</a>`,
    ]) {
      const began = performance.now();
      const response = await me.wssec(document);
      assert.ok(response.status === 200 || response.status === 400, response.text.slice(0, 200));
      assert.ok(performance.now() - began < 10_000, `${document.slice(0, 30)}: ${performance.now() - began} ms`);
    }
    assert.equal(openWssec(proxied(await me.wssec('<a>1</a>')).xml), '<a>1</a>');
    assert.ok(!service.log.join('').includes(CANARY));
  });
});
