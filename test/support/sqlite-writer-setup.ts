import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';

/** Beside the packages, which the thread finds from there. */
const caches = 'node_modules/.cache';

/** Vitest's global set-up: compiles the writer once, which each of some thousand threads would otherwise do anew. */
export async function setup(): Promise<() => Promise<void>> {
  await mkdir(caches, { recursive: true });
  const outDir = await mkdtemp(join(caches, 'test-writer-'));
  await build({
    configFile: false,
    logLevel: 'warn',
    // Kysely alone has some 300 files.
    ssr: { noExternal: true, external: ['@photostructure/sqlite'] },
    // Minified, since each of these threads parses all of it.
    build: { ssr: 'test/support/sqlite-writer.ts', outDir, emptyOutDir: false, minify: true },
  });
  process.env['TRIVIUM_TEST_WRITER'] = pathToFileURL(join(outDir, 'sqlite-writer.js')).href;
  return () => rm(outDir, { recursive: true, force: true });
}
