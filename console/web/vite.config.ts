import { defineConfig } from 'vite';

/** Builds console/web into console/web/dist. Started by scripts/build-console.ts. */
export default defineConfig({
  root: import.meta.dirname,
  cacheDir: '../../node_modules/.cache/vite',
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
