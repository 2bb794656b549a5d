import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, posix, resolve } from 'node:path';
import type { EleventyConfig } from '@11ty/eleventy';
import { findDeadLink, type LocalLink, listReachedDocuments, toPagePath, toRelative } from './docs-site/documents.ts';
import { amendMarkdown, type Section } from './docs-site/markdown.ts';
import { assignRoles, type NavigationSection, ROLES, readNavigation } from './docs-site/roles.ts';

/**
 * Builds the documentation into one static site, `docs-site/`, or the folder that an argument names. Its pages work from
 * a web server and from a folder on a disk, and load nothing from another host.
 */
const ROOT = join(import.meta.dirname, '..');
/** Relative to the root, because the generator resolves paths from there. */
const SOURCES = 'scripts/docs-site';
const ASSETS = ['site.css', 'site.js', 'theme.js', 'icon.svg'];

interface Page {
  readonly document: string;
  readonly path: string;
  readonly title: string;
  readonly markdown: string;
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const filesOf = (folder: string): readonly string[] => readdirSync(join(ROOT, folder)).sort();
const titleOf = (markdown: string, document: string): string =>
  /^# (.*)$/m.exec(markdown)?.[1]?.replace(/[`*]/g, '') ?? basename(document, '.md');

/** Returns the pages: the documents, and an index of each folder that a document links to and that has no README. */
function collectPages(): Map<string, Page> {
  const pages = new Map<string, Page>();
  const documents = listReachedDocuments(ROOT, filesOf);
  for (const document of documents) {
    const markdown = read(document);
    pages.set(document, { document, path: toPagePath(document), title: titleOf(markdown, document), markdown });
  }
  return pages;
}

/** Returns a page that lists the documents of a folder. */
function indexOf(folder: string): Page {
  const lines = filesOf(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `- [${titleOf(read(posix.join(folder, name)), name)}](${name})`);
  const name = basename(folder);
  const title = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const document = posix.join(folder, 'README.md');
  return { document, path: toPagePath(document), title, markdown: `# ${title}\n\n${lines.join('\n')}\n` };
}

/** Knows where links lead, and which files of the project pages link to. */
class Places {
  readonly pages = collectPages();
  readonly files = new Set<string>();
  readonly sections = new Map<string, readonly Section[]>();

  constructor() {
    for (const folder of this.#linkedFolders()) {
      const index = indexOf(folder);
      this.pages.set(index.document, index);
    }
  }

  locate(document: string, link: LocalLink): string {
    const why = findDeadLink(ROOT, link);
    if (why !== undefined) throw new Error(`${document}: ${link.written}: ${why}`);
    const isFolder = statSync(join(ROOT, link.path)).isDirectory();
    const page = this.pages.get(isFolder ? posix.join(link.path, 'README.md') : link.path);
    if (page !== undefined) return page.path;
    if (isFolder) throw new Error(`${document}: ${link.written}: a folder without documents`);
    this.files.add(link.path);
    return link.path;
  }

  *#linkedFolders(): Iterable<string> {
    for (const folder of new Set([...this.pages.keys()].map((document) => posix.dirname(document)))) {
      if (folder.startsWith('docs/') && !this.pages.has(posix.join(folder, 'README.md'))) yield folder;
    }
  }
}

type Navigation = readonly (NavigationSection & { readonly role: string })[];

