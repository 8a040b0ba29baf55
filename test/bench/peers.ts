import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { say } from './say.js';

const folder = fileURLToPath(new URL('peers/', import.meta.url));
const lock = `${folder}package-lock.json`;
const mark = `${folder}node_modules/.installed`;

/** Installs the peers from their own lock file; if that fails, prints a line and returns false. */
export function installPeers(): boolean {
  const wanted = readFileSync(lock, 'utf8');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return true;
  say('Installing the peers …');
  try {
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: folder,
      stdio: 'pipe',
    });
    writeFileSync(mark, wanted);
    return true;
  } catch (error) {
    const { stderr = '' } = error as { stderr?: Buffer };
    say(`The peers are left out: \`npm ci\` in test/bench/peers failed.\n${String(stderr).slice(-500)}`);
    return false;
  }
}
