import { setTimeout as sleep } from 'node:timers/promises';
import { startGatewayProcess, type GatewayProcess } from '../support/process.js';
import type { Random } from './random.js';
import { openTcpProxy, type Delays } from './tcp-proxy.js';

/** A gateway that is restarted whenever it ends, behind a proxy with a fixed address. */
export interface Replica {
  readonly url: string;
  /** Its own address, without the proxy, for as long as it runs. */
  readonly directUrl: string;
  /** Whether it listens and is not being stopped. */
  readonly isUp: boolean;
  /** Ends it by this signal and starts it again; resolves when it listens. */
  restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Has it collect all its garbage, if it was started with `collectable`. */
  collect(): void;
  /** Suspends the process for this long. */
  freeze(ms: number): Promise<void>;
  /** Cuts each connection with this probability; returns how many. */
  cut(probability: number): number;
  /** Stops it for good. */
  stop(): Promise<void>;
}

export interface ReplicaOptions {
  readonly settings: Readonly<Record<string, string>>;
  /** Options for Node.js. */
  readonly options: readonly string[];
  readonly random: Random;
  readonly delays: Delays;
  /** Called when the gateway ends by itself, or drains with an exit code other than 0. */
  readonly onBadExit: (how: string) => void;
  /** Called with every line that it writes. */
  readonly onLine: (line: string) => void;
}

/** Options for Node.js by which a gateway collects its garbage when it is told. */
export const collectable = [
  '--expose-gc',
  '--import',
  `data:text/javascript,process.on("SIGUSR2", () => globalThis.gc())`,
];

const restartDelayMs = 300;
const maxFailures = 100;

/** Starts the built gateway. */
export async function startReplica(replica: ReplicaOptions): Promise<Replica> {
  const { settings, options, random, delays, onBadExit, onLine } = replica;
  const proxy = await openTcpProxy(random, delays);
  let gateway: GatewayProcess;
  let isEnding = false;

  /** Restarts it as an orchestrator does: a gateway exits if it starts while its database is unreachable. */
  async function start(failures = 0): Promise<void> {
    try {
      gateway = await startGatewayProcess(settings, { options, onLine });
    } catch (error) {
      if (failures === maxFailures) throw error;
      await sleep(restartDelayMs);
      return start(failures + 1);
    }
    isEnding = false;
    proxy.target = Number(new URL(gateway.url).port);
    void watch(gateway);
  }

  async function watch({ ended, output }: GatewayProcess): Promise<void> {
    const code = await ended;
    if (isEnding) return;
    onBadExit(`a gateway ended by itself with ${code}:\n${output()}`);
    proxy.target = undefined;
    await start();
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    isEnding = true;
    const code = await gateway.end(signal);
    proxy.target = undefined;
    if (signal === 'SIGTERM' && code !== 0)
      onBadExit(`a gateway drained and ended with ${code}:\n${gateway.output()}`);
  }

  await start();
  return {
    url: `http://127.0.0.1:${proxy.port}`,
    get directUrl() {
      return gateway.url;
    },
    get isUp() {
      return proxy.target !== undefined && !isEnding;
    },
    async restart(signal) {
      await end(signal);
      await start();
    },
    collect: () => void gateway.child.kill('SIGUSR2'),
    async freeze(ms) {
      const { child } = gateway;
      child.kill('SIGSTOP');
      await sleep(ms);
      child.kill('SIGCONT');
    },
    cut: proxy.cut,
    async stop() {
      await end('SIGTERM');
      proxy.stop();
    },
  };
}
