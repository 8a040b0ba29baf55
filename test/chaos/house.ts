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
import { openWay, type Way } from './way.js';

/** What a house is built on. */
export interface HouseOptions {
  readonly engine: 'sqlite' | 'postgres';
  readonly postgres?: TestPostgres;
  /** Options of Node.js for every gateway. */
  readonly options?: readonly string[];
}

/** Gateways over a new database, behind ways that can be cut, and the services around them. */
export interface House {
  readonly sandbox: Sandbox;
  /** The database, past every way. */
  readonly databaseUrl: string;
  readonly postgres: { readonly server: TestPostgres; readonly way: Way } | undefined;
  readonly replicas: readonly Replica[];
  readonly subscription: Destination;
  readonly endpoint: PaymentEndpoint;
  /** Where a gateway ended by itself. */
  readonly deaths: readonly Finding[];
  /** What gateways logged as errors, and how often. */
  readonly complaints: ReadonlyMap<string, number>;
  /** The address of a gateway that is up, if any is. */
  any(random: Random): string;
  /** Ends the gateways; the database stays. */
  close(): Promise<void>;
  stop(): Promise<void>;
}

const delays = { probability: 0.02, maxMs: 100 };
const keys = randomBytes(32).toString('base64');
const grants = ['shipments:read', 'payments:read', 'appointments:write', 'webhooks:rotate'];

/** Starts one gateway on an embedded database, or three over a Postgres. */
export async function openHouse(house: HouseOptions, random: Random): Promise<House> {
  const sandbox = await startSandbox();
  const subscription = createSubscription();
  const endpoint = createPaymentEndpoint(sandbox, 'pe_chaos');
  const { databaseUrl, gatewayUrl, postgres, drop } = await openDatabase(house, random);
  const settings = {
    ...sandbox.settings,
    DATABASE_URL: gatewayUrl,
    SECRET_KEYS: keys,
    GRANTS: JSON.stringify({ '*': grants }),
    SHIPMENT_WEBHOOKS: configured(subscription),
    PAYMENT_WEBHOOKS: configured(endpoint),
  };
  const deaths: Finding[] = [];
  const complaints = new Map<string, number>();
  const replicas = await Promise.all(
    Array.from({ length: house.engine === 'sqlite' ? 1 : 3 }, (_, number) =>
      startReplica({
        settings,
        options: house.options ?? [],
        random: random.fork(`replica ${number}`),
        delays,
        died: (what) => void deaths.push({ fault: 'ended by itself', what }),
        hear: (line) => hearComplaint(line, complaints),
      }),
    ),
  );
  let closed: Promise<unknown> | undefined;
  const close = async () => void (await (closed ??= Promise.all(replicas.map((replica) => replica.stop()))));
  return {
    sandbox,
    databaseUrl,
    postgres,
    replicas,
    subscription,
    endpoint,
    deaths,
    complaints,
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

/** A shipment subscription, whose secret stays. */
function createSubscription(): Destination {
  const secret = randomBytes(16).toString('hex');
  return { now: () => ({ family: 'shipments', id: 'sub_chaos', secret }), isKnown: () => true };
}

function configured({ now }: Destination): string {
  const { id, secret } = now();
  return `${id}=${secret}`;
}

async function openDatabase({ engine, postgres: server }: HouseOptions, random: Random) {
  if (engine === 'sqlite' || !server) {
    const folder = await mkdtemp(join(tmpdir(), 'trivium-chaos-'));
    const databaseUrl = `sqlite:${join(folder, 'gateway.db')}`;
    const drop = () => rm(folder, { recursive: true, force: true });
    return { databaseUrl, gatewayUrl: databaseUrl, postgres: undefined, drop };
  }
  const name = `chaos_${randomBytes(6).toString('hex')}`;
  await execute(server.url, `create database ${name}`);
  const url = Object.assign(new URL(server.url), { pathname: name });
  const way = await openWay(random.fork('database'), delays);
  way.target = Number(url.port);
  const gatewayUrl = Object.assign(new URL(url), { port: String(way.port) });
  return {
    databaseUrl: url.href,
    gatewayUrl: gatewayUrl.href,
    postgres: { server, way },
    drop: async () => way.stop(),
  };
}

function hearComplaint(line: string, complaints: Map<string, number>): void {
  const [, message] = /"level":[56]0.*"msg":"([^"]*)"/.exec(line) ?? [];
  if (message === undefined) return;
  const [, cause] = /"err":\{.*?"message":"([^"]*)"/.exec(line) ?? [];
  const complaint = cause === undefined ? message : `${message}: ${cause}`;
  complaints.set(complaint, (complaints.get(complaint) ?? 0) + 1);
}
