import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { canonicalise } from '../../../test/receivers/exclusive-c14n.ts';
import { parseXml } from '../../../test/receivers/xml-tree.ts';
import { canonicalElement } from './canonical.ts';

const is = (document: string, canonical: string): void => assert.equal(canonicalElement(document), canonical);

describe('Canonical XML 1.0, the examples that need no DOCTYPE', () => {
  it('3.1: comments are removed', () => {
    is('<doc>Hello, world!<!-- Comment 1 --></doc>', '<doc>Hello, world!</doc>');
  });

  it('3.2: white space in content is kept', () => {
    const document = '<doc>\n   <clean>   </clean>\n   <mixed>\n      A\n      <clean>   </clean>\n   </mixed>\n</doc>';
    is(document, document);
  });

  it('3.3: start and end tags', () => {
    is(
      `<doc>
   <e1   />
   <e2   ></e2>
   <e3   name = "elem3"   id="elem3"   />
   <e4   name="elem4"   id="elem4"   ></e4>
   <e5 a:attr="out" b:attr="sorted" attr2="all" attr="I'm"
      xmlns:b="http://www.ietf.org"
      xmlns:a="http://www.w3.org"
      xmlns="http://example.org"/>
   <e6 xmlns="" xmlns:a="http://www.w3.org">
      <e7 xmlns="http://www.ietf.org">
         <e8 xmlns="" xmlns:a="http://www.w3.org">
            <e9 xmlns="" xmlns:a="http://www.ietf.org" attr="default"/>
         </e8>
      </e7>
   </e6>
</doc>`,
      `<doc>
   <e1></e1>
   <e2></e2>
   <e3 id="elem3" name="elem3"></e3>
   <e4 id="elem4" name="elem4"></e4>
   <e5 xmlns="http://example.org" xmlns:a="http://www.w3.org" xmlns:b="http://www.ietf.org" attr="I'm" attr2="all" b:attr="sorted" a:attr="out"></e5>
   <e6>
      <e7 xmlns="http://www.ietf.org">
         <e8 xmlns="">
            <e9 attr="default"></e9>
         </e8>
      </e7>
   </e6>
</doc>`,
    );
  });

  it('3.4: character modifications and references', () => {
    is(
      `<doc>
   <text>First line&#x0d;&#10;Second line</text>
   <value>&#x32;</value>
   <compute><![CDATA[value>"0" && value<"10" ?"valid":"error"]]></compute>
   <compute expr='value>"0" &amp;&amp; value&lt;"10" ?"valid":"error"'>valid</compute>
   <norm attr=' &apos;   &#x20;&#13;&#xa;&#9;   &apos; '/>
</doc>`,
      `<doc>
   <text>First line&#xD;
Second line</text>
   <value>2</value>
   <compute>value&gt;"0" &amp;&amp; value&lt;"10" ?"valid":"error"</compute>
   <compute expr="value>&quot;0&quot; &amp;&amp; value&lt;&quot;10&quot; ?&quot;valid&quot;:&quot;error&quot;">valid</compute>
   <norm attr=" '    &#xD;&#xA;&#x9;   ' "></norm>
</doc>`,
    );
  });

  it('3.6: characters are unchanged', () => {
    is('<doc>&#169;</doc>', '<doc>©</doc>');
  });
});

