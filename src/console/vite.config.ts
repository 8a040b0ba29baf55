import { defineConfig } from 'vite';

/** Builds the pages into `dist/console`: the HTML beside `assets/`, whose names bear the hash of their content. */
export default defineConfig({
  root: import.meta.dirname,
  build: {
    outDir: '../../dist/console',
    emptyOutDir: true,
    target: 'es2023',
    // Files, not data URLs: the page's content security policy lets no data through but images and fonts.
    assetsInlineLimit: 0,
    // The editor is one part of several megabytes, loaded after the page stands; there is no use in a warning.
    chunkSizeWarningLimit: 8_000,
    rolldownOptions: {
      input: { explorer: 'explorer.html' },
      // `"use client"` in dependencies means nothing here.
      checks: { moduleLevelDirective: false },
    },
  },
  worker: { format: 'es' },
});
