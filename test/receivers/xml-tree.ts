import { SaxesParser } from 'saxes';

/** XML as the node receiver sees it: just enough to canonicalise, and to put decrypted parts in their places. */
export interface Attribute {
  readonly prefix: string;
  readonly local: string;
  readonly uri: string;
  readonly value: string;
}

export interface Element {
  readonly prefix: string;
  readonly local: string;
  readonly uri: string;
  readonly attributes: readonly Attribute[];
  /** Namespaces declared here, by prefix. */
  readonly declarations: ReadonlyMap<string, string>;
  readonly children: Node[];
  parent: Element | undefined;
}

/** Text is a string; comments are left out, as canonicalisation does. */
export type Node = Element | string;

const XMLNS = 'http://www.w3.org/2000/xmlns/';

export const isElement = (node: Node | undefined): node is Element => typeof node === 'object';

export function parseXml(text: string): Element {
  const top: Node[] = [];
  const open: Element[] = [];
  const parser = new SaxesParser({ xmlns: true });
  const add = (node: Node): void => {
    const parent = open.at(-1);
    const siblings = parent?.children ?? top;
    const last = siblings.at(-1);
    if (typeof node === 'string' && typeof last === 'string') siblings[siblings.length - 1] = last + node;
    else siblings.push(node);
  };
  const refuse = (what: string) => () => {
    throw new Error(`${what} in XML`);
  };
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('doctype', refuse('a document type'));
  parser.on('processinginstruction', refuse('a processing instruction'));
  parser.on('text', (value) => add(value));
  parser.on('cdata', (value) => add(value));
  parser.on('opentag', ({ prefix, local, uri, attributes }) => {
    const all = Object.values(attributes);
    const element = {
      prefix,
      local,
      uri,
      attributes: all.filter((each) => each.uri !== XMLNS),
      declarations: new Map(
        all.filter((each) => each.uri === XMLNS).map((each) => [each.prefix === '' ? '' : each.local, each.value]),
      ),
      children: [],
      parent: open.at(-1),
    };
    add(element);
    open.push(element);
  });
  parser.on('closetag', () => {
    open.pop();
  });
  parser.write(text).close();
  const root = top.find(isElement);
  if (root === undefined) throw new Error('no element');
  return root;
}

/** The namespace of a prefix at this place; undefined when the prefix is not declared. */
export function namespaceAt(element: Element | undefined, prefix: string): string | undefined {
  for (let each = element; each !== undefined; each = each.parent) {
    const uri = each.declarations.get(prefix);
    if (uri !== undefined) return uri;
  }
  return undefined;
}

/** Puts a piece of XML in the place of an element, read with the namespaces of that place. Returns what it holds. */
export function replaceByText(element: Element, text: string): Node[] {
  const parent = element.parent;
  if (parent === undefined) throw new Error('the outermost element cannot be replaced');
  const prefixes = new Set<string>();
  for (let each: Element | undefined = parent; each !== undefined; each = each.parent) {
    for (const prefix of each.declarations.keys()) prefixes.add(prefix);
  }
  const declarations = [...prefixes].map(
    (prefix) => ` xmlns${prefix === '' ? '' : ':'}${prefix}="${escapeAttribute(namespaceAt(parent, prefix) ?? '')}"`,
  );
  const { children } = parseXml(`<piece${declarations.join('')}>${text}</piece>`);
  for (const child of children) if (isElement(child)) child.parent = parent;
  parent.children.splice(parent.children.indexOf(element), 1, ...children);
  return children;
}

export const escapeAttribute = (value: string): string =>
  substitute(value, /[&<"\t\n\r]/g, {
    '&': '&amp;',
    '<': '&lt;',
    '"': '&quot;',
    '\t': '&#x9;',
    '\n': '&#xA;',
    '\r': '&#xD;',
  });
export const escapeText = (value: string): string =>
  substitute(value, /[&<>\r]/g, { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#xD;' });

const substitute = (value: string, what: RegExp, by: Readonly<Record<string, string>>): string =>
  value.replace(what, (character) => by[character] ?? character);

export function* elementsOf(element: Element): Generator<Element> {
  yield element;
  for (const child of element.children) if (isElement(child)) yield* elementsOf(child);
}

export const childrenOf = (element: Element, uri: string, local: string): Element[] =>
  element.children.filter(isElement).filter((child) => child.uri === uri && child.local === local);

/** The one element at the end of a path of children of one namespace. */
export function only(element: Element, uri: string, ...path: readonly string[]): Element {
  return path.reduce((at, local) => {
    const [found, ...others] = childrenOf(at, uri, local);
    if (found === undefined || others.length > 0) throw new Error(`not one ${local} in ${at.local}`);
    return found;
  }, element);
}

export const attributeOf = (element: Element, local: string, uri = ''): string | undefined =>
  element.attributes.find((each) => each.local === local && each.uri === uri)?.value;

export function textOf(element: Element): string {
  return element.children.map((child) => (isElement(child) ? textOf(child) : child)).join('');
}

/** An ordinary serialization: as it was written, except for comments and quotes. */
export function serialize(node: Node): string {
  if (!isElement(node)) return escapeText(node);
  const name = node.prefix === '' ? node.local : `${node.prefix}:${node.local}`;
  const declared = [...node.declarations].map(
    ([prefix, uri]) => ` xmlns${prefix === '' ? '' : `:${prefix}`}="${escapeAttribute(uri)}"`,
  );
  const attributes = node.attributes.map(
    ({ prefix, local, value }) => ` ${prefix === '' ? '' : `${prefix}:`}${local}="${escapeAttribute(value)}"`,
  );
  return `<${name}${declared.join('')}${attributes.join('')}>${node.children.map(serialize).join('')}</${name}>`;
}
