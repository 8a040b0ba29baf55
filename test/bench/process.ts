import { spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { say } from './say.js';

/** The figures of a measured process. */
export interface Reading {
  /** The delay of its event loop since the last reading, in milliseconds, if that one began to watch it. */
  readonly lagP50: number;
  readonly lagP99: number;
  readonly lagMax: number;
  /** Resident memory, in bytes. */
  readonly rss: number;
  /** The part that objects and buffers take. */
  readonly heap: number;
  /** CPU time since the start, in milliseconds. */
  readonly cpuMs: number;
}

/** A measured process. */
export interface Server {
  readonly url: string;
  /** Takes a reading; with `settled`, after a full garbage collection. `watch` watches the event loop until the next. */
  read(options?: { readonly settled?: boolean; readonly watch?: boolean }): Promise<Reading>;
  /** Stops it by SIGTERM, and waits until it has ended. */
  stop(): Promise<void>;
}

const startMs = 120_000;
const bench = new URL('./', import.meta.url);
const root = fileURLToPath(new URL('../../', bench));

const pinner = 'taskset';

/** The cores that this process may use; none if `taskset` cannot pin to them. */
function allowedCores(): readonly number[] {
  const { status, stdout } = spawnSync(pinner, ['-cp', String(process.pid)], { encoding: 'utf8' });
  if (status !== 0 || availableParallelism() < 2) return [];
  const list = stdout.slice(stdout.lastIndexOf(':') + 1).trim();
  return list.split(',').flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}

const cores = allowedCores();

/** Whether processes are pinned to cores. */
export const pinned = cores.length > 0;

function pinSelf(to: readonly number[]): void {
  if (pinned) spawnSync(pinner, ['-acp', to.join(','), String(process.pid)]);
}

/** Pins this process, the load generator, to the last core, and describes how the cores are shared out. */
export function pinLoad(): string {
  pinSelf(cores.slice(-1));
  if (!pinned) return 'nothing is pinned: taskset or a second core is missing';
  return `load on core ${cores.at(-1)}, what is measured on ${cores[0]}`;
}

/** Processes that are started by `work` without being pinned may use all cores: they would inherit this one's. */
export async function onAllCores<T>(work: () => Promise<T>): Promise<T> {
  pinSelf(cores);
  try {
    return await work();
  } finally {
    pinLoad();
  }
}

/** The cores for a measured process that may use so many; the load generator's core is the last to be used. */
function coresFor(count: number): string {
  return cores.slice(0, count).join(',');
}

/** How a process is started. */
export interface Start {
  /** Arguments for Node.js: flags, and a path relative to the root of the project. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** How many cores it may use; one by default. */
  readonly cores?: number;
}

/** Starts a process that prints its address; rejects if it ends before that. */
export async function startServer({ args, env, cores: count = 1 }: Start): Promise<Server> {
  const probe = ['--import', new URL('servers/probe.js', bench).href];
  const command = [process.execPath, ...probe, ...args];
  if (pinned) command.unshift(pinner, '-c', coresFor(count));
  const child = spawn(command[0]!, command.slice(1), {
    cwd: root,
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let said = '';
  let asked = 0;
  let ending = false;
  const exited = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      if (!ending || (signal !== 'SIGTERM' && code !== 0))
        say(`${args.join(' ')} has ended (${signal ?? code}):\n${said.slice(-2000)}`);
      resolve();
    });
  });
  const url = await new Promise<string>((resolve, reject) => {
    const fail = () => reject(new Error(`${args.join(' ')} did not start.`));
    const deadline = setTimeout(() => child.kill('SIGKILL'), startMs);
    const hear = (text: string) => {
      said = (said + text).slice(-10_000);
      const [found] = /http:\/\/(?:127\.0\.0\.1|localhost):\d+/.exec(said) ?? [];
      if (found === undefined) return;
      clearTimeout(deadline);
      resolve(found);
    };
    child.stdout!.setEncoding('utf8').on('data', hear);
    child.stderr!.setEncoding('utf8').on('data', (text: string) => void (said += text));
    child.once('error', fail).once('exit', fail);
  });

  return {
    url,
    read: (options) =>
      new Promise((resolve, reject) => {
        const ask = (asked += 1);
        const gone = () => reject(new Error(`${args.join(' ')} has ended.`));
        const hear = (answer: object) => {
          if (!('ask' in answer) || answer.ask !== ask) return;
          child.off('message', hear).off('exit', gone);
          resolve(answer as unknown as Reading);
        };
        child.on('message', hear).once('exit', gone);
        child.send({ ask, ...options });
      }),
    async stop() {
      ending = true;
      const deadline = setTimeout(() => child.kill('SIGKILL'), 15_000);
      child.kill('SIGTERM');
      await exited;
      clearTimeout(deadline);
    },
  };
}
