import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Failure } from '../../kernel/failure.ts';
import { LIMITS } from '../../kernel/limits.ts';
import { parseDocument } from './xml-document.ts';

const SOAP = 'http://schemas.xmlsoap.org/soap/envelope/';
const SOAP12 = 'http://www.w3.org/2003/05/soap-envelope';

/** Returns the description of the rejection, without the line that it must name. */
function refusal(document: string, line = 1): string {
  try {
    parseDocument(document);
  } catch (error) {
    assert.ok(error instanceof Failure, `threw ${String(error)}`);
    assert.equal(error.code, 'malformed_xml');
    const start = `malformed XML at line ${line}: `;
    assert.ok(error.message.startsWith(start), error.message);
    return error.message.slice(start.length);
  }
  return assert.fail(`accepted ${JSON.stringify(document.slice(0, 200))}`);
}

const refused = (cases: readonly (readonly [document: string, phrase: string, line?: number])[]): void => {
  for (const [document, phrase, line] of cases) assert.equal(refusal(document, line), phrase, document.slice(0, 200));
};

const fragment = (document: string): string => parseDocument(document).text;
const envelope = (body: string, declarations = ''): string =>
  `<s:Envelope xmlns:s="${SOAP}"${declarations}><s:Header/><s:Body>${body}</s:Body></s:Envelope>`;
const nested = (levels: number, within = ''): string => '<a>'.repeat(levels) + within + '</a>'.repeat(levels);

describe('a document', () => {
  it('is its root element, byte for byte', () => {
    const root = `<p:a\r\n\tb = 'x>"' xmlns:p='urn:p' c="&#13;&amp;\r\n"  ><!-- \r --> &lt;<![CDATA[<\r\n]] >]]>😀<c\t/>\r</p:a\n>`;
    assert.equal(fragment(root), root);
    assert.equal(fragment(`<?xml version="1.0"?>\r\n<!-- <a> -->\t${root}\r\n<!-- -->\n`), root);
  });

  it('may be one empty element', () => {
    assert.equal(fragment('<a/>'), '<a/>');
    assert.equal(fragment('\n <a\n/>\n'), '<a\n/>');
  });

  it('starts at the root element', () => {
    const lines = (before: string) => parseDocument(`${before}<a\n\n>\n</a>`).positionAt(0).line;
    assert.deepEqual(['', '\n', '\r', '\r\n', '\n\r', '\r\r\n', '<!--\n\n-->'].map(lines), [1, 2, 2, 2, 3, 3, 3]);
    assert.equal(lines('\uFEFF<?xml version="1.0"\n?>\n'), 3);
  });

  it('may start with one byte order mark', () => {
    assert.equal(fragment('\uFEFF<a>\uFEFF</a>'), '<a>\uFEFF</a>');
    assert.equal(fragment('\uFEFF<?xml version="1.0"?><a/>'), '<a/>');
    assert.equal(refusal('\uFEFF\uFEFF<a/>'), 'text outside the root element');
  });

  it('may declare version 1.0 and UTF-8', () => {
    for (const encoding of ['', ' encoding="UTF-8"', ` encoding = 'utf-8'`, ' encoding="Utf-8" standalone="no"']) {
      assert.equal(fragment(`<?xml version="1.0"${encoding} ?>\n<a/>`), '<a/>');
    }
  });

  it('is rejected with another version or encoding', () => {
    const phrase = 'expected version 1.0 and encoding UTF-8';
    refused([
      ['<?xml version="1.1"?><a/>', phrase],
      ['<?xml version="1.1"?>\n<a/>', phrase],
      ['<?xml version="1.00"?><a/>', phrase],
      ['<?xml version="2.0"?><a/>', phrase],
      ['<?xml version="1.0" encoding="UTF-16"?><a/>', phrase],
      ['<?xml version="1.0" encoding="UTF8"?><a/>', phrase],
      ['<?xml version="1.0"\n\nencoding="iso-8859-1"?>\n<a/>', phrase],
      ['<?xml version="1.0" encoding="" ?><a/>', phrase],
    ]);
  });

  it('is rejected with a declaration that is malformed or elsewhere', () => {
    const phrase = 'malformed XML declaration';
    refused([
      ['<?xml?><a/>', phrase],
      ['<?xml encoding="UTF-8"?><a/>', phrase],
      ['<?xml version="1.0" secret="x"?><a/>', phrase],
      ['<?xml version="1.0" standalone="secret"?><a/>', phrase],
      ['<?xml version=1.0?><a/>', phrase],
      ['<?xml version="1.0"encoding="UTF-8"?><a/>', phrase],
      ['\n<?xml version="1.0"?><a/>', 'an XML declaration not at the start', 2],
      ['<a/><?xml version="1.0"?>', 'an XML declaration not at the start'],
      ['<?xml version="1.0"?>\n<?xml version="1.0"?><a/>', 'an XML declaration not at the start', 2],
    ]);
  });
});

