/** The documents that the console serves as pages. `src/pages/guide/guide-files.ts` imports the same. */
export const GUIDES = [
  'docs/guides/*.md',
  'docs/processors/{cybersource,koin,simulator}.md',
  'docs/{audit-log,console,errors,operations}.md',
  'examples/shop/README.md',
] as const;
