/** RESULTS.md is written by several commands: each replaces what is its own and keeps the rest. */
const SECTION = /<!-- begin: (\w+) -->\n[\s\S]*?<!-- end: \1 -->\n/g;

const marked = (name: string, text: string): string =>
  `<!-- begin: ${name} -->\n${text.trim()}\n<!-- end: ${name} -->\n`;

/** The page with this section in the place of the one of that name, or at its end. */
export function withSection(page: string, name: string, text: string): string {
  const old = [...page.matchAll(SECTION)].find(([, known]) => known === name)?.[0];
  if (old === undefined) return `${page.trimEnd()}\n\n${marked(name, text)}`;
  return page.replace(old, () => marked(name, text));
}

/** Returns a new page with the sections of the old one. */
export const withSectionsOf = (page: string, old: string): string =>
  [page.trimEnd(), ...[...old.matchAll(SECTION)].map(([section]) => section.trimEnd())].join('\n\n').concat('\n');
