/**
 * Builds `dist`: the gateway with the packages that it uses, the pages and the client package. With `--if-stale`, builds
 * only if the sources differ from those of the last build, so that `npm start` is quick but never runs outdated code.
 * Sources are compared by content, since a checkout or a copy may set any timestamp.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildDocs, docsSources } from './docs-pages.js';

const settings = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'LICENSE',
  '.ci/build.js',
  '.ci/bundle.js',
  '.ci/client-package.js',
];
const fingerprintFile = '.sources';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const running = process.versions.node;

/** Whether Node.js fits a part of `engines`; `src/main.ts` has the same. */
function fits(part) {
  const [major, minor] = running.split('.').map(Number);
  const [least, leastMinor = 0] = part.replace(/^\D+/, '').split('.').map(Number);
  return (part.startsWith('>=') && major > least) || (major === least && minor >= leastMinor);
}

// First of all: an older Node.js does not even know `import.meta.dirname`.
if (!engines.node.split(' || ').some(fits)) {
  console.error(`Trivium needs Node.js ${engines.node}; this is ${running}.`);
  process.exit(1);
}
process.chdir(join(import.meta.dirname, '..'));

function filesIn(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function fingerprint() {
  const hash = createHash('sha256');
  for (const file of [...settings, ...filesIn('src').toSorted(), ...docsSources()]) {
    const content = readFileSync(file);
    hash.update(`${file} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

/** Runs a tool of `node_modules`; throws if it fails. */
async function run(tool, ...options) {
  // In a group of its own, which ends as a whole, with what the tool has started.
  const own = { stdio: 'inherit', detached: true };
  const child = spawn(process.execPath, [`node_modules/${tool}`, ...options], own);
  await once(child, 'spawn');
  const end = () => process.kill(-child.pid, 'SIGKILL');
  process.prependOnceListener('exit', end); // before what it has built is removed
  const [status] = await once(child, 'exit');
  process.off('exit', end);
  if (status !== 0) throw new Error(`${tool} failed`);
}

/**
 * Each step builds its part into the folder `out`, beside the others.
 *
 * @type {readonly ((out: string) => Promise<void>)[]}
 */
const steps = [
  async (out) => {
    await vite('.ci/bundle.js', out, '--emptyOutDir=false'); // else it would remove what the others have built
    chmodSync(join(out, 'main.js'), 0o755); // the package's `bin`
  },
  (out) => vite('src/console/vite.config.ts', join(out, 'console')),
  (out) => buildDocs(join(out, 'docs')),
  (out) => run('../.ci/client-package.js', out),
];

function vite(config, out, ...more) {
  const options = ['--config', config, '--outDir', resolve(out), '--logLevel', 'warn', ...more];
  return run('vite/bin/vite.js', 'build', ...options);
}

/** Builds beside the old build, and takes its place when all is whole: a build that fails changes nothing. */
async function build(sources) {
  console.log('Building …');
  const [next, old] = [`dist.${process.pid}`, `dist.${process.pid}.old`];
  const remove = (folder) => rmSync(folder, { recursive: true, force: true });
  process.once('exit', () => [next, old].forEach(remove));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  try {
    if (!existsSync('node_modules/vite'))
      throw new Error('it needs the packages for development: npm ci --include=dev');
    const ended = await Promise.allSettled(steps.map((step) => step(next)));
    const failed = ended.find(({ status }) => status === 'rejected');
    if (failed) throw failed.reason;
    writeFileSync(join(next, fingerprintFile), sources);
  } catch (error) {
    console.error(`The build failed, and the one before stays: ${error.message}`);
    process.exit(1);
  }
  if (existsSync('dist')) renameSync('dist', old);
  renameSync(next, 'dist');
}

// A container image may hold the build without its sources: then there is nothing to compare or build.
if (existsSync('src')) {
  const sources = fingerprint();
  const file = join('dist', fingerprintFile);
  const fresh = existsSync(file) && readFileSync(file, 'utf8') === sources;
  if (!fresh || !process.argv.includes('--if-stale')) await build(sources);
}
