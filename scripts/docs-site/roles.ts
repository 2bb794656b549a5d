import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listLocalLinks, resolveTarget } from './documents.ts';

/** The page that each kind of reader begins with. Its headings and links are also the navigation of the pages it leads to. */
export const ROLES = [
  { name: 'Developer', document: 'docs/developer.md', purpose: 'You write software that calls a vault.' },
  { name: 'Operator', document: 'docs/operator.md', purpose: 'You install, configure, watch and upgrade a vault.' },
  { name: 'Auditor', document: 'docs/auditor.md', purpose: 'You assess what is claimed and how it is proven.' },
  { name: 'Contributor', document: 'docs/contributor.md', purpose: 'You change cardvault itself.' },
] as const;

export type Role = (typeof ROLES)[number];

export interface NavigationSection {
  readonly heading: string;
  readonly links: readonly { readonly title: string; readonly path: string; readonly anchor: string | undefined }[];
}

/** Reads the list items of a role's page that begin with a link, under their headings. */
export function readNavigation(root: string, { document }: Role): readonly NavigationSection[] {
  const [, ...sections] = readFileSync(join(root, document), 'utf8').split(/^## /m);
  return sections.map((section) => {
    const [heading = ''] = section.split('\n');
    const links = [...section.matchAll(/^(?:-|\d+\.) \[([^\]]+)\]\(([^)\s]+)\)/gm)].flatMap(
      ([, title = '', written = '']) => {
        const link = resolveTarget(document, written);
        return link === undefined ? [] : [{ title: title.replaceAll('`', ''), path: link.path, anchor: link.anchor }];
      },
    );
    return { heading, links };
  });
}

/**
 * Returns the role in whose navigation each document appears: that of the role's page from which the fewest links lead
 * to it, of several the page that links to it most often, then the first in the order of the roles.
 */
export function assignRoles(root: string, documents: readonly string[]): ReadonlyMap<string, Role> {
  const assigned = new Map<string, Role>(ROLES.map((role) => [role.document, role]));
  const listLinked = (document: string): string[] =>
    listLocalLinks(document, readFileSync(join(root, document), 'utf8')).flatMap(({ path }) =>
      documents.filter((each) => each === path || each.startsWith(`${path}/`)),
    );
  let present: readonly (readonly [document: string, role: Role])[] = [...assigned];
  while (present.length > 0) {
    const counts = new Map<string, Map<Role, number>>();
    for (const [document, role] of present)
      for (const reached of listLinked(document).filter((each) => !assigned.has(each))) {
        const byRole = counts.get(reached) ?? new Map(ROLES.map((each) => [each, 0]));
        counts.set(reached, byRole.set(role, (byRole.get(role) ?? 0) + 1));
      }
    present = [...counts].map(([document, byRole]) => {
      const most = Math.max(...byRole.values());
      const [role = ROLES[0]] = [...byRole].find(([, count]) => count === most) ?? [];
      assigned.set(document, role);
      return [document, role] as const;
    });
  }
  return assigned;
}
