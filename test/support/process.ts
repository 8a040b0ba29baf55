import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { unprivileged } from './unprivileged.js';

/** A gateway in a process of its own, as an operator runs it. */
export interface GatewayProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** The last lines that it wrote. */
  output(): string;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** Sends a signal and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<number | string>;
}

export interface ProcessOptions {
  /** Options for Node.js. */
  readonly options?: readonly string[];
  /** Whether it may not write where the modes of files forbid it, even if the tests are run by root. */
  readonly obedient?: boolean;
  /** Called with every line that it writes. */
  readonly onLine?: (line: string) => void;
  /** A folder with another build. */
  readonly folder?: string | undefined;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const maxLines = 200;
const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** A folder to start in: in that of a checkout, somebody's `.env` would be read, and a key file be left. */
function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'trivium-process-'));
  chmodSync(folder, 0o755); // also for whoever may not do everything
  return folder;
}

/** Starts a process of the built gateway (`npm test` builds it), which may end before it listens. */
export function spawnGateway(settings: Readonly<Record<string, string>>, options: ProcessOptions = {}) {
  const { obedient = false, onLine, folder = root } = options;
  const main = join(folder, 'dist/main.js');
  const command = [process.execPath, [...(options.options ?? []), main]] as const;
  const [program, args] = obedient ? unprivileged(...command) : command;
  const cwd = emptyFolder();
  const child = spawn(program, args, {
    cwd,
    env: { PATH: process.env['PATH'], HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'warn', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const lines: string[] = [];
  const keep = (line: string) => {
    lines.push(line);
    if (lines.length > maxLines) lines.shift();
    onLine?.(line);
  };
  const ready = new Promise<string>((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      keep(line);
      const [, url] = /Explorer +(http:\S+)\/graphql/.exec(line) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  createInterface(child.stderr).on('line', keep);
  const ended = once(child, 'close').then(([code, signal]) => {
    running.delete(child);
    rmSync(cwd, { recursive: true, force: true });
    return (code ?? signal) as number | string;
  });
  return {
    child,
    ready,
    ended,
    output: () => lines.join('\n'),
    end(signal: NodeJS.Signals = 'SIGTERM') {
      child.kill(signal);
      return ended;
    },
  };
}

/** Starts a gateway and waits until it listens; rejects with its output if it ends before. */
export async function startGatewayProcess(
  settings: Readonly<Record<string, string>>,
  options: ProcessOptions = {},
): Promise<GatewayProcess> {
  const { ready, ...spawned } = spawnGateway(settings, options);
  const url = await Promise.race([ready, spawned.ended]);
  if (typeof url === 'number' || !url.startsWith('http'))
    throw new Error(`The gateway ended with ${url}: ${spawned.output()}`);
  return { ...spawned, url };
}