describe('Exclusive XML Canonicalization 1.0', () => {
  const elem2 = `<n1:elem2 xmlns:n1="http://example.net" xml:lang="en">
         <n3:stuff xmlns:n3="ftp://example.org"></n3:stuff>
      </n1:elem2>`;

  it('2.2: declarations and xml: attributes of the omitted context do not count', () => {
    is(
      `<n1:elem2 xmlns:n0="http://a.example" xmlns:n1="http://example.net" xmlns:n2="http://b.example" xml:lang="en">
         <n3:stuff xmlns:n3="ftp://example.org"/>
      </n1:elem2>`,
      elem2,
    );
  });

  it('2.2: the element is the same in another envelope', () => {
    is(
      `<n2:pdu xmlns:n1="http://example.net" xmlns:n2="http://foo.example" xmlns:n3="ftp://example.org" xml:space="retain">
      <n1:elem2 xml:lang="en">
         <n3:stuff/>
      </n1:elem2>
   </n2:pdu>`,
      `<n2:pdu xmlns:n2="http://foo.example" xml:space="retain">\n      ${elem2}\n   </n2:pdu>`,
    );
  });

  it('writes a declaration where its prefix is used, unless an ancestor already has it', () => {
    is(
      '<r xmlns:p="urn:p" xmlns:unused="urn:u"><a><p:b><p:c p:d="1"/></p:b></a><p:b/></r>',
      '<r><a><p:b xmlns:p="urn:p"><p:c p:d="1"></p:c></p:b></a><p:b xmlns:p="urn:p"></p:b></r>',
    );
  });

  it('writes a declaration for the prefix of an attribute', () => {
    is('<r xmlns:p="urn:p"><a p:b="1"/></r>', '<r><a xmlns:p="urn:p" p:b="1"></a></r>');
  });

  it('writes a prefix again when it was bound to another namespace in between', () => {
    is(
      '<p:a xmlns:p="urn:1"><p:b xmlns:p="urn:2"><p:c xmlns:p="urn:1"/></p:b><p:d/></p:a>',
      '<p:a xmlns:p="urn:1"><p:b xmlns:p="urn:2"><p:c xmlns:p="urn:1"></p:c></p:b><p:d></p:d></p:a>',
    );
  });

  it('does not repeat a declaration that is repeated', () => {
    is(
      '<p:a xmlns:p="urn:1"><b xmlns:p="urn:2"><p:c xmlns:p="urn:1"/></b></p:a>',
      '<p:a xmlns:p="urn:1"><b><p:c></p:c></b></p:a>',
    );
  });

  it('undeclares the default namespace only where an ancestor of the output has one and the element has none', () => {
    is('<a xmlns=""><b xmlns=""/></a>', '<a><b></b></a>');
    is('<p:a xmlns:p="urn:p" xmlns="urn:d"><b xmlns=""/></p:a>', '<p:a xmlns:p="urn:p"><b></b></p:a>');
    is(
      '<a xmlns="urn:d"><p:b xmlns:p="urn:p" xmlns="" c=""><d/></p:b><e/></a>',
      '<a xmlns="urn:d"><p:b xmlns:p="urn:p" c=""><d xmlns=""></d></p:b><e></e></a>',
    );
  });
});

describe('order', () => {
  it('is that of code points, for prefixes', () => {
    is(
      '<a 𐀀:a="" \uFF21:a="" é:a="" b:a="" B:a="" xmlns:𐀀="urn:1" xmlns:\uFF21="urn:2" xmlns:é="urn:3" xmlns:b="urn:4" xmlns:B="urn:5"/>',
      '<a xmlns:B="urn:5" xmlns:b="urn:4" xmlns:é="urn:3" xmlns:\uFF21="urn:2" xmlns:𐀀="urn:1" 𐀀:a="" \uFF21:a="" é:a="" b:a="" B:a=""></a>',
    );
  });

  it('is that of code points, for attributes and their namespaces', () => {
    is(
      '<a 𐀀="" \uFF21="" é="" b="" B="" a10="" a1="" a-="" a=""/>',
      '<a B="" a="" a-="" a1="" a10="" b="" é="" \uFF21="" 𐀀=""></a>',
    );
    is(
      '<a p:a="" q:a="" xmlns:p="urn:𐀀" xmlns:q="urn:\uFF21"/>',
      '<a xmlns:p="urn:𐀀" xmlns:q="urn:\uFF21" q:a="" p:a=""></a>',
    );
  });

  it('is by namespace first, none before all, and not by prefix', () => {
    is(
      '<a z:a="" y:a="" y:B="" z="" xml:lang="" xmlns:z="a:1" xmlns:y="urn:b"/>',
      '<a xmlns:y="urn:b" xmlns:z="a:1" z="" z:a="" xml:lang="" y:B="" y:a=""></a>',
    );
  });
});

