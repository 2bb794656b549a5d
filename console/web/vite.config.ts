import { defineConfig } from 'vite';

/** How console/web/ becomes console/web/dist. Started by scripts/build-console.ts. */
export default defineConfig({
  root: import.meta.dirname,
  cacheDir: '../../node_modules/.cache/vite',
  build: {
    target: 'es2022',
    sourcemap: false,
    // The policy of the page lets nothing in that stands in the text of another file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The service is near who works with it, and the files are kept for as long as they are the same.
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      // Many libraries mark their files for rendering on a server, which nobody does here.
      onwarn: (warning, warn) => {
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning);
      },
    },
  },
});
