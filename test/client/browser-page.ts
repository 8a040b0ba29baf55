import { build } from 'vite';
import type { BrowserContext } from 'playwright-core';
import { join } from 'node:path';

/** Builds a module, with all that it imports, as one script for a browser. */
export async function bundle(entry: string, mode = 'production'): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    define: { 'process.env.NODE_ENV': JSON.stringify(mode) },
    build: { write: false, target: 'es2022', lib: { entry: join(process.cwd(), entry), formats: ['es'] } },
  });
  const [output] = built as { readonly output: readonly { readonly code?: string }[] }[];
  return output!.output[0]!.code!;
}

/** Has a page with this script at `/app` of the origin, where it has the gateway's cookie; returns its address. */
export async function serveApp(context: BrowserContext, origin: string, script: string): Promise<string> {
  await context.route(`${origin}/app`, (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: '<!doctype html><title>App</title><div id="app"></div><script type="module" src="/app.js"></script>',
    }),
  );
  await context.route(`${origin}/app.js`, (route) =>
    route.fulfill({ contentType: 'text/javascript', body: script }),
  );
  return `${origin}/app`;
}
