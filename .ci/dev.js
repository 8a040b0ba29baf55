/**
 * `npm run dev`: the gateway from its sources, restarted when they or the schema change; the pages, built anew when they
 * change (not with `--no-pages`); and the sandbox in this process, so that its accounts and sessions outlive restarts
 * of the gateway. Ends all of them on a signal, or when one ends by itself.
 */
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startBeside } from '../src/commands/sandbox.ts';
import { readConfig } from '../src/config/config.ts';
import { addEnvFile } from '../src/config/environment.ts';

process.chdir(join(import.meta.dirname, '..'));

const maxEndMs = 10_000;
const children = new Set();
let ending = false;

/** In a process group of its own, so that whatever it starts can be ended with it. */
function run(tool, options, environment = {}) {
  const child = spawn(process.execPath, [`node_modules/${tool}`, ...options], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
  children.add(child);
  child.once('exit', (code) => {
    children.delete(child);
    end(code ?? 1);
  });
}

function signal(child, name) {
  try {
    process.kill(-child.pid, name);
  } catch {
    // It has ended already.
  }
}

function end(code) {
  if (children.size === 0) process.exit(ending ? 0 : code);
  if (ending) return;
  ending = true;
  for (const child of children) signal(child, 'SIGTERM');
  setTimeout(() => {
    for (const child of children) signal(child, 'SIGKILL');
    process.exit(1);
  }, maxEndMs).unref();
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => end(0));

async function startSandbox() {
  const environment = { ...process.env };
  addEnvFile(environment);
  const config = readConfig(environment, (path) => readFileSync(path, 'utf8'));
  return startBeside({ environment, loadSandbox: () => import('../src/sandbox/sandbox.ts') }, config);
}

let sandbox;
try {
  sandbox = await startSandbox();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
const { url, users, settings } = sandbox;
const changes = ['schema/*.graphql', 'dist/console/*.html'].flatMap((files) => ['--include', files]);
run('tsx/dist/cli.mjs', ['watch', '--clear-screen=false', ...changes, '.ci/dev-gateway.js'], {
  TRIVIUM_DEV_SANDBOX: JSON.stringify({ url, users, settings }),
});
// Without emptying the folder, which would take the pages away from the gateway that is running.
const pages = ['build', '--watch', '--emptyOutDir=false', '--config', 'src/console/vite.config.ts'];
if (!process.argv.includes('--no-pages')) {
  rmSync('dist/.sources', { force: true }); // what is left in `dist` is no build of these sources
  run('vite/bin/vite.js', [...pages, '--logLevel', 'warn']);
}