describe('rejections', () => {
  it('of documents that are not well-formed', () => {
    refused([
      ['', 'no root element'],
      [' \n', 'no root element', 2],
      ['<!-- a -->', 'no root element'],
      ['secret', 'text outside the root element'],
      ['<a/>\nsecret', 'text outside the root element', 2],
      ['<a/>&#32;', 'text outside the root element'],
      ['<a/><![CDATA[]]>', 'text outside the root element'],
      ['<a/>\n<secret/>', 'more than one root element', 2],
      ['<a>\n\n<secret>', 'an element without an end tag', 3],
      ['<a><secret></a>', 'an end tag without its start tag'],
      ['<a></a></secret>', 'an end tag without its start tag'],
      ['<a>\n]]></a>', ']]> in text', 2],
      ['<a b="1" c="2"\nb="3"/>', 'duplicate attribute', 2],
      ['<a xmlns="urn:a" xmlns="urn:b"/>', 'duplicate attribute'],
      ['<a>&secret;</a>', 'unknown entity'],
      ['<a b="&secret;"/>', 'unknown entity'],
      ['<a>&__proto__;&constructor;</a>', 'unknown entity'],
      ['<a>& b;</a>', 'malformed reference'],
      ['<a>&;</a>', 'malformed reference'],
      ['<a>&#0;</a>', 'malformed reference'],
      ['<a>&#xD800;</a>', 'malformed reference'],
      ['<a>&#X41;</a>', 'malformed reference'],
      ['<a>&#x110000;</a>', 'malformed reference'],
      ['<a>&amp</a>', 'an element without an end tag'],
    ]);
    const broken = ['<', '<>', '< a/>', '<1/>', '<a', '<a b/>', '<a b=1/>', '<a b="1"c="2"/>', '<a b="<"/>', '<a/ >'];
    const cut = [
      '<a>\0</a>',
      '<a>\uFFFE</a>',
      '<a>\u001f</a>',
      '<a><!-- -- --></a>',
      '<a><![cdata[]]></a>',
      '<!ELEMENT a>',
    ];
    for (const document of [...broken, ...cut]) refusal(document);
    assert.equal(refusal('<a>\n<b\n1="secret"/></a>', 3), 'not well-formed');
  });

  it('of names and prefixes that namespaces do not allow', () => {
    const reserved = 'misuse of a reserved prefix or namespace';
    refused([
      ['<a>\n<secret:b/></a>', 'undeclared prefix', 2],
      ['<a secret:b="1"/>', 'undeclared prefix'],
      ['<a><b xmlns:p="urn:p"/><p:c/></a>', 'undeclared prefix'],
      ['<a p:x="1" q:x="2" xmlns:p="urn:1" xmlns:q="urn:1"/>', 'duplicate attribute'],
      ['<a:b:c xmlns:a="urn:a"/>', 'malformed name'],
      ['<:a/>', 'malformed name'],
      ['<a b:="1"/>', 'malformed name'],
      ['<p:1 xmlns:p="urn:p"/>', 'malformed name'],
      ['<p:a p:-b="" xmlns:p="urn:p"/>', 'malformed name'],
      ['<a xmlns:1="urn:p"/>', 'malformed name'],
      ['<a xmlns:\u0300="urn:p"/>', 'malformed name'],
      ['<a xmlns:p=""/>', 'a prefix bound to no namespace'],
      ['<xmlns:a/>', reserved],
      ['<a xmlns:xmlns="http://www.w3.org/2000/xmlns/"/>', reserved],
      ['<a xmlns="http://www.w3.org/2000/xmlns/"/>', reserved],
      ['<a xmlns="http://www.w3.org/XML/1998/namespace"/>', reserved],
      ['<a xmlns:p="http://www.w3.org/XML/1998/namespace"/>', reserved],
      ['<a xmlns:xml="urn:secret"/>', reserved],
    ]);
  });

  it('of DOCTYPEs, anywhere', () => {
    const phrase = 'a DOCTYPE is not allowed';
    const bomb = Array.from({ length: 20 }, (_, at) => `<!ENTITY e${at + 1} "&e${at};&e${at};">`).join('');
    refused([
      ['<!DOCTYPE a><a/>', phrase],
      [`<!DOCTYPE a [<!ENTITY e0 "secret">${bomb}]><a>&e20;</a>`, phrase],
      ['<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', phrase],
      ['<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY % e SYSTEM "http://secret/">%e;]><a/>', phrase, 2],
      ['<a><!DOCTYPE a></a>', phrase],
      ['<a/><!DOCTYPE a>', phrase],
    ]);
  });

  it('of processing instructions, anywhere', () => {
    const phrase = 'a processing instruction is not allowed';
    refused([
      ['<?secret?><a/>', phrase],
      ['<?xml-stylesheet href="secret"?><a/>', phrase],
      ['<a>\n<?secret of the document?></a>', phrase, 2],
      ['<a/><?secret?>', phrase],
      ['<a><??></a>', phrase],
      [envelope('<?secret?><a/>'), phrase],
    ]);
  });

  it('of elements nested too deeply, at the first one', () => {
    assert.equal(fragment(nested(LIMITS.xmlDepth)), nested(LIMITS.xmlDepth));
    const phrase = `nested deeper than ${LIMITS.xmlDepth} levels`;
    refused([
      [nested(LIMITS.xmlDepth + 1), phrase],
      [nested(LIMITS.xmlDepth, '<secret/>'), phrase],
      [`${'<a>'.repeat(LIMITS.xmlDepth)}\n<a><1 not read any more`, phrase, 2],
      ['<a>'.repeat(300_000), phrase],
    ]);
    const siblings = '<b></b><c/>'.repeat(LIMITS.xmlDepth);
    assert.equal(fragment(`<a>${siblings}</a>`), `<a>${siblings}</a>`);
  });

  it('of namespaces that are relative or that canonical forms treat differently', () => {
    const phrase = 'a namespace must be an absolute URI of ASCII characters without &';
    const uris = [
      'secret',
      '/secret',
      '../secret',
      '#secret',
      '1a:b',
      ':a',
      ' ',
      ' urn:a',
      'urn:a ',
      'urn:a\tb',
      '\u00a0urn:a',
    ];
    const special = ['urn:a&amp;b', 'urn:a&#38;b', 'urn:&lt;', 'urn:&quot;', 'urn:&#10;', 'urn:é', 'urn:%zz', 'urn:a>'];
    for (const uri of [...uris, ...special]) {
      assert.equal(refusal(`<a xmlns="${uri}"/>`), phrase, uri);
      assert.equal(refusal(`<a>\n<b xmlns:p="${uri}"/></a>`, 2), phrase, uri);
      assert.equal(refusal(envelope('<a/>', ` xmlns:p="${uri}"`)), phrase, uri);
    }
    const fine = `<a xmlns="urn:a" xmlns:p="x-y.z+1:a/e?b#c'%20"><b xmlns=""/></a>`;
    assert.equal(fragment(fine), fine);
  });

  it('of too many elements and attributes', () => {
    const siblings = (count: number): string => `<a>${'<b c=""/>'.repeat(count)}</a>`;
    assert.equal(fragment(siblings(24_999)), siblings(24_999));
    assert.equal(refusal(siblings(25_000)), 'more than 50000 elements and attributes');
  });

  it('of namespaces that are too long', () => {
    const uri = `urn:${'x'.repeat(251)}`;
    fragment(`<a xmlns:p="${uri}"/>`);
    assert.equal(refusal(`<a xmlns:p="${uri}x"/>`), 'a namespace longer than 255 characters');
  });

  it('do not quote the document', () => {
    const marks = [
      ...'<>/&;"\'=:!?-[]#',
      ' ',
      '\n',
      'secret',
      '<secret',
      '</secret>',
      '&secret;',
      'secret:',
      '<?secret',
      '<a>',
      'secret="',
    ];
    const mark = fc.constantFrom(...marks);
    fc.assert(
      fc.property(fc.array(mark, { maxLength: 20 }), (parts) => {
        const document = `<a>${parts.join('')}</a>`;
        try {
          parseDocument(document);
        } catch (error) {
          assert.ok(error instanceof Failure, document);
          assert.match(error.message, /^malformed XML at line \d+: [\w\]> .-]+$/);
          assert.doesNotMatch(error.message, /secret/);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a SOAP envelope', () => {
  it('is replaced with the element in its Body', () => {
    const document = `<Envelope xmlns="${SOAP}">\n<Body>\n<p:a xmlns:p="urn:p" xmlns="urn:d">\r\n</p:a>\n</Body></Envelope>`;
    const { text, positionAt } = parseDocument(document);
    assert.equal(text, '<p:a xmlns:p="urn:p" xmlns="urn:d">\r\n</p:a>');
    assert.deepEqual(positionAt(0), { line: 3, column: 1 });
    assert.deepEqual(positionAt(text.indexOf('</p')), { line: 4, column: 1 });
  });

  it('may be SOAP 1.2, may have a Header and other elements, and comments', () => {
    const head = '<!-- - --><e:Header><x><e:Body><y/></e:Body></x>text</e:Header>';
    const body = '<!-- <b/> --> \r\n<a xmlns:e="urn:e"/>\t<!----><!-- --> ';
    const document = `<e:Envelope xmlns:e="${SOAP12}">${head}<e:Body e:x="">${body}</e:Body><z/></e:Envelope><!-- -->`;
    assert.equal(fragment(document), '<a xmlns:e="urn:e"/>');
  });

  it('passes its declarations to the element, used or not, directly after the name', () => {
    const document = `<s:Envelope xmlns:s="${SOAP}" xmlns:a="urn:a" xmlns:b="urn:it's" xmlns:c="urn:c" xmlns="urn:d">
      <s:Body xmlns:b="urn:b2" xmlns:x="urn:x&#33;"><q:r
        xmlns:q="urn:q" xmlns:c="urn:own" type='a:T'/></s:Body></s:Envelope>`;
    assert.equal(
      fragment(document),
      `<q:r xmlns:s="${SOAP}" xmlns:a="urn:a" xmlns:b="urn:b2" xmlns="urn:d" xmlns:x="urn:x!"
        xmlns:q="urn:q" xmlns:c="urn:own" type='a:T'/>`,
    );
    assert.equal(fragment(envelope('<a/>', ` xmlns:b="urn:it's"`)), `<a xmlns:s="${SOAP}" xmlns:b="urn:it's"/>`);
  });

  it('passes no default namespace that was undeclared, or that the element undeclares', () => {
    const inBody = (declared: string, element: string) =>
      fragment(`<s:Envelope xmlns="urn:d" xmlns:s="${SOAP}"><s:Body${declared}>${element}</s:Body></s:Envelope>`);
    assert.equal(inBody('', '<a/>'), `<a xmlns="urn:d" xmlns:s="${SOAP}"/>`);
    assert.equal(inBody(' xmlns=""', '<a/>'), `<a xmlns:s="${SOAP}"/>`);
    assert.equal(inBody(' xmlns="urn:e"', '<a/>'), `<a xmlns="urn:e" xmlns:s="${SOAP}"/>`);
    assert.equal(inBody('', '<a xmlns=""/>'), `<a xmlns:s="${SOAP}" xmlns=""/>`);
  });

  it('leaves an element with all its declarations unchanged', () => {
    const text = fragment(envelope('<p:a p:b="1"><q:c/></p:a>', ' xmlns:p="urn:p" xmlns:q="urn:q"'));
    assert.equal(fragment(text), text);
  });

  it('is recognized in these namespaces only', () => {
    for (const document of [
      '<Envelope><Body><a/></Body></Envelope>',
      '<s:Envelope xmlns:s="urn:s"><s:Body><a/></s:Body></s:Envelope>',
      `<s:envelope xmlns:s="${SOAP}"/>`,
      `<a xmlns:s="${SOAP}"><s:Envelope/></a>`,
    ]) {
      assert.equal(fragment(document), document);
    }
  });

  it('is rejected without exactly one Body of its namespace', () => {
    const phrase = 'expected one Body in the Envelope';
    refused([
      [`<s:Envelope xmlns:s="${SOAP}"/>`, phrase],
      [`\n<s:Envelope\nxmlns:s="${SOAP}"><s:Header><s:Body><a/></s:Body></s:Header></s:Envelope>`, phrase, 2],
      [`<s:Envelope xmlns:s="${SOAP}"><Body><a/></Body></s:Envelope>`, phrase],
      [`<s:Envelope xmlns:s="${SOAP}"><t:Body xmlns:t="${SOAP12}"><a/></t:Body></s:Envelope>`, phrase],
      [`<s:Envelope xmlns:s="${SOAP}"><s:Body><a/></s:Body>\n<s:Body/></s:Envelope>`, phrase, 2],
    ]);
  });

  it('is rejected without exactly one element in its Body, or with text beside it', () => {
    const phrase = 'expected one element in the Body';
    refused([
      [`<s:Envelope xmlns:s="${SOAP}">\n<s:Body/><s:Trailer><a/></s:Trailer></s:Envelope>`, phrase, 2],
      [envelope(''), phrase],
      [envelope('secret'), phrase],
      [envelope('<!-- <a/> -->'), phrase],
      [envelope('<a/>\n<b/>'), phrase, 2],
      [envelope('<a></a><a/>'), phrase],
      [envelope('\nsecret<a/>'), phrase, 2],
      [envelope('<a/>\n\nsecret'), phrase, 3],
      [envelope('<a/>\u00a0'), phrase],
      [envelope('<a/>&#32;'), phrase],
      [envelope('<a/><!-- --><![CDATA[ ]]>'), phrase],
      [envelope('<![CDATA[<!-- ]]><a/><!-- -->'), phrase],
      [envelope('<a><b></a>'), 'an end tag without its start tag'],
    ]);
  });
});
