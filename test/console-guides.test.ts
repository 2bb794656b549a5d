import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { GUIDES } from '../console/web/guides.ts';
import { type Block, guideName, type Inline, linkResolver, parseMarkdown } from '../console/web/markdown.ts';

/** The documents that the console serves as pages. */
const ROOT = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const files = GUIDES.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).sort();
const parsed = new Map(files.map((file) => [guideName(file), parseMarkdown(read(file), linkResolver(file, files))]));

const inlinesOf = (block: Block): readonly Inline[] => {
  if (block.kind === 'code') return [];
  if (block.kind === 'list') return block.items.flat().flatMap(inlinesOf);
  if (block.kind === 'table') return [...block.header, ...block.rows.flat()].flat();
  return block.text;
};
const flatten = (parts: readonly Inline[]): readonly Inline[] =>
  parts.flatMap((part) => (typeof part === 'object' && part.kind !== 'code' ? [part, ...flatten(part.text)] : [part]));
const anchorsOf = (name: string): readonly string[] =>
  (parsed.get(name) ?? []).flatMap((block) => (block.kind === 'heading' ? [block.id] : []));

function assertServed(address: string): void {
  const [path = '', anchor] = address.replace('/guides/', '').split('#');
  assert.ok(parsed.has(path), address);
  if (anchor !== undefined) assert.ok(anchorsOf(path).includes(anchor), address);
}

describe('the guides of the console', () => {
  it('begin with their title, and leave no markup in their texts', () => {
    assert.ok(parsed.size > 10);
    for (const [name, blocks] of parsed) {
      assert.deepEqual(
        [blocks[0]?.kind, blocks.filter((block) => block.kind === 'heading' && block.level === 1).length],
        ['heading', 1],
        name,
      );
      const texts = flatten(blocks.flatMap(inlinesOf)).filter((part) => typeof part === 'string');
      for (const text of texts) assert.doesNotMatch(text, /\]\(|\*\*|```|^\|/, `${name}: ${text}`);
    }
  });

  it('have no dead link', () => {
    const links = [...parsed.values()].flatMap((blocks) => flatten(blocks.flatMap(inlinesOf)));
    const addresses = links.flatMap((part) => (typeof part === 'object' && part.kind === 'link' ? [part.to] : []));
    assert.ok(addresses.length > 20);
    for (const address of addresses) if (address.startsWith('/')) assertServed(address);
  });

  it('are those that the pages link to and load', () => {
    const items = [...read('console/web/src/shell/nav-items.ts').matchAll(/guide: '([^']+)'/g)];
    assert.ok(items.length > 15);
    for (const [, guide] of items) assertServed(`/guides/${guide}`);
    const loaded = read('console/web/src/pages/guide/guide-files.ts');
    for (const pattern of GUIDES) assert.ok(loaded.includes(`'../../../../../${pattern}'`), pattern);
  });

  it('keep code, lists and tables', () => {
    const text =
      '# T\n\n1. one\n   more\n\n   ```sh\n   a | b\n   ```\n2. `two`\n\n| a | b |\n|---|---|\n| `x\\|y` | [z](other.md) |\n';
    const [, list, table] = parseMarkdown(text, () => undefined);
    assert.deepEqual(list, {
      kind: 'list',
      isOrdered: true,
      items: [
        [
          { kind: 'paragraph', text: ['one more'] },
          { kind: 'code', code: 'a | b' },
        ],
        [{ kind: 'paragraph', text: [{ kind: 'code', text: 'two' }] }],
      ],
    });
    assert.deepEqual(table, {
      kind: 'table',
      header: [['a'], ['b']],
      rows: [[[{ kind: 'code', text: 'x|y' }], ['z']]],
    });
  });
});
