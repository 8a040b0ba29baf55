import { existsSync, readdirSync, statSync } from 'node:fs';
import { build } from 'vite';

const sources = ['src/console', 'src/client'];
const page = 'dist/console/index.html';

/** Builds the pages, unless they are newer than everything that they are made of. */
export async function buildPages(): Promise<void> {
  const changes = sources.flatMap((source) =>
    readdirSync(source, { encoding: 'utf8', recursive: true }).map(
      (file) => statSync(`${source}/${file}`).mtimeMs,
    ),
  );
  if (existsSync(page) && statSync(page).mtimeMs > Math.max(...changes)) return;
  await build({ configFile: 'src/console/vite.config.ts', logLevel: 'warn' });
}
