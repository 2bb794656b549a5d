import { type Element, escapeAttribute, escapeText, isElement, type Node, namespaceAt } from './xml-tree.ts';

/**
 * Exclusive XML Canonicalization 1.0 without comments, of one element and what is in it. Inclusive prefixes are those
 * of an InclusiveNamespaces element; `''` stands for `#default`.
 */
export function canonicalise(node: Node, inclusive: readonly string[] = []): string {
  return render(node, new Map(), inclusive);
}

function render(node: Node, rendered: ReadonlyMap<string, string>, inclusive: readonly string[]): string {
  if (!isElement(node)) return escapeText(node);
  const fresh = [...neededBy(node, inclusive)].filter(([prefix, uri]) => (rendered.get(prefix) ?? '') !== uri);
  const within = new Map([...rendered, ...fresh]);
  const name = qualified(node.prefix, node.local);
  const declarations = fresh
    .sort(([one], [other]) => compare(one, other))
    .map(([prefix, uri]) => ` xmlns${prefix === '' ? '' : `:${prefix}`}="${escapeAttribute(uri)}"`);
  const attributes = [...node.attributes]
    .sort((one, other) => compare(one.uri, other.uri) || compare(one.local, other.local))
    .map(({ prefix, local, value }) => ` ${qualified(prefix, local)}="${escapeAttribute(value)}"`);
  const inner = node.children.map((child) => render(child, within, inclusive)).join('');
  return `<${name}${declarations.join('')}${attributes.join('')}>${inner}</${name}>`;
}

/** Namespaces that the element itself makes visible use of, and those that the signer wants in any case. */
function neededBy(element: Element, inclusive: readonly string[]): Map<string, string> {
  const needed = new Map([[element.prefix, element.uri]]);
  for (const { prefix, uri } of element.attributes) {
    if (prefix !== '' && prefix !== 'xml') needed.set(prefix, uri);
  }
  for (const prefix of inclusive) {
    const uri = namespaceAt(element, prefix);
    if (uri !== undefined) needed.set(prefix, uri);
  }
  return needed;
}

const qualified = (prefix: string, local: string): string => (prefix === '' ? local : `${prefix}:${local}`);

/** By code points, which differs from JavaScript's own order beyond U+FFFF only. */
const compare = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));
