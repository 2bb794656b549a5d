import { globSync } from 'node:fs';
import { join, relative } from 'node:path';
import { defineConfig, type Plugin } from 'vite';
import { GUIDES } from './guides.ts';
import { linkResolver, parseMarkdown } from './markdown.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');
const served = GUIDES.flatMap((pattern) => globSync(pattern, { cwd: REPOSITORY }));

/** Converts the documents that the console serves. */
const guides: Plugin = {
  name: 'guides',
  transform(source, id) {
    if (!id.endsWith('.md')) return undefined;
    const blocks = parseMarkdown(source, linkResolver(relative(REPOSITORY, id), served));
    return { code: `export default ${JSON.stringify(blocks)};`, map: null };
  },
};

/** Builds console/web into console/web/dist. Started by scripts/build-console.ts. */
export default defineConfig({
  root: import.meta.dirname,
  cacheDir: '../../node_modules/.cache/vite',
  plugins: [guides],
  build: {
    target: 'es2022',
    sourcemap: false,
    // The content security policy forbids inlined files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The service is close to its users, and files are cached until they change.
    chunkSizeWarningLimit: 2000,
    // One file of styles, and one of the code that several pages share: a hundred small files took longer to request than to run.
    cssCodeSplit: false,
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: 2 }] } },
      // Many libraries mark files for server rendering, which the console does not use.
      onwarn: (warning, warn) => {
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning);
      },
    },
  },
});
