import { randomBytes } from 'node:crypto';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { openProxy, type Proxy } from '../client/proxy.js';
import { startPostgres } from '../support/postgres-server.js';
import { startGatewayProcess, type GatewayProcess } from '../support/process.js';
import { allGrants } from '../support/testbed.js';

/** Two built gateways over one Postgres, behind one address, with a sandbox of the services. */
export interface Replicas {
  readonly sandbox: Sandbox;
  /** The address in front, which leads to the first replica. */
  readonly url: string;
  /** Kills the first replica; the address then leads to the second. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts all of it. */
export async function startReplicas(): Promise<Replicas> {
  const postgres = await startPostgres();
  const sandbox = await startSandbox();
  const settings = {
    ...sandbox.settings,
    DATABASE_URL: postgres.url,
    SECRET_KEYS: randomBytes(32).toString('base64'),
    ALLOWED_ORIGINS: 'loopback', // the pages are behind the proxy
    GRANTS: JSON.stringify({ '*': allGrants }),
  };
  const start = (): Promise<GatewayProcess> => startGatewayProcess(settings);
  const first = await start();
  const second = await start();
  const proxy: Proxy = await openProxy(first.url);
  sandbox.deliverTo(proxy.url);
  return {
    sandbox,
    url: proxy.url,
    async kill() {
      proxy.redirectTo(second.url);
      await first.end('SIGKILL');
    },
    async stop() {
      await proxy.stop();
      await Promise.all([first.end('SIGKILL'), second.end('SIGTERM')]);
      await sandbox.stop();
      await postgres.stop();
    },
  };
}
