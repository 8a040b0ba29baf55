import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import type { TestPostgres } from '../support/postgres-server.js';
import { execute } from '../support/postgres.js';
import type { Finding } from './faults.js';
import type { Random } from './random.js';
import { startReplica, type Replica } from './replica.js';
import { createPaymentEndpoint, type PaymentEndpoint } from './rotator.js';
import type { Destination } from './sender.js';
import type { Surroundings } from './surroundings.js';
import { openTcpProxy, type Delays, type TcpProxy } from './tcp-proxy.js';

/** How a cluster is set up. */
export interface ClusterOptions {
  readonly engine: 'sqlite' | 'postgres';
  readonly postgres?: TestPostgres;
  readonly around?: Surroundings | undefined;
  /** Options for Node.js, for every gateway. */
  readonly nodeOptions?: readonly string[];
  /** How often what clients send and get is delayed. */
  readonly delays?: Delays;
}

/** Gateways on a new database, behind proxies that can be cut, and the services that they use. */
export interface Cluster {
  readonly sandbox: Sandbox;
  /** The database, without a proxy; after a failover it is another. */
  readonly databaseUrl: string;
  /** An address that leads to it whatever happens. */
  readonly lastingUrl: string;
  readonly postgres: { readonly server: TestPostgres; readonly proxy: TcpProxy } | undefined;
  readonly replicas: readonly Replica[];
  readonly subscription: Destination;
  readonly endpoint: PaymentEndpoint;
  /** A finding for every gateway that ended by itself. */
  readonly crashes: readonly Finding[];
  /** The errors that gateways logged, with their counts. */
  readonly loggedErrors: ReadonlyMap<string, number>;
  /** The address of a random gateway: of one that is up, if any is. */
  any(random: Random): string;
  /** Stops the gateways; the database stays. */
  close(): Promise<void>;
  stop(): Promise<void>;
}

const usualDelays = { probability: 0.02, maxMs: 100 };
const keys = randomBytes(32).toString('base64');
const grants = ['shipments:read', 'payments:read', 'appointments:write', 'webhooks:rotate'];

/** Starts one gateway on an embedded database, or three on Postgres. */
export async function startCluster(options: ClusterOptions, random: Random): Promise<Cluster> {
  const sandbox = await startSandbox();
  const subscription = createSubscription();
  const endpoint = createPaymentEndpoint(sandbox, 'pe_chaos');
  const { around } = options;
  const { databaseUrl, gatewayUrl, postgres, drop } = await openDatabase(options, random);
  const settings = {
    ...sandbox.settings,
    DATABASE_URL: gatewayUrl,
    SECRET_KEYS: keys,
    GRANTS: JSON.stringify({ '*': grants }),
    SHIPMENT_WEBHOOKS: configured(subscription),
    PAYMENT_WEBHOOKS: configured(endpoint),
    ...around?.settings,
  };
  const crashes: Finding[] = [];
  const loggedErrors = new Map<string, number>();
  const replicas = await Promise.all(
    Array.from({ length: options.engine === 'sqlite' ? 1 : 3 }, (_, number) =>
      startReplica({
        settings,
        options: options.nodeOptions ?? [],
        random: random.fork(`replica ${number}`),
        delays: options.delays ?? usualDelays,
        onBadExit: (what) => void crashes.push({ fault: 'ended by itself', what }),
        onLine: (line) => countError(line, loggedErrors),
      }),
    ),
  );
  let closed: Promise<unknown> | undefined;
  const close = async () => void (await (closed ??= Promise.all(replicas.map((replica) => replica.stop()))));
  return {
    sandbox,
    get databaseUrl() {
      return around?.database?.now() ?? databaseUrl;
    },
    lastingUrl: around?.database?.url ?? databaseUrl,
    postgres,
    replicas,
    subscription,
    endpoint,
    crashes,
    loggedErrors,
    any(own) {
      const up = replicas.filter(({ isUp }) => isUp);
      return own.pick(up.length > 0 ? up : replicas).url;
    },
    close,
    async stop() {
      await close();
      await drop();
      await sandbox.stop();
    },
  };
}

/** A shipment subscription, whose secret never changes. */
function createSubscription(): Destination {
  const secret = randomBytes(16).toString('hex');
  return { now: () => ({ family: 'shipments', id: 'sub_chaos', secret }), isKnown: () => true };
}

function configured({ now }: Destination): string {
  const { id, secret } = now();
  return `${id}=${secret}`;
}

async function openDatabase({ engine, around, postgres: server }: ClusterOptions, random: Random) {
  if (around?.database) {
    const { url } = around.database;
    return { databaseUrl: url, gatewayUrl: url, postgres: undefined, drop: async () => undefined };
  }
  if (engine === 'sqlite' || !server) {
    const folder = await mkdtemp(join(tmpdir(), 'trivium-chaos-'));
    const databaseUrl = `sqlite:${join(folder, 'gateway.db')}`;
    const drop = () => rm(folder, { recursive: true, force: true });
    return { databaseUrl, gatewayUrl: databaseUrl, postgres: undefined, drop };
  }
  const name = `chaos_${randomBytes(6).toString('hex')}`;
  await execute(server.url, `create database ${name}`);
  const url = Object.assign(new URL(server.url), { pathname: name });
  const proxy = await openTcpProxy(random.fork('database'), usualDelays);
  proxy.target = Number(url.port);
  const gatewayUrl = Object.assign(new URL(url), { port: String(proxy.port) });
  return {
    databaseUrl: url.href,
    gatewayUrl: gatewayUrl.href,
    postgres: { server, proxy },
    drop: async () => proxy.stop(),
  };
}

function countError(line: string, loggedErrors: Map<string, number>): void {
  const [, message] = /"level":[56]0.*"msg":"([^"]*)"/.exec(line) ?? [];
  if (message === undefined) return;
  const [, cause] = /"err":\{.*?"message":"([^"]*)"/.exec(line) ?? [];
  const text = cause === undefined ? message : `${message}: ${cause}`;
  loggedErrors.set(text, (loggedErrors.get(text) ?? 0) + 1);
}
