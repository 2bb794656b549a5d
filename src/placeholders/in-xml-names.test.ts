import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { SaxesParser } from 'saxes';
import { locateXml } from '../../test/fixtures/placeholder-fixtures.ts';
import { substitute } from './located-placeholder.ts';

const ONE = '{{a:detokenize}}';

/** An element as a parser that we did not write sees it; texts next to each other are one. */
interface ParsedNames {
  /** Elements and attributes by name, in order. */
  readonly structure: string[];
  /** Values of attributes and texts, in order. */
  readonly values: string[];
}

function read(text: string): ParsedNames {
  const structure: string[] = [];
  const values: string[] = [];
  const parser = new SaxesParser({ xmlns: true });
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', ({ name, attributes }) => {
    structure.push(`<${name}`);
    for (const attribute of Object.values(attributes)) {
      structure.push(attribute.name);
      values.push(attribute.value);
    }
    values.push('');
  });
  const onText = (value: string): void => {
    values.push(`${values.pop() ?? ''}${value}`);
  };
  parser.on('text', onText);
  parser.on('cdata', onText);
  parser.on('closetag', ({ name }) => {
    structure.push(`${name}>`);
    values.push('');
  });
  parser.write(text).close();
  return { structure, values };
}

/** Characters that JavaScript treats as blanks and XML as letters of a name. */
const ODD = ['\u1680', '\ufeff'];
const names = fc
  .array(fc.constantFrom(...ODD, ...ODD, 'a', 'é', 'xmlns'), { minLength: 1, maxLength: 4 })
  .map((letters) => letters.join(''))
  .filter((name) => name !== 'xmlns');
/** Names of cardholders that would end a value, and begin something else, if they were let. */
const holders = fc.oneof(
  fc.constantFrom('" p', '="1', "' p", "='1", '"/><p q="', "'/><p q='", '" p="1', '</a><p>', ']]>', '&quot; p', '<!--'),
  fc
    .array(fc.constantFrom(...ODD, '"', "'", '=', '<', '>', '/', '&', ']', ' ', 'p', '1', '€'), {
      minLength: 1,
      maxLength: 8,
    })
    .map((characters) => characters.join('')),
);

type Quote = '"' | "'";
interface Attribute {
  readonly name: string;
  readonly quote: Quote;
  readonly before: string;
  readonly after: string;
}
interface Element {
  readonly name: string;
  readonly attributes: readonly Attribute[];
  readonly inside: readonly (Element | 'text' | 'cdata')[];
  readonly gap: string;
}

const attributes = fc.uniqueArray(
  fc.record({
    name: names,
    quote: fc.constantFrom<Quote>('"', "'"),
    // The other quote is free to stand there, and what looks like an attribute with it.
    before: fc.constantFrom('', 'x', '>', '=', ...ODD, 'OTHER', `a${ODD[0]}b=OTHER`),
    after: fc.constantFrom('', 'y', '/>', ' p=OTHER', `${ODD[1]}=`),
  }),
  { maxLength: 3, selector: ({ name }) => name },
);
const { element } = fc.letrec<{ element: Element }>((tie) => ({
  element: fc.record({
    name: names,
    attributes,
    inside: fc.array(fc.oneof({ maxDepth: 2 }, fc.constantFrom('text' as const, 'cdata' as const), tie('element')), {
      maxLength: 3,
    }),
    gap: fc.constantFrom(' ', '\n', '\t ', '\r\n'),
  }),
}));

function written({ name, attributes: all, inside, gap }: Element): string {
  const pairs = all.map(({ name: of, quote, before, after }) => {
    const other = quote === '"' ? "'" : '"';
    const value = `${before}${ONE}${after}`.replaceAll('OTHER', other);
    return `${gap}${of}=${quote}${value}${quote}`;
  });
  const content = inside.map((each) => {
    if (each === 'text') return ONE;
    return each === 'cdata' ? `<![CDATA[${ONE}]]>` : written(each);
  });
  return `<${name}${pairs.join('')}>${content.join('')}</${name}>`;
}

describe('names with characters that only JavaScript treats as blanks', () => {
  it('are unchanged after names of cardholders are inserted beside them', () => {
    let replaced = 0;
    fc.assert(
      fc.property(element, fc.array(holders, { minLength: 1, maxLength: 4 }), (root, inserted) => {
        const text = written(root);
        const marks = locateXml(text);
        // Every placeholder is found: none is taken for a part of a name.
        assert.equal(marks.length, text.split(ONE).length - 1);
        const valueAt = (index: number): string => inserted[index % inserted.length] ?? '';
        const result = substitute(
          text,
          marks.map((mark, index) => ({ located: mark, value: valueAt(index) })),
        );
        const [before, after] = [read(text), read(result)];
        assert.deepEqual(after.structure, before.structure);
        let used = 0;
        const expected = before.values.map((value) => value.replaceAll(ONE, () => valueAt(used++)));
        assert.deepEqual(after.values, expected);
        replaced += used;
      }),
      { numRuns: 1000 },
    );
    assert.ok(replaced > 1000, 'the property was not put to the test');
  });
});
