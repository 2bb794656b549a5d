import type { Block } from '../../../markdown.ts';

/** Loads each served document (`console/web/guides.ts`) when it is opened first. */
const FILES = import.meta.glob<readonly Block[]>(
  [
    '../../../../../docs/guides/*.md',
    '../../../../../docs/processors/{cybersource,koin,simulator}.md',
    '../../../../../docs/{audit-log,console,errors,operations}.md',
    '../../../../../examples/shop/README.md',
  ],
  { import: 'default' },
);

const LOADERS = new Map(
  Object.entries(FILES).map(([path, load]) => [path.replace(/^(?:\.\.\/)+(?:docs\/)?|\.md$/g, ''), load] as const),
);

/** Returns the document of a name such as `guides/payments`; undefined when the console serves none of this name. */
export const loadGuide = async (name: string): Promise<readonly Block[] | undefined> => LOADERS.get(name)?.();
