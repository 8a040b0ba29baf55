import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** Builds the pages into `dist/console`: the HTML beside `assets/`, whose names include a hash of their content. */
export default defineConfig({
  root: import.meta.dirname,
  build: {
    outDir: '../../dist/console',
    emptyOutDir: true,
    license: { fileName: 'licenses.md' },
    target: 'es2023',
    // Files, not data URLs: the page's content security policy allows data URLs only for images and fonts.
    assetsInlineLimit: 0,
    // The editor is one chunk of several megabytes, loaded after the page is shown; a warning would be of no use.
    chunkSizeWarningLimit: 8_000,
    reportCompressedSize: false,
    rolldownOptions: {
      input: { console: 'index.html', explorer: 'explorer/explorer.html' },
      // GraphiQL makes the titles of its icons, which browsers show as tooltips, out of the names of functions.
      output: { keepNames: true },
      // `"use client"` in dependencies means nothing here; compression takes long on a busy machine.
      checks: { moduleLevelDirective: false, bundlerTimings: false },
    },
  },
  worker: { format: 'es' },
  plugins: [compress()],
});

/** Puts a Brotli-compressed `….br` beside each asset, a quarter of its size, for the server to send instead. */
function compress(): Plugin {
  // At the highest quality, 11, the result is a tenth smaller but takes ten times as long.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  return {
    name: 'compress',
    writeBundle({ dir = '' }, bundle) {
      for (const name of Object.keys(bundle).filter((file) => file.startsWith('assets/'))) {
        const path = join(dir, name);
        writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path), { params }));
      }
    },
  };
}
