import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, type Client } from 'graphql-ws';
import WebSocket from 'ws';
import { readConfig, type GatewayConfig } from '../../src/config/config.js';
import type { Environment } from '../../src/config/environment.js';
import { startGateway, type Gateway } from '../../src/gateway.js';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { createTelemetry, type Telemetry } from '../../src/lib/telemetry/telemetry.js';
import { testWriter } from './database.js';
import { writeMigratedFile } from './sqlite.js';

/** The demo user's credentials. */
export const demo = { email: 'demo@example.com', password: 'demo-password' };

/** All grants there are. */
export const allGrants = [
  'appointments:read',
  'appointments:write',
  'shipments:read',
  'payments:read',
  'webhooks:read',
  'webhooks:rotate',
];

/** What a test's gateway is given besides the sandbox's settings. */
export interface TestbedOptions {
  readonly settings?: Environment;
  readonly upstreamTimeoutMs?: number;
  /** How often a stream shows that it is alive. */
  readonly streamBeatMs?: number;
  /** A sandbox that runs already; it is not stopped with the testbed. */
  readonly sandbox?: Sandbox;
  /** The folder of the database; by default a new one, removed with the testbed. */
  readonly folder?: string;
}

/** An answer to a GraphQL request over HTTP. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads whatever shape its own query asks for
  readonly data: any;
  readonly errors:
    readonly { message: string; path?: unknown; extensions: Record<string, unknown> }[] | undefined;
}

/** A whole testbed: sandbox and gateway, over real HTTP and sockets, on the sandbox's clock. */
export interface Testbed {
  readonly sandbox: Sandbox;
  readonly gateway: Gateway;
  readonly url: string;
  readonly folder: string;
  readonly telemetry: Telemetry;
  /** What the gateway logged, as one text. */
  readonly logged: () => string;
  /** A GraphQL request by POST, with this session's token. */
  ask(query: string, variables?: object, token?: string, headers?: Record<string, string>): Promise<Answered>;
  /** Signs in and gives the session's token. */
  signIn(credentials?: { email: string; password: string }): Promise<string>;
  /** A graphql-ws client with this session's token. */
  socket(token: string): Client;
  stop(): Promise<void>;
}

/** Starts sandbox and gateway; webhooks of the sandbox are delivered to it. */
export async function startTestbed(options: TestbedOptions = {}): Promise<Testbed> {
  const sandbox = options.sandbox ?? (await startSandbox());
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'trivium-'));
  const file = join(folder, 'gateway.db');
  if (options.folder === undefined) await writeMigratedFile(file);
  const lines: string[] = [];
  const telemetry = createTelemetry(options.settings?.['LOG_LEVEL'] ?? 'debug', {
    write: (line) => void lines.push(line),
  });
  const environment = {
    PORT: '0',
    DATABASE_URL: `sqlite:${file}`,
    GRANTS: JSON.stringify({ [demo.email]: allGrants }),
    ...sandbox.settings,
    ...options.settings,
  };
  const config = readConfig(environment, () => '') as GatewayConfig;
  const { upstreamTimeoutMs, streamBeatMs } = options;
  const gateway = await startGateway(config, {
    sandbox,
    clock: sandbox.clock,
    telemetry,
    writer: testWriter(),
    ...(upstreamTimeoutMs !== undefined && { upstreamTimeoutMs }),
    ...(streamBeatMs !== undefined && { streamBeatMs }),
  });
  sandbox.deliverTo(gateway.url);
  const { url } = gateway;

  async function ask(query: string, variables = {}, token?: string, headers = {}): Promise<Answered> {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: JSON.stringify({ query, variables }),
    });
    const body = (await response.json()) as Pick<Answered, 'data' | 'errors'>;
    return { status: response.status, headers: response.headers, data: body.data, errors: body.errors };
  }

  return {
    sandbox,
    gateway,
    url,
    folder,
    telemetry,
    logged: () => lines.join(''),
    ask,
    async signIn(credentials = demo) {
      const { data, errors } = await ask(
        'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken errors { code } } }',
        { input: credentials },
      );
      const token: unknown = data?.signIn?.sessionToken;
      if (typeof token !== 'string')
        throw new Error(`no session: ${JSON.stringify(errors ?? data.signIn.errors)}`);
      return token;
    },
    socket: (token) =>
      createClient({
        url: `${url.replace('http', 'ws')}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { authorization: `Bearer ${token}` },
        retryAttempts: 0,
      }),
    async stop() {
      await gateway.stop();
      if (!options.sandbox) await sandbox.stop();
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The codes of an answer's errors. */
export function codesOf({ errors = [] }: Pick<Answered, 'errors'>): unknown[] {
  return (errors ?? []).map(({ extensions }) => extensions['code']);
}
