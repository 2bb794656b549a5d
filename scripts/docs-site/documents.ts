import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

/** The Markdown of the documentation: which files it has, what they link to, and the anchors that links can name. */

/** A link of a document that does not lead to another host. */
export interface LocalLink {
  /** The target in the text, such as `../operations.md#custody`. */
  readonly written: string;
  /** Path from the root of the project, without a slash at the end. */
  readonly path: string;
  readonly anchor: string | undefined;
}

const FENCED = /^( *)(`{3,})[^\n]*\n[\s\S]*?^\1\2`*$/gm;
const withoutCode = (markdown: string): string => markdown.replace(FENCED, '').replace(/`[^`\n]+`/g, '``');

/** Resolves a target that a document contains. Undefined for another host. */
export function resolveTarget(document: string, written: string): LocalLink | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(written)) return undefined;
  const [file = '', anchor] = written.split('#');
  const path = file === '' ? document : posix.join(posix.dirname(document), decodeURI(file)).replace(/\/$/, '');
  return { written, path, anchor };
}

/** Returns the links and pictures of a document, without those in code. */
export const listLocalLinks = (document: string, markdown: string): readonly LocalLink[] =>
  [...withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, written = '']) => {
    const link = resolveTarget(document, written);
    return link === undefined ? [] : [link];
  });

const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** Returns a function that names headings in their order, as GitHub does: a repeated one gets a number. */
export function createAnchors(): (heading: string) => string {
  const counts = new Map<string, number>();
  return (heading) => {
    const slug = slugOf(heading);
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  };
}

/** Returns the text of a heading as a reader sees it. */
const plainText = (heading: string): string => heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '');

export function listAnchors(markdown: string): readonly string[] {
  const name = createAnchors();
  return [...markdown.replace(FENCED, '').matchAll(/^#{1,6} +(.*?) *$/gm)].map(([, heading = '']) =>
    name(plainText(heading)),
  );
}

/**
 * Lists the Markdown files that are reached from README.md by links. A link to a folder reaches each Markdown file in it.
 * `filesOf` lists the names in a folder.
 */
export function listReachedDocuments(root: string, filesOf: (folder: string) => readonly string[]): readonly string[] {
  const reached = new Set<string>();
  const waiting = ['README.md'];
  for (let document = waiting.pop(); document !== undefined; document = waiting.pop()) {
    if (reached.has(document)) continue;
    reached.add(document);
    for (const { path } of listLocalLinks(document, readFileSync(join(root, document), 'utf8'))) {
      const target = join(root, path);
      if (!existsSync(target)) continue;
      if (statSync(target).isDirectory())
        waiting.push(
          ...filesOf(path)
            .filter((name) => name.endsWith('.md'))
            .map((name) => posix.join(path, name)),
        );
      else if (path.endsWith('.md')) waiting.push(path);
    }
  }
  return [...reached].sort();
}

/** Returns why a link leads nowhere, or undefined. A link out of the project is refused. */
export function findDeadLink(root: string, { path, anchor }: LocalLink): string | undefined {
  if (path.startsWith('..')) return 'leads out of the project';
  const target = join(root, path);
  if (!existsSync(target)) return 'no such file';
  if (anchor === undefined) return undefined;
  if (!path.endsWith('.md')) return 'an anchor of a file that has none';
  return listAnchors(readFileSync(target, 'utf8')).includes(anchor) ? undefined : 'no such heading';
}

/** Returns the path of a page in the site. A README is the index of its folder. */
export const toPagePath = (document: string): string =>
  document.endsWith('README.md') ? posix.join(dirname(document), 'index.html') : document.replace(/\.md$/, '.html');

/** Returns the address of one page or file of the site, as another page has to write it. */
export const toRelative = (fromPage: string, toPath: string): string => posix.relative(posix.dirname(fromPage), toPath);
