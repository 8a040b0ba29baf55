import { existsSync, readdirSync, statSync } from 'node:fs';
import { build } from 'vite';

const source = 'src/console';
const page = 'dist/console/index.html';

/** Builds the pages, unless they are newer than everything in `src/console`. */
export async function buildPages(): Promise<void> {
  const changes = readdirSync(source, { encoding: 'utf8', recursive: true }).map(
    (file) => statSync(`${source}/${file}`).mtimeMs,
  );
  if (existsSync(page) && statSync(page).mtimeMs > Math.max(...changes)) return;
  await build({ configFile: `${source}/vite.config.ts`, logLevel: 'warn' });
}
