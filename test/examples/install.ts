import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Gives a folder what `npm install` would: the client package of this tree, and the packages that are installed here. */
export async function installPackages(root: string): Promise<void> {
  await run(process.execPath, ['.ci/client-package.js', join(root, 'built')]);
  const folder = join(root, 'node_modules/@trivium/client');
  mkdirSync(dirname(folder), { recursive: true });
  cpSync(join(root, 'built/client'), folder, { recursive: true });
  for (const name of readdirSync('node_modules').filter((entry) => !entry.startsWith('.')))
    symlinkSync(resolve('node_modules', name), join(root, 'node_modules', name));
}
