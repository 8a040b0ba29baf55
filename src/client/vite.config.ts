import { join } from 'node:path';
import { defineConfig } from 'vite';

const modules = [
  'core/trivium',
  'generated/index',
  'react/react',
  'apollo/apollo',
  'urql/urql',
  'relay/relay',
  'codegen/codegen',
];
const root = join(import.meta.dirname, '../..');
const fileOf = (module: string): string => join(import.meta.dirname, `${module}.ts`);

/** Builds the modules of the client package; graphql-ws and wonka become parts of it, all else is a peer. */
export default defineConfig({
  root,
  publicDir: false,
  build: {
    outDir: 'dist/client',
    emptyOutDir: false,
    license: { fileName: 'licenses.md' },
    target: 'es2022',
    minify: false,
    reportCompressedSize: false,
    lib: {
      entry: Object.fromEntries(modules.map((module) => [module, fileOf(module)])),
      formats: ['es'],
    },
    rolldownOptions: {
      external: (id) => !/^[./\0]|^(graphql-ws|wonka)/.test(id) && !id.startsWith(root),
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: 'shared/[name].js',
        minify: true,
        // Hooks work in the browser alone: so Next.js knows.
        postBanner: ({ name }) => (name === 'react/react' ? "'use client';" : ''),
      },
    },
  },
});