describe('attributes', () => {
  it('whose names start with xmlns are attributes', () => {
    is('<a xmlns-x="1" xmlnsfoo="2" xmlns="urn:d"/>', '<a xmlns="urn:d" xmlns-x="1" xmlnsfoo="2"></a>');
    is('<a xmlnsx:b="1" xmlns:xmlnsx="urn:x"/>', '<a xmlns:xmlnsx="urn:x" xmlnsx:b="1"></a>');
  });

  it('with the prefix xml have no declaration', () => {
    is('<xml:a xml:lang="en" xmlns:xml="http://www.w3.org/XML/1998/namespace"/>', '<xml:a xml:lang="en"></xml:a>');
  });

  it('are normalized as by a parser', () => {
    is('<a b="\t|\n|\r|\r\n| "/>', '<a b=" | | | | "></a>');
    is('<a b="&#9;&#10;&#13;&#32;"/>', '<a b="&#x9;&#xA;&#xD; "></a>');
    is(`<a b='"&apos;&lt;>&#38;'/>`, `<a b="&quot;'&lt;>&amp;"></a>`);
    is('<a xmlns:p="urn:&#97;" p:b=""/>', '<a xmlns:p="urn:a" p:b=""></a>');
  });
});

describe('names', () => {
  it('may contain characters that are blanks in JavaScript and not in XML', () => {
    is('<a\u1680 b\u1680="1"><c\u1680/></a\u1680>', '<a\u1680 b\u1680="1"><c\u1680></c\u1680></a\u1680>');
  });

  it('end where blanks, a slash or the tag end', () => {
    is('<a\n><a.b/><a-b\t/><c\rd="/>"\r\n></c\n></a >', '<a><a.b></a.b><a-b></a-b><c d="/>"></c></a>');
  });
});

describe('text', () => {
  it('has line feeds for line ends, and keeps carriage returns that were references', () => {
    is('<a>1\r\n2\r3\n4\r\r\n5&#13;\n&#xD;&#10;</a>', '<a>1\n2\n3\n4\n\n5&#xD;\n&#xD;\n</a>');
    is('<a><![CDATA[1\r\n2\r3&#13;]]></a>', '<a>1\n2\n3&amp;#13;</a>');
  });

  it('is joined over comments and CDATA sections', () => {
    is('<a>1<!-- - -->2<![CDATA[<3>]]>&gt;<![CDATA[]]>4]]<![CDATA[]]]>&amp;</a>', '<a>12&lt;3&gt;&gt;4]]]&amp;</a>');
  });

  it('keeps quotes, tabs, and line ends of other XML versions', () => {
    is('<a>"\'\t&quot;&apos;&#9;\u0085\u2028\u00a0</a>', '<a>"\'\t"\'\t\u0085\u2028\u00a0</a>');
  });

  it('keeps characters beyond U+FFFF', () => {
    is('<a b="&#x1F600;">😀&#128512;</a>', '<a b="😀">😀😀</a>');
  });
});

describe('against libxml2', () => {
  const vectors = JSON.parse(
    readFileSync(new URL('../../../test/vectors/exclusive-c14n.json', import.meta.url), 'utf8'),
  ) as readonly { document: string; canonical: string }[];

  it('gives the same result', () => {
    assert.equal(vectors.length, 40);
    for (const { document, canonical } of vectors) is(document, canonical);
  });
});

