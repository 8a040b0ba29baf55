import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Target } from './attacks.js';

/** Attacks from a process of its own, until `stop` is aborted. Rejects if that process ends before. */
export async function attack(name: string, target: Target, stop: AbortSignal): Promise<void> {
  const args = ['--import', 'tsx', 'test/attacks/attacker.ts', name, JSON.stringify(target)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'exit');
  stop.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
  const [code] = (await ended) as [number | null];
  if (!stop.aborted) throw new Error(`The attacker ended with ${code}.`);
}
