/**
 * Packs the package and installs it as an operator does: into an empty folder, from the registry, with production
 * dependencies alone. Then starts it by its `bin`, asks it, and weighs it. Not part of the gate: it installs anew.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const maxMegabytes = 130;

process.chdir(join(import.meta.dirname, '..'));
const folder = mkdtempSync(join(tmpdir(), 'trivium-package-'));
const run = (program, ...args) =>
  execFileSync(program, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
const say = (what, passed) => {
  console.log(`${passed ? 'ok    ' : 'FAILED'}  ${what}`);
  if (!passed) process.exitCode = 1;
};

function install() {
  const file = execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const name = file.trim().split('\n').at(-1);
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  run('npm', 'install', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund', `./${name}`);
  rmSync(join(folder, name));
}

/** Starts the gateway beside its sandbox; resolves with its address. */
async function start() {
  const child = spawn(join('node_modules', '.bin', 'trivium'), ['start'], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  const url = await new Promise((resolve, reject) => {
    let address;
    createInterface({ input: child.stdout }).on('line', (line) => {
      address = /Console\s+(\S+?)\/$/.exec(line)?.[1] ?? address;
      if (line.includes('Trivium is ready')) resolve(address);
    });
    void ended.then((code) => reject(new Error(`It ended with ${code}.`)));
  });
  return { url, child, ended };
}

async function ask(url) {
  const { status } = await fetch(`${url}/livez`);
  say(`GET /livez: ${status}`, status === 200);
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ __typename }' }),
  });
  const text = await answer.text();
  say(`POST /graphql: ${answer.status} ${text.trim()}`, text.includes('"__typename":"Query"'));
}

try {
  install();
  const version = run(join('node_modules', '.bin', 'trivium'), '--version');
  say(`trivium --version: ${version}`, /^\d+\.\d+\.\d+/.test(version));
  const { url, child, ended } = await start();
  await ask(url).finally(() => child.kill('SIGTERM'));
  const code = await ended;
  say(`after SIGTERM: exit code ${code}`, code === 0);
  const megabytes = Math.ceil(Number(run('du', '-sk', 'node_modules').split('\t')[0]) / 1_024);
  say(`${megabytes} MB with dist, of ${maxMegabytes} at most`, megabytes <= maxMegabytes);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
