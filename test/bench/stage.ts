import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type Server, type Start } from './process.js';
import { startUpstream } from './upstream.js';
import { webhooks } from './webhooks.js';

/** What a gateway is started with beside the usual. */
export interface GatewayStart extends Omit<Start, 'args'> {
  /** The name of an embedded database on the stage, or the address of another one. */
  readonly database: string;
  /** Flags of node. */
  readonly flags?: readonly string[];
  /** A file of `test/bench` that starts it in another way than the built `main.js`. */
  readonly file?: string;
}

/** Where a suite plays: an upstream, a folder, and the processes that it starts. */
export interface Stage {
  /** Of files; it goes with the stage. */
  readonly folder: string;
  start(options: Start): Promise<Server>;
  /** A file of `test/bench`, with the upstream's address and a path for a ledger of its own. */
  startFile(file: string, flags?: readonly string[]): Promise<Server>;
  /** The built gateway as `npm start` starts it, with everything granted to all. */
  startGateway(options: GatewayStart): Promise<Server>;
}

const flags = ['--max-semi-space-size=32'];
const grants = [
  'appointments:read',
  'appointments:write',
  'shipments:read',
  'payments:read',
  'webhooks:rotate',
];

/** Plays on a stage of its own, and clears it afterwards. */
export async function onStage<T>(play: (stage: Stage) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'trivium-bench-'));
  const upstream = await startUpstream();
  const servers: Server[] = [];

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
    return await play({
      folder,
      start,
      startFile: (file, more = []) =>
        start({
          args: [...flags, ...more, `test/bench/${file}`],
          env: { UPSTREAM: upstream.url, LEDGER: join(folder, `${file.replaceAll('/', '-')}.db`) },
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
    rmSync(folder, { recursive: true, force: true });
  }
}
