import { setTimeout as sleep } from 'node:timers/promises';
import { startGatewayProcess, type GatewayProcess } from '../support/process.js';
import type { Random } from './random.js';
import { openWay, type Delays } from './way.js';

/** One gateway that is started again whenever it ends, behind a way that stays. */
export interface Replica {
  readonly url: string;
  /** Whether it listens now and is not being ended. */
  readonly isUp: boolean;
  /** Ends it so and starts it again; resolves when it listens. */
  restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Stops the process's time. */
  freeze(ms: number): Promise<void>;
  /** Cuts connections with this probability; says how many. */
  cut(probability: number): number;
  /** Ends it for good. */
  stop(): Promise<void>;
}

export interface ReplicaOptions {
  readonly settings: Readonly<Record<string, string>>;
  /** Options for Node.js. */
  readonly options: readonly string[];
  readonly random: Random;
  readonly delays: Delays;
  /** Hears of an end that is not as it should be. */
  readonly died: (how: string) => void;
  /** Hears every line that it writes. */
  readonly hear: (line: string) => void;
}

const againMs = 300;
const maxFailures = 100;

/** Starts a gateway from what was built. */
export async function startReplica(replica: ReplicaOptions): Promise<Replica> {
  const { settings, options, random, delays, died, hear } = replica;
  const way = await openWay(random, delays);
  let gateway: GatewayProcess;
  let isEnding = false;

  /** As an orchestrator does: a gateway whose database is away ends, and is started again. */
  async function start(failures = 0): Promise<void> {
    try {
      gateway = await startGatewayProcess(settings, { main: 'dist/main.js', options, onLine: hear });
    } catch (error) {
      if (failures === maxFailures) throw error;
      await sleep(againMs);
      return start(failures + 1);
    }
    isEnding = false;
    way.target = Number(new URL(gateway.url).port);
    void watch(gateway);
  }

  async function watch({ ended, output }: GatewayProcess): Promise<void> {
    const code = await ended;
    if (isEnding) return;
    died(`a gateway ended by itself with ${code}:\n${output()}`);
    way.target = undefined;
    await start();
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    isEnding = true;
    const code = await gateway.end(signal);
    way.target = undefined;
    if (signal === 'SIGTERM' && code !== 0)
      died(`a gateway drained and ended with ${code}:\n${gateway.output()}`);
  }

  await start();
  return {
    url: `http://127.0.0.1:${way.port}`,
    get isUp() {
      return way.target !== undefined && !isEnding;
    },
    async restart(signal) {
      await end(signal);
      await start();
    },
    async freeze(ms) {
      const { child } = gateway;
      child.kill('SIGSTOP');
      await sleep(ms);
      child.kill('SIGCONT');
    },
    cut: way.cut,
    async stop() {
      await end('SIGTERM');
      way.stop();
    },
  };
}
