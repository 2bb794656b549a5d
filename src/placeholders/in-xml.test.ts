import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { locateXml, withValues } from '../../test/fixtures/placeholder-fixtures.ts';
import { readXml } from '../../test/fixtures/xml-parsing.ts';
import { Failure } from '../kernel/failure.ts';
import { substitute } from './located-placeholder.ts';

const ONE = '{{a:detokenize}}';

const replaced = (text: string, ...values: readonly string[]): string =>
  substitute(text, withValues(locateXml(text), values));

function failure(act: () => unknown): Failure {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return error;
  }
  return assert.fail('nothing was thrown');
}

describe('placeholders in XML', () => {
  it('are replaced in text, with markup characters escaped', () => {
    assert.equal(replaced(`<a>x${ONE}<b>${ONE}</b>${ONE}y</a>`, '1', '2', '3'), '<a>x1<b>2</b>3y</a>');
    assert.equal(replaced(`<a>${ONE}</a>`, `<&>"'`), `<a>&lt;&amp;&gt;"'</a>`);
  });

  it('are replaced in attribute values, with the enclosing quotes escaped', () => {
    assert.equal(
      replaced(`<a b="${ONE}" c = '${ONE}'/>`, `"'<&>`, `"'<&>`),
      `<a b="&quot;'&lt;&amp;&gt;" c = '&quot;&apos;&lt;&amp;&gt;'/>`,
    );
    const text = `<a\n b\t=\n"&lt;${ONE}>"\r\n x:c='"${ONE}'><b d='/>${ONE}'/></a>`;
    assert.equal(replaced(text, '1', '2', '3'), `<a\n b\t=\n"&lt;1>"\r\n x:c='"2'><b d='/>3'/></a>`);
  });

  it('are replaced in CDATA, where no value can end the section', () => {
    const inCdata = (value: string): string => replaced(`<a><![CDATA[<${ONE}&]]></a>`, value);
    assert.equal(inCdata('x & <y'), '<a><![CDATA[<x & <y&]]></a>');
    for (const value of [']]>', ']', '>', ']]', ']>', 'a]]>b<c>&', '<![CDATA[x]]>']) {
      assert.deepEqual(readXml(inCdata(value)), ['open a', `text <${value}&`, 'close a'], value);
    }
    const wedged = `<a><![CDATA[]]${ONE}>]${ONE}]>]]></a>`;
    for (const value of ['x', ']', '>', ']]>']) {
      assert.deepEqual(
        readXml(replaced(wedged, value, value)),
        ['open a', `text ]]${value}>]${value}]>`, 'close a'],
        value,
      );
    }
  });

  it('are ignored in comments, names and namespace declarations', () => {
    const text = `<a xmlns="urn:${ONE}" xmlns:b='{{'><!-- ${ONE} {{ <x y="{{"> --><b:c xmlnsx="${ONE}"/><!--{{--></a>`;
    assert.equal(locateXml(text).length, 1);
    assert.equal(replaced(text, '7'), text.replace(`xmlnsx="${ONE}"`, 'xmlnsx="7"'));
  });

  it('are ignored in comments that start with the characters that end one', () => {
    for (const start of ['<!-->', '<!--->']) {
      for (const inside of ['{{', ONE, '&#123;{', '<b c="{{"/>']) {
        assert.deepEqual(locateXml(`<a>${start}${inside}--></a>`), [], start + inside);
      }
      // Openings without an end; the search for the end must not start again each time.
      assert.equal(replaced(`<a>${start}<![CDATA[<b c="--></a>`), `<a>${start}<![CDATA[<b c="--></a>`);
    }
  });

  it('form no `]]>` with the text around them', () => {
    for (const [before, value, after] of [
      ['', ']]', '>'],
      [']', ']', '>'],
      ['', 'x]]', '>y'],
    ] as const) {
      const text = replaced(`<a>${before}${ONE}${after}</a>`, value);
      assert.deepEqual(readXml(text), ['open a', `text ${before}${value}${after}`, 'close a']);
    }
  });

  it('are replaced in xml: attributes; end tags have none', () => {
    const text = `<a xml:lang="${ONE}"></a\n>`;
    assert.equal(replaced(text, 'en'), '<a xml:lang="en"></a\n>');
  });

  it('are found beside names with characters that only JavaScript treats as blanks', () => {
    for (const character of ['\u1680', '\ufeff']) {
      for (const text of [`<a${character}b c="${ONE}"/>`, `<a x${character}y="1" c='>${ONE}'/>`]) {
        assert.deepEqual(
          readXml(replaced(text, `"'`)),
          readXml(text.replace(ONE, '&quot;&apos;')),
          JSON.stringify(text),
        );
      }
    }
  });

  it('may contain character references', () => {
    const escaped = ONE.replace(/./g, (unit) => `&#${unit.charCodeAt(0)};`);
    for (const written of [escaped, '&#x7b;{a:detokenize}&#125;', '{&#x000007B;a&#9;:&#xA;detokenize&#32;}}']) {
      assert.equal(replaced(`<a>&amp;😀&#x1F600;${written}&lt;x</a>`, '1'), '<a>&amp;😀&#x1F600;1&lt;x</a>', written);
      assert.equal(replaced(`<a b='&quot;${written}&apos;'/>`, '1'), `<a b='&quot;1&apos;'/>`, written);
    }
  });

  it('are not found in CDATA or text that contains escaped character references', () => {
    for (const text of ['<a><![CDATA[&#123;&#123;]]></a>', '<a>&amp;#123;&amp;#123;</a>', '<a>{&lt;{</a>']) {
      assert.deepEqual(locateXml(text), [], text);
    }
  });

  it('do not extend beyond the end of a text or section', () => {
    for (const text of ['<a>{<b/>{</a>', '<a>{<!-- -->{</a>', '<a>{<![CDATA[{]]></a>', '<a b="{" c="{"/>']) {
      assert.deepEqual(locateXml(text), [], text);
    }
    const cut = '<a>{{a:<!-- -->detokenize}}</a>';
    assert.equal(failure(() => locateXml(cut)).code, 'invalid_placeholder');
  });

  it('are never replaced with characters that XML does not allow', () => {
    for (const text of [`<a>${ONE}</a>`, `<a b="${ONE}"/>`, `<a><![CDATA[${ONE}]]></a>`]) {
      for (const value of ['\ud800', 'x\udc00', '\ufffe', '\uffff', '\u0000', '\u001b', '\ufffe]]>']) {
        const { code, message } = failure(() => replaced(text, value));
        assert.equal(code, 'invalid_placeholder');
        assert.equal(message, 'line 1: placeholder 1: the value cannot be written in this place');
      }
      for (const value of ['\ufffd', '\ud7ff', '\ue000', '😀', '\u{10ffff}']) {
        assert.equal(replaced(text, value), text.replace(ONE, value));
      }
    }
  });
});

