import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type Server, type Start } from './process.js';
import { startUpstream } from './upstream.js';
import { webhooks } from './webhooks.js';

/** How a gateway is started, besides the usual settings. */
export interface GatewayStart extends Omit<Start, 'args'> {
  /** The file name of an embedded database in the environment's folder, or the address of another database. */
  readonly database: string;
  /** Flags for Node.js. */
  readonly flags?: readonly string[];
  /** A file in `test/bench` that starts it, instead of the built `main.js`. */
  readonly file?: string;
}

/** How a file in `test/bench` is started. */
export interface FileStart extends Pick<Start, 'cores' | 'env'> {
  /** Where it stores what is durable, if it does, as `GatewayStart.database`; by default in a file of its own. */
  readonly database?: string;
  readonly flags?: readonly string[];
}

/** What a suite runs in: an upstream, a folder, and the processes that it starts. */
export interface Environment {
  /** A folder for files, which is deleted at the end. */
  readonly folder: string;
  start(options: Start): Promise<Server>;
  /** Starts a file in `test/bench`, with the upstream's address and a path for bookings of its own. */
  startFile(file: string, options?: FileStart): Promise<Server>;
  /** Starts the built gateway as `npm start` does, with all grants for everybody. */
  startGateway(options: GatewayStart): Promise<Server>;
}

const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
const { scripts } = JSON.parse(manifest) as { readonly scripts: { readonly start: string } };
/** The flags for Node.js that `npm start` has, for the gateway and all that it is compared with. */
const flags = scripts.start.split(' ').filter((word) => word.startsWith('--'));
const grants = [
  'appointments:read',
  'appointments:write',
  'shipments:read',
  'payments:read',
  'webhooks:rotate',
];

/** Removes the folder if this process dies without doing so; the servers in it end then, too. */
function guard(folder: string) {
  const script = 'read -r _; sleep 2; rm -rf "$0"';
  return spawn('sh', ['-c', script, folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
}

/** Runs `run` in a new environment, and stops and removes all of it afterwards. */
export async function withEnvironment<T>(run: (environment: Environment) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'trivium-bench-'));
  const watch = guard(folder);
  const upstream = await startUpstream();
  const servers: Server[] = [];
  let files = 0;

  async function start(options: Start): Promise<Server> {
    const server = await startServer(options);
    servers.push(server);
    return server;
  }

  const settings = {
    PORT: '0',
    SECRET_KEYS: Buffer.alloc(32, 'bench').toString('base64'),
    GRANTS: JSON.stringify({ '*': grants }),
    NOTES_BASE_URL: `${upstream.url}/notes/v1`,
    APPOINTMENTS_BASE_URL: `${upstream.url}/appointments/v1`,
    APPOINTMENTS_AUTH_URL: `${upstream.url}/issuer`,
    APPOINTMENTS_CLIENT_ID: 'id',
    APPOINTMENTS_CLIENT_SECRET: 'secret',
    SHIPMENT_WEBHOOKS: `${webhooks.shipments.id}=${webhooks.shipments.secret}`,
    PAYMENT_WEBHOOKS: `${webhooks.payments.id}=${webhooks.payments.secret}`,
  };
  try {
    return await run({
      folder,
      start,
      startFile: (file, { flags: more = [], database = `events-${(files += 1)}.db`, env, ...rest } = {}) =>
        start({
          ...rest,
          args: [...flags, ...more, `test/bench/${file}`],
          env: {
            UPSTREAM: upstream.url,
            BOOKINGS: join(folder, `bookings-${(files += 1)}.db`),
            DATABASE: database.includes('://') ? database : join(folder, database),
            ...env,
          },
        }),
      startGateway: ({ database, flags: more = [], file, env, ...rest }) =>
        start({
          ...rest,
          args: [...flags, ...more, file === undefined ? 'dist/main.js' : `test/bench/${file}`],
          env: {
            ...settings,
            DATABASE_URL: database.includes('://') ? database : `sqlite:${join(folder, database)}`,
            ...env,
          },
        }),
    });
  } finally {
    for (const server of servers) await server.stop();
    upstream.stop();
    watch.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}