/** Returns what the layout shows of a page. Addresses are relative to the page. */
function describePage(places: Places, page: Page, role: (typeof ROLES)[number], sections: Navigation): object {
  const toRoot = toRelative(page.path, '') === '' ? './' : `${toRelative(page.path, '')}/`;
  const hrefOf = (path: string, anchor: string | undefined): string => {
    const place = toRelative(page.path, places.locate(role.document, { written: path, path, anchor }));
    return anchor === undefined ? place : `${place}#${anchor}`;
  };
  const flat = sections.flatMap(({ links }) => links).filter(({ anchor }) => anchor === undefined);
  const index = flat.findIndex(({ path }) => path === page.document);
  const neighbor = (step: number): object | undefined => {
    const link = index === -1 ? undefined : flat[index + step];
    return link === undefined ? undefined : { title: link.title, href: hrefOf(link.path, undefined) };
  };
  return {
    layout: 'page.njk',
    // Placeholders in documents look like those of a template language.
    templateEngineOverride: 'md',
    permalink: `/${page.path}`,
    title: page.title,
    isHome: page.path === 'index.html',
    toRoot,
    role: role.name,
    roles: ROLES.map(({ name, document, purpose }) => ({
      name,
      purpose,
      href: hrefOf(document, undefined),
      isPresent: page.path !== 'index.html' && name === role.name,
    })),
    navigation: sections.map(({ heading, links }) => ({
      heading,
      links: links.map(({ title, path, anchor }) => ({
        title,
        href: hrefOf(path, anchor),
        isPresent: path === page.document && anchor === undefined,
      })),
    })),
    previous: neighbor(-1),
    next: neighbor(1),
  };
}

/** Returns the script that gives the search its sections, in the order of the pages. */
function formatSections(places: Places): string {
  const sections = [...places.sections].flatMap(([document, found]) => {
    const page = places.pages.get(document);
    return found.map(({ heading, anchor, level, text }) => ({
      page: page?.title ?? '',
      heading: level === 1 ? '' : heading,
      href: `${page?.path ?? ''}${level === 1 ? '' : `#${anchor}`}`,
      text: text.replace(/\s+/g, ' ').trim(),
    }));
  });
  return `globalThis.cardvaultSections = ${JSON.stringify(sections.sort((a, b) => (a.href < b.href ? -1 : 1)))};\n`;
}

function configure(config: EleventyConfig, places: Places): void {
  const documents = [...places.pages.keys()];
  const roles = assignRoles(ROOT, listReachedDocuments(ROOT, filesOf));
  const navigations = new Map(
    ROLES.map((role) => [role, readNavigation(ROOT, role).map((section) => ({ ...section, role: role.name }))]),
  );
  const roleOf = (document: string): (typeof ROLES)[number] =>
    roles.get(document) ??
    roles.get(documents.find((each) => each !== document && dirname(each) === dirname(document)) ?? '') ??
    ROLES[0];
  for (const page of places.pages.values()) {
    const role = roleOf(page.document);
    config.addTemplate(page.document, page.markdown, describePage(places, page, role, navigations.get(role) ?? []));
  }
  config.amendLibrary('md', (library) =>
    amendMarkdown(library, {
      locate: (document, link) => places.locate(document, link),
      pageOf: (document) => places.pages.get(document)?.path ?? toPagePath(document),
      onSections: (document, sections) => places.sections.set(document, sections),
      documentOf: (inputPath) => posix.relative(SOURCES, inputPath),
    }),
  );
}

/** Builds the site into a folder, whose former content is removed. */
export async function buildDocs(output: string): Promise<void> {
  const { default: Eleventy } = await import('@11ty/eleventy');
  rmSync(output, { recursive: true, force: true });
  const places = new Places();
  process.chdir(ROOT);
  const site = new Eleventy(SOURCES, output, {
    quietMode: true,
    configPath: null,
    config: (config) => {
      configure(config, places);
      config.setUseGitIgnore(false);
      config.setTemplateFormats(['md']);
      config.setIncludesDirectory('layouts');
    },
  });
  await site.init();
  await site.write();
  const write = (path: string, content: string | Buffer): void => {
    mkdirSync(dirname(join(output, path)), { recursive: true });
    writeFileSync(join(output, path), content);
  };
  for (const name of ASSETS) write(`assets/${name}`, readFileSync(join(ROOT, SOURCES, 'assets', name)));
  const search = createRequire(import.meta.url).resolve('minisearch');
  write('assets/minisearch.js', readFileSync(join(dirname(search), '..', 'umd', 'index.js')));
  write('assets/sections.js', formatSections(places));
  for (const path of places.files) write(path, readFileSync(join(ROOT, path)));
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === import.meta.filename) {
  const output = resolve(process.argv[2] ?? join(ROOT, 'docs-site'));
  await buildDocs(output);
  process.stdout.write(`The documentation is in ${output}: open index.html, or serve the folder.\n`);
}