describe('the location of a placeholder in XML', () => {
  it('is the line, counted from the first line of the element', () => {
    const text = `<a b="\n${ONE}">\r\n<!--\n\n-->${ONE}${ONE}<![CDATA[\n\n${ONE}]]>&#10;\n&#x7b;{a:detokenize}}</a>`;
    assert.deepEqual(
      locateXml(text, 10).map(({ number, location }) => [number, location()]),
      [
        [1, 'line 11'],
        [2, 'line 14'],
        [3, 'line 14'],
        [4, 'line 16'],
        [5, 'line 17'],
      ],
    );
  });

  it('of a malformed one is reported with the character in the decoded text', () => {
    const { code, field, message } = failure(() =>
      locateXml(`<a>${ONE}\n<b c="&#123;&#x7b;4111111111111111"/></a>`, 5),
    );
    assert.equal(code, 'invalid_placeholder');
    assert.equal(field, 'line 6');
    assert.equal(message, 'line 6: placeholder 2: character 19 of the value: expected :');
  });
});

describe('a large document', () => {
  it('is searched in linear time', () => {
    const many = 100_000;
    const attributes = Array.from({ length: many }, (_, index) => `a${index}=" "`).join(' ');
    assert.deepEqual(locateXml(`<a ${attributes}/>`), []);
    assert.deepEqual(locateXml(`<a>${'<b/>&#32;'.repeat(many)}</a>`), []);
    assert.deepEqual(locateXml(`<a${' '.repeat(many)}>${'<![CDATA[&#]]>'.repeat(many)}</a>`), []);
    assert.equal(locateXml(`<a>${'&#32;\n'.repeat(many)}${ONE}</a>`)[0]?.location(), `line ${many + 1}`);
  });
});
