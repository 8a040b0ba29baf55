import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import type { Target } from './attacks.js';

const started: ChildProcess[] = [];
process.on('exit', () => started.forEach((child) => child.kill('SIGKILL')));

/**
 * Attacks from a process of its own, until `stop` is aborted. Rejects if that process ends before. Of what is computed on
 * this machine it gets what others leave: attackers have machines of their own.
 */
export async function attack(name: string, target: Target, stop: AbortSignal): Promise<void> {
  const args = ['--import', 'tsx', 'test/attacks/attacker.ts', name, JSON.stringify(target)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  started.push(child);
  const ended = once(child, 'exit');
  setPriority(child.pid!, constants.priority.PRIORITY_BELOW_NORMAL);
  stop.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
  const [code] = (await ended) as [number | null];
  if (!stop.aborted) throw new Error(`The attacker ended with ${code}.`);
}

/** The first line that a program prints, which goes on running. */
async function start(...args: readonly string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { line: line.toString().trim(), stop: () => void child.kill('SIGKILL') };
}

/** Starts a sandbox in a process of its own: what it does must not look like a late answer of the gateway. */
export async function startSandboxProcess() {
  const { line, stop } = await start('test/attacks/sandbox-process.ts');
  return { settings: JSON.parse(line) as Readonly<Record<string, string>>, stop };
}

/** Starts a process that passes the answers of a notes service on in chunks of one byte. */
export async function startCrumblingService(base: string) {
  const { line, stop } = await start('test/attacks/crumbling-service.ts', base);
  return { settings: { NOTES_BASE_URL: line }, stop };
}
