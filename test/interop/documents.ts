import fc from 'fast-check';

/** Documents as merchants write them, and a rare one: a fragment with its root's declarations. */

const TEXTS = ['', 'O\'Brien "X" <&>', 'Ñandú é 漢字 😀', ']]>', ' two  blanks ', 'a\tb', 'x'.repeat(700)] as const;

/** Characters of XML 1.0 that a literal may hold; a carriage return has to be written as a reference. */
const character = fc
  .integer({ min: 0x20, max: 0x1ffff })
  .filter(
    (code) =>
      code < 0xd800 || (code > 0xdfff && code !== 0xfffe && code !== 0xffff && code !== 0x1fffe && code !== 0x1ffff),
  );
const text = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.array(character, { maxLength: 40 }).map((codes) => String.fromCodePoint(...codes)),
);

const escaped = (value: string): string =>
  value.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');

const URIS = ['urn:a', 'urn:b', 'http://www.example.com/compra', 'urn:%C3%B1'] as const;
const PREFIXES = ['p', 'q', 'Q', 'ns1', 'xmlnsx'] as const;

interface Shape {
  readonly prefix: number;
  readonly uri: number;
  readonly declaresDefault: boolean;
  readonly attribute: string;
  readonly quote: string;
  readonly kids: readonly (Shape | string)[];
}

const piece = fc.oneof(
  text.map(escaped),
  text.filter((value) => !value.includes(']]>')).map((value) => `<![CDATA[${value}]]>`),
  fc.constantFrom('<!-- a - b -->', '&#xD;', '&#10;', '&#x1F600;', '\r\n', '\n'),
);

const { shape } = fc.letrec<{ shape: Shape }>((tie) => ({
  shape: fc.record({
    prefix: fc.nat(PREFIXES.length),
    uri: fc.nat(URIS.length - 1),
    declaresDefault: fc.boolean(),
    attribute: text.map((value) => escaped(value).replace(/'/g, '&apos;')),
    quote: fc.constantFrom('"', "'"),
    kids: fc.array(fc.oneof({ depthSize: 'small', maxDepth: 5 }, piece, tie('shape')), { maxLength: 5 }),
  }),
}));

function write({ prefix, uri, declaresDefault, attribute, quote, kids }: Shape, at: number): string {
  const own = PREFIXES[prefix];
  const name = own === undefined ? `e${at}` : `${own}:e${at}`;
  const declared = own === undefined ? '' : ` xmlns:${own}="${URIS[uri]}"`;
  const fallback = declaresDefault ? ` xmlns='${own === undefined ? URIS[uri] : ''}'` : '';
  const qualified = own === undefined ? '' : ` ${own}:z=${quote}${attribute}${quote}`;
  const inner = kids.map((kid, index) => (typeof kid === 'string' ? kid : write(kid, index))).join('');
  const start = `<${name}${declared}${fallback}${qualified} b=${quote}${attribute}${quote} type="p:x"`;
  return inner === '' ? `${start}/>` : `${start}\n>${inner}</${name} >`;
}

/** A root that declares what values inside may name. */
export const document = shape.map(
  (root) =>
    `<?xml version="1.0" encoding="UTF-8"?>\n<!-- before --><p:purchase xmlns:p="urn:p">${write(root, 0)}</p:purchase>\n`,
);

/** Payloads of JSON, written with blanks that must stay. */
export const jsonPayload = fc
  .record({
    uniqueCode: text,
    cardData: fc.dictionary(text, fc.oneof(text, fc.integer(), fc.constant(null)), { maxKeys: 5 }),
    long: fc.constantFrom('', 'y'.repeat(20_000)),
    rest: fc.jsonValue({ maxDepth: 3 }),
  })
  .map((value) => `${JSON.stringify(value, null, 1).slice(0, -1)}, "amount": 0.00 }`);