describe('generated documents', () => {
  const URIS = ['urn:a', 'urn:b', 'http://x.example/'];
  const TEXTS = ['t', ' \r\n', '&#13;', '&lt;', '>', '<!-- c -->', '<![CDATA[<&]] ]]>', '😀', '&quot;', '"'];
  const uri = fc.constantFrom(...URIS);
  const text = fc.array(fc.constantFrom(...TEXTS), { maxLength: 3 }).map((texts) => texts.join(''));
  const value = fc.constantFrom('', 'v', '\t', '&#9;', '\r\n', '&quot;', '>', '&amp;&lt;');
  // Every prefix is bound on the root, as any element may use any.
  const tag = fc.record({
    prefix: fc.constantFrom('', 'p:', 'Q:', '𐀀:'),
    name: fc.constantFrom('x', 'X', 'xmlnsfoo', '\uFF21'),
    declared: fc.dictionary(fc.constantFrom(':p', ':Q', ':𐀀', ''), uri, { maxKeys: 2 }),
    undeclares: fc.boolean(),
    plain: fc.dictionary(fc.constantFrom('x', 'X', 'xmlns-x', '\uFF21', '𐀀', 'xml:lang'), value, { maxKeys: 3 }),
    qualified: fc.option(fc.tuple(fc.constantFrom('p:y', 'Q:y', '𐀀:y'), value), { nil: undefined }),
  });
  /** At most this number of levels below. */
  const element = (levels: number): fc.Arbitrary<string> => {
    const children = levels === 0 ? fc.constant([]) : fc.array(fc.tuple(element(levels - 1), text), { maxLength: 3 });
    return fc
      .tuple(tag, text, children)
      .map(([{ prefix, name, declared, undeclares, plain, qualified }, before, after]) => {
        const declarations = Object.entries(declared).map(([to, from]) => ` xmlns${to}='${from}'`);
        if (undeclares && !('' in declared)) declarations.push(' xmlns=""');
        const attributes = [...Object.entries(plain), ...(qualified === undefined ? [] : [qualified])];
        const written = attributes.map(([key, of]) => `\n${key} = "${of}"`);
        const start = prefix + name + [...written, ...declarations].join('');
        return `<${start}>${before}${after.flat().join('')}</${prefix + name} >`;
      });
  };
  const document = element(4).map(
    (inner) => `<r xmlns:p="urn:a" xmlns:Q="urn:b" xmlns:𐀀="urn:c" xmlns="urn:d">${inner}</r>`,
  );

  it('have a canonical form whose canonical form is itself', () => {
    fc.assert(
      fc.property(document, (written) => {
        const canonical = canonicalElement(written);
        assert.equal(canonicalElement(canonical), canonical);
      }),
    );
  });

  it('have the canonical form that the receiver of the tests computes', () => {
    fc.assert(
      fc.property(document, (written) => {
        assert.equal(canonicalElement(written), canonicalise(parseXml(written)));
      }),
    );
  });

  it('have the same canonical form in every context', () => {
    fc.assert(
      fc.property(document, (written) => {
        const inside = `<s:Body xmlns:s="urn:soap" xmlns:unused="urn:a">${written}</s:Body>`;
        assert.equal(canonicalElement(inside), `<s:Body xmlns:s="urn:soap">${canonicalElement(written)}</s:Body>`);
      }),
    );
  });
});

describe('a text that is not an element', () => {
  it('is rejected without quoting it', () => {
    for (const text of [
      '',
      'secret',
      '<secret>',
      '<secret:a/>',
      '<a secret:b=""/>',
      '<a>&secret;</a>',
      '<a b="&secret;"/>',
      '<a>1 & 2</a>',
      '<a></secret>',
      '<a></as>',
      '<a/>secret',
      '<a/><b/>',
      '<a',
      '<a b=secret/>',
      '<!-- secret',
      '<a><![CDATA[secret</a>',
    ]) {
      assert.throws(() => canonicalElement(text), { message: 'a canonical form was asked for of what is no element' });
    }
  });
});

describe('a large number of', () => {
  const numbers = Array.from({ length: 10_000 }, (_, index) => index);

  it('of declarations, and of elements that use them', () => {
    const declarations = numbers.map((index) => ` xmlns:p${index}="u:${index}"`);
    const elements = numbers.map((index) => `<p${index}:a/>`);
    const canonical = numbers.map((index) => `<p${index}:a xmlns:p${index}="u:${index}"></p${index}:a>`);
    is(`<a${declarations.join('')}>${elements.join('')}</a>`, `<a>${canonical.join('')}</a>`);
  });

  it('of attributes, each with a different namespace', () => {
    const order = numbers.map(String).sort();
    const declarations = order.map((number) => ` xmlns:p${number}="u:${number}"`).join('');
    const attributes = order.map((number) => ` p${number}:a=""`).join('');
    const reversed = numbers.map((index) => ` p${index}:a="" xmlns:p${index}="u:${index}"`).toReversed();
    is(`<a${reversed.join('')}/>`, `<a${declarations}${attributes}></a>`);
  });
});

describe('a canonical form much longer than its document', () => {
  it('is rejected', () => {
    const repeats = (count: number): string => {
      const uri = `urn:${'x'.repeat(251)}`;
      return `<a xmlns:p="${uri}">${'<p:b/>'.repeat(count)}</a>`;
    };
    assert.ok(canonicalElement(repeats(10_000)).length > 2_700_000);
    assert.throws(() => canonicalElement(repeats(20_000)), /^Failure: malformed XML: too long in its canonical form$/);
  });
});
