import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { locateXml } from '../../test/fixtures/placeholder-fixtures.ts';
import { readXml } from '../../test/fixtures/xml-parsing.ts';
import { substitute } from './located-placeholder.ts';

const ONE = '{{a:detokenize}}';

/** A piece of content, and what a parser must find there; `?` stands for a placeholder. */
type Content =
  | { kind: 'text' | 'cdata' | 'comment'; text: string }
  | { kind: 'element'; name: string; attributes: Attribute[]; content: Content[] };
type Attribute = readonly [name: string, quote: string, text: string];

describe('an element with its placeholders replaced', () => {
  const characters = fc.constantFrom(...('?xñ😀} \t\n<>&"\']/=-'.match(/./gsu) ?? []));
  const texts = fc.array(characters, { maxLength: 8 }).map((all) => all.join(''));
  // Names of cards, which have no control characters.
  const values = fc.string({
    unit: fc.constantFrom(...(`a]<>&"'{}€😀\u0085 `.match(/./gsu) ?? [])),
    minLength: 1,
    maxLength: 6,
  });
  const names = fc.constantFrom('a', 'b-c', 'ü.1');

  const { content } = fc.letrec<{ content: Content }>((tie) => ({
    content: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      texts.map((text) => ({ kind: 'text' as const, text })),
      texts.map((text) => ({ kind: 'cdata' as const, text: text.replaceAll(']', '[') })),
      texts.map((text) => ({ kind: 'comment' as const, text: text.replaceAll('-', '+') })),
      fc.record({
        kind: fc.constant('element' as const),
        name: names,
        attributes: fc.uniqueArray(fc.tuple(names, fc.constantFrom('"', "'"), texts), {
          maxLength: 3,
          selector: ([name]) => name,
        }),
        content: fc.array(tie('content'), { maxLength: 4 }),
      }),
    ),
  }));

  const reference = (character: string): string => `&#x${character.codePointAt(0)?.toString(16)};`;
  const escaped = (text: string, pattern: RegExp): string => text.replace(pattern, reference);

  const written = (piece: Content, put: (kind: Content['kind']) => string): string => {
    const filled = (text: string, kind: Content['kind']): string => text.replaceAll('?', () => put(kind));
    if (piece.kind === 'text') return filled(escaped(piece.text, /[<>&\]]/g), 'text');
    if (piece.kind === 'cdata') return `<![CDATA[${filled(piece.text, 'cdata')}]]>`;
    if (piece.kind !== 'element') return `<!--${filled(piece.text, 'comment')}-->`;
    const attributes = piece.attributes.map(([name, quote, text]) => {
      const safe = escaped(text, quote === '"' ? /[<&"\t\n]/g : /[<&'\t\n]/g);
      return `\n${name}=${quote}${filled(safe, 'element')}${quote}`;
    });
    const inner = piece.content.map((each) => written(each, put)).join('');
    return `<${piece.name}${attributes.join('')}>${inner}</${piece.name}>`;
  };

  const expected = (piece: Content, next: () => string): string[] => {
    const filled = (text: string): string => text.replaceAll('?', next);
    if (piece.kind === 'comment') return [];
    if (piece.kind !== 'element') return [`text ${filled(piece.text)}`];
    const attributes = piece.attributes.map(([name, , text]) => `${name}=${filled(text)}`);
    const inner = piece.content.flatMap((each) => expected(each, next));
    return [`open ${piece.name}`, ...attributes, ...inner, `close ${piece.name}`];
  };

  /** Neighbors become one text, as a parser reports them here. */
  const joined = (events: readonly string[]): string[] => {
    const all: string[] = [];
    for (const event of events.filter((each) => each !== 'text ')) {
      const goesOn = event.startsWith('text ') && all.at(-1)?.startsWith('text ') === true;
      if (goesOn) all[all.length - 1] += event.slice(5);
      else all.push(event);
    }
    return all;
  };

  it('is well-formed, contains the values and is unchanged elsewhere', () => {
    let marked = 0;
    const roots = fc.array(content, { maxLength: 4 });
    fc.assert(
      fc.property(roots, fc.array(values, { minLength: 1, maxLength: 4 }), (inside, inserted) => {
        const root: Content = { kind: 'element', name: 'root', attributes: [], content: inside };
        const text = written(root, () => ONE);
        const marks = locateXml(text);
        const valueAt = (index: number): string => inserted[index % inserted.length] ?? '';
        const result = substitute(
          text,
          marks.map((mark, index) => ({ located: mark, value: valueAt(index) })),
        );
        let used = 0;
        assert.deepEqual(readXml(result), joined(expected(root, () => valueAt(used++))));
        assert.equal(used, marks.length);
        const rest = marks.reduceRight((all, { start, end }) => `${all.slice(0, start)}?${all.slice(end)}`, text);
        assert.equal(
          rest,
          written(root, (kind) => (kind === 'comment' ? ONE : '?')),
        );
        marked += used;
      }),
      { numRuns: 500 },
    );
    assert.ok(marked > 100, 'the property was not put to the test');
  });
});
