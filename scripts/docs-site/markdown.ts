import type { MarkdownIt, MarkdownToken } from '@11ty/eleventy';
import { createAnchors, type LocalLink, resolveTarget, toRelative } from './documents.ts';

/** One section of a page, as the search finds it. */
export interface Section {
  readonly heading: string;
  /** Empty for the text before the first heading of a page. */
  readonly anchor: string;
  readonly level: number;
  readonly text: string;
}

export interface MarkdownOptions {
  /** Path of the page or file of the site that a link leads to; throws for a dead link. */
  readonly locate: (document: string, link: LocalLink) => string;
  readonly pageOf: (document: string) => string;
  /** Path in the project of the document that the generator has under this path. */
  readonly documentOf: (inputPath: string) => string;
  readonly onSections: (document: string, sections: readonly Section[]) => void;
}

function plainOf(token: MarkdownToken | undefined): string {
  const parts = (token?.children ?? []).map((child) =>
    child.type === 'softbreak' || child.type === 'hardbreak' ? ' ' : child.content,
  );
  return parts.join('');
}

/** Rewrites links for the site, gives headings their anchors, and reports the sections of each page. */
export function amendMarkdown(library: MarkdownIt, { locate, pageOf, documentOf, onSections }: MarkdownOptions): void {
  library.set({ html: false, linkify: false, typographer: false });
  // The generator switches off blocks of code that are indented.
  library.enable('code');

  const rewrite = (document: string, token: MarkdownToken, attribute: 'href' | 'src'): void => {
    const written = token.attrGet(attribute) ?? '';
    const link = resolveTarget(document, written);
    if (link === undefined) {
      if (attribute === 'src') throw new Error(`${document}: ${written}: a picture of another host`);
      token.attrSet('rel', 'noreferrer');
      return;
    }
    const place = locate(document, link);
    const relative = link.written.startsWith('#') ? '' : toRelative(pageOf(document), place);
    token.attrSet(attribute, link.anchor === undefined ? relative : `${relative}#${link.anchor}`);
  };

  library.core.ruler.push('site', ({ tokens, env }) => {
    const document = documentOf(env.page.inputPath);
    const anchors = createAnchors();
    const sections: (Section & { text: string })[] = [{ heading: '', anchor: '', level: 1, text: '' }];
    for (const [index, token] of tokens.entries()) {
      if (token.type === 'heading_open') {
        const heading = plainOf(tokens[index + 1]);
        const anchor = anchors(heading);
        token.attrSet('id', anchor);
        sections.push({ heading, anchor, level: Number(token.tag.slice(1)), text: '' });
      } else if (token.type === 'inline' && tokens[index - 1]?.type !== 'heading_open') {
        const section = sections.at(-1);
        if (section !== undefined) section.text += `${plainOf(token)} `;
      } else if (token.type === 'fence' || token.type === 'code_block') {
        const section = sections.at(-1);
        if (section !== undefined) section.text += `${token.content} `;
      }
      for (const child of token.children ?? []) {
        if (child.type === 'link_open') rewrite(document, child, 'href');
        if (child.type === 'image') {
          rewrite(document, child, 'src');
          child.attrSet('loading', 'lazy');
        }
      }
    }
    onSections(
      document,
      sections.filter(({ heading, text }) => heading !== '' || text !== ''),
    );
  });

  const { rules } = library.renderer;
  const { escapeHtml } = library.utils;
  const code = (text: string): string => `<pre><code>${escapeHtml(text)}</code></pre>\n`;
  rules['fence'] = (tokens, index) => {
    const { info, content } = tokens[index] as MarkdownToken;
    if (info !== 'mermaid') return code(content);
    return `<details><summary>The diagram as text (Mermaid)</summary>${code(content)}</details>\n`;
  };
  rules['code_block'] = (tokens, index) => code((tokens[index] as MarkdownToken).content);
  rules['heading_close'] = (tokens, index) => {
    const { tag } = tokens[index] as MarkdownToken;
    const id = tokens[index - 2]?.attrGet('id') ?? '';
    const label = `Link to the section ${plainOf(tokens[index - 1])}`;
    const link =
      tag === 'h1' ? '' : ` <a class="anchor" href="#${escapeHtml(id)}" aria-label="${escapeHtml(label)}">#</a>`;
    return `${link}</${tag}>\n`;
  };
  // A header without text names nothing: the first column of some tables has none.
  const isEmpty = (token: MarkdownToken | undefined): boolean => token?.type === 'inline' && token.content === '';
  rules['th_open'] = (tokens, index, options, _environment, renderer) =>
    isEmpty(tokens[index + 1]) ? '<td>' : renderer.renderToken(tokens, index, options);
  rules['th_close'] = (tokens, index, options, _environment, renderer) =>
    isEmpty(tokens[index - 1]) ? '</td>' : renderer.renderToken(tokens, index, options);
  rules['table_open'] = () => '<div class="table"><table>\n';
  rules['table_close'] = () => '</table></div>\n';
}
