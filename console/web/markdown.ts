/**
 * Converts the documents of the repository into data that the console renders as elements, when the console is built: the
 * browser creates no markup from text. Supports what the documents use.
 */

export type Inline =
  | string
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'strong'; readonly text: readonly Inline[] }
  /** `to` is a page of the console or, with a scheme, another site. */
  | { readonly kind: 'link'; readonly to: string; readonly text: readonly Inline[] };

export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly id: string; readonly text: readonly Inline[] }
  | { readonly kind: 'paragraph'; readonly text: readonly Inline[] }
  | { readonly kind: 'code'; readonly code: string }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly (readonly Block[])[] }
  | {
      readonly kind: 'table';
      readonly header: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    };

/** Returns the address of a linked document; undefined when the console does not serve it. */
export type ResolveLink = (target: string) => string | undefined;

/** `file` and `served` are paths in the repository, such as `docs/guides/payments.md`. */
export const linkResolver =
  (file: string, served: readonly string[]): ResolveLink =>
  (target) => {
    if (/^https?:/.test(target)) return target;
    const [path = '', anchor] = target.split('#');
    const linked = path === '' ? file : new URL(path, `file:///${file}`).pathname.slice(1);
    if (!served.includes(linked)) return undefined;
    return `/guides/${guideName(linked)}${anchor === undefined ? '' : `#${anchor}`}`;
  };

/** Returns the name of a served document in addresses: `guides/payments`. */
export const guideName = (file: string): string => file.replace(/^docs\/|\.md$/g, '');

const FENCE = /^```/;
const HEADING = /^(#{1,6}) (.*)$/;
const TABLE_RULE = /^\|[-:| ]+\|$/;
const ITEM = /^( *)(?:[-*]|(\d+)\.) +/;
const IMAGE = /!\[[^\]]*\]\([^)]*\)/g;
const INDENTED_CODE = /^ {4}/;

export function parseMarkdown(text: string, resolve: ResolveLink): Block[] {
  const lines = text.replace(IMAGE, '').split('\n');
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const [block, next] = parseBlock(lines, at, resolve);
    if (block !== undefined) blocks.push(block);
    at = next;
  }
  return blocks;
}

/** Returns the block at a line, and the line after it. */
function parseBlock(lines: readonly string[], at: number, resolve: ResolveLink): [Block | undefined, number] {
  const line = lines[at] ?? '';
  if (line.trim() === '') return [undefined, at + 1];
  if (FENCE.test(line)) {
    const end = lines.findIndex((each, index) => index > at && FENCE.test(each));
    return [{ kind: 'code', code: lines.slice(at + 1, end).join('\n') }, end + 1];
  }
  const [, marks, title = ''] = HEADING.exec(line) ?? [];
  if (marks !== undefined)
    return [{ kind: 'heading', level: marks.length, id: toAnchor(title), text: parseInline(title, resolve) }, at + 1];
  if (TABLE_RULE.test(lines[at + 1] ?? '')) return parseTable(lines, at, resolve);
  if (ITEM.test(line)) return parseList(lines, at, resolve);
  if (INDENTED_CODE.test(line)) {
    const end = findEnd(lines, at, (each) => INDENTED_CODE.test(each));
    return [
      {
        kind: 'code',
        code: lines
          .slice(at, end)
          .map((each) => each.slice(4))
          .join('\n'),
      },
      end,
    ];
  }
  const end = findEnd(
    lines,
    at,
    (each) => each.trim() !== '' && !FENCE.test(each) && !HEADING.test(each) && !ITEM.test(each),
  );
  return [{ kind: 'paragraph', text: parseInline(lines.slice(at, end).join(' '), resolve) }, end];
}

/** Returns the first line from `at` on that does not belong to the block; the line at `at` always does. */
function findEnd(lines: readonly string[], at: number, belongs: (line: string) => boolean): number {
  let end = at + 1;
  while (end < lines.length && belongs(lines[end] ?? '')) end++;
  return end;
}

function parseTable(lines: readonly string[], at: number, resolve: ResolveLink): [Block, number] {
  const end = findEnd(lines, at, (line) => line.startsWith('|'));
  const toCells = (line: string) =>
    line
      .replace(/^\||\|$/g, '')
      .split(/(?<!\\)\|/)
      .map((cell) => parseInline(cell.trim().replaceAll('\\|', '|'), resolve));
  const [header = [], , ...rows] = lines.slice(at, end).map(toCells);
  return [{ kind: 'table', header, rows }, end];
}

/** An item continues on indented lines, over an empty line too. */
function parseList(lines: readonly string[], at: number, resolve: ResolveLink): [Block, number] {
  const [, indent = '', number] = ITEM.exec(lines[at] ?? '') ?? [];
  const isItem = (line: string): boolean => ITEM.exec(line)?.[1] === indent;
  const isInside = (line: string): boolean => line.startsWith(`${indent}  `);
  const items: string[][] = [];
  let end = at;
  for (; end < lines.length; end++) {
    const line = lines[end] ?? '';
    const continues = isInside(line) || (line.trim() === '' && isInside(lines[end + 1] ?? ''));
    if (isItem(line)) items.push([line.replace(ITEM, '')]);
    else if (continues) items.at(-1)?.push(line.replace(/^ {2,3}/, ''));
    else break;
  }
  const parsed = items.map((item) => parseMarkdown(item.join('\n'), resolve));
  return [{ kind: 'list', isOrdered: number !== undefined, items: parsed }, end];
}

const INLINE = /`([^`]+)`|\*\*(.+?)\*\*|(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])|\[((?:[^\]`]|`[^`]*`)+)\]\(([^)\s]+)\)/g;

function parseInline(text: string, resolve: ResolveLink): Inline[] {
  const parts: Inline[] = [];
  let last = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, strong, emphasis, label, target] = match;
    if (match.index > last) parts.push(text.slice(last, match.index));
    last = match.index + whole.length;
    if (code !== undefined) parts.push({ kind: 'code', text: code });
    else if (label === undefined) parts.push({ kind: 'strong', text: parseInline(strong ?? emphasis ?? '', resolve) });
    else parts.push(...toLink(parseInline(label, resolve), resolve(target ?? '')));
  }
  if (last < text.length) parts.push(text.slice(last));
  return parts;
}

/** A link to a file that the console does not serve remains as its text. */
const toLink = (text: readonly Inline[], to: string | undefined): readonly Inline[] =>
  to === undefined ? text : [{ kind: 'link', to, text }];

/** The anchor that headings have on the usual platforms. */
const toAnchor = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
