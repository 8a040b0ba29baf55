/**
 * Builds `dist`: the gateway (tsc), the packages that it uses and the pages (Vite). With `--if-stale`, builds only if
 * the sources differ from those of the last build, so that `npm start` is quick but never runs outdated code. Sources
 * are compared by content, since a checkout or a copy may set any timestamp.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const settings = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  '.ci/build.js',
  '.ci/packages.js',
];
const fingerprintFile = 'dist/.sources';

process.chdir(join(import.meta.dirname, '..'));

function filesIn(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function fingerprint() {
  const hash = createHash('sha256');
  for (const file of [...settings, ...filesIn('src').toSorted()]) {
    const content = readFileSync(file);
    hash.update(`${file} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

function run(tool, ...options) {
  const { status } = spawnSync(process.execPath, [`node_modules/${tool}`, ...options], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}

function build() {
  console.log('Building …');
  rmSync('dist', { recursive: true, force: true });
  run('typescript/bin/tsc', '-p', 'tsconfig.build.json');
  run('vite/bin/vite.js', 'build', '--config', '.ci/packages.js', '--logLevel', 'warn');
  run('vite/bin/vite.js', 'build', '--config', 'src/console/vite.config.ts', '--logLevel', 'warn');
}

// A container image may hold the build without its sources: then there is nothing to compare or build.
if (existsSync('src')) {
  const sources = fingerprint();
  const fresh = existsSync(fingerprintFile) && readFileSync(fingerprintFile, 'utf8') === sources;
  if (!fresh || !process.argv.includes('--if-stale')) {
    build();
    writeFileSync(fingerprintFile, sources);
  }
}
