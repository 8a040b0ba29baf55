import { dirname, join } from 'node:path';
import { readSandboxConfig, type Config } from '../config/config.js';
import { ConfigError, type Environment } from '../config/environment.js';
import { say, type Program, type RunningSandbox } from './program.js';
import { onSignal } from './shutdown.js';

/** Where it keeps what a rotation has made of its secrets, if it is not beside an embedded database. */
const usualSecretsFile = 'data/sandbox.json';

/** The demo user's grants, as the setting has them. */
export const demoGrants = JSON.stringify({
  'demo@example.com': [
    'appointments:read',
    'appointments:write',
    'shipments:read',
    'payments:read',
    'webhooks:read',
    'webhooks:rotate',
  ],
});

/** What else a gateway against a sandbox is set to, unless it is set otherwise. */
export const besideSandbox = {
  GRANTS: demoGrants,
  // Its users are known to everybody: a site whose name leads to this machine must not sign in.
  ALLOWED_HOSTS: 'localhost',
  // A page in development is served at another port.
  ALLOWED_ORIGINS: 'loopback',
} as const;

/** The port of a sandbox beside a gateway; throws a `ConfigError`. */
export function portBeside(environment: Environment): number {
  return readSandboxConfig({ SANDBOX_PORT: environment['SANDBOX_PORT'] }).port;
}

/** The sandbox beside a gateway: on its own port, or else, as where that is one of the gateway's, on a free one. */
export async function startBeside(
  { environment, loadSandbox }: Program,
  gateway: Pick<Config, 'port' | 'metricsPort' | 'databaseUrl' | 'publicUrl'>,
): Promise<RunningSandbox> {
  const port = portBeside(environment);
  const isTaken = port === gateway.port || port === gateway.metricsPort;
  const { databaseUrl, publicUrl } = gateway;
  const options = { traffic: true, publicUrl, secretsFile: secretsFileBeside(databaseUrl) };
  const { startSandbox } = await loadSandbox();
  try {
    return await startSandbox({ ...options, port: isTaken ? 0 : port });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') nameSetting(error);
    const sandbox = await startSandbox({ ...options, port: 0 });
    say(
      `Port ${port} is taken, perhaps by another sandbox (one that trivium sandbox runs may deliver here, too): this one is at ${sandbox.url}.`,
    );
    return sandbox;
  }
}

/** Beside the database, which has the rotated secrets, too. */
function secretsFileBeside(databaseUrl: string): string {
  if (!databaseUrl.startsWith('sqlite:')) return usualSecretsFile;
  return join(dirname(databaseUrl.slice('sqlite:'.length)), 'sandbox.json');
}

/** `trivium sandbox`: the three upstream services alone. */
export async function runSandbox(program: Program, fail: (error: unknown) => void): Promise<void> {
  const { port, deliverTo } = readSandboxConfig(program.environment);
  const { startSandbox } = await program.loadSandbox();
  const options = { port, traffic: true, deliverTo, secretsFile: usualSecretsFile };
  const sandbox = await startSandbox(options).catch(nameSetting);
  say(`The sandbox listens on ${sandbox.url} and delivers webhooks to ${deliverTo} (GATEWAY_URL).`);
  say('Start a gateway against it with these settings:\n');
  for (const [name, value] of Object.entries({ ...sandbox.settings, ...besideSandbox }))
    say(`export ${name}='${value}'`);
  onSignal(() => sandbox.stop(), fail);
}

/** An error of listening does not say which setting is wrong; this does. */
function nameSetting(error: unknown): never {
  const { syscall, message } = error as NodeJS.ErrnoException;
  throw syscall === 'listen' ? new ConfigError([`SANDBOX_PORT: ${message}`]) : error;
}
