import { resolve } from 'node:path';

/** Renders the documentation into `dist/docs`, as the build does. */
export async function buildDocs(): Promise<void> {
  const { buildDocs: build } = (await import(resolve('.ci/docs-pages.js'))) as {
    readonly buildDocs: (out: string) => Promise<void>;
  };
  await build('dist/docs');
}
