import { readSandboxConfig, type Config } from '../config/config.js';
import { say, type Program, type RunningSandbox } from './program.js';
import { onSignal } from './shutdown.js';

/** Where it keeps what a rotation has made of its secrets: beside the usual database. */
const secretsFile = 'data/sandbox.json';

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

/** The sandbox beside a gateway: on its own port, or else, as where that is one of the gateway's, on a free one. */
export async function startBeside(
  { environment, loadSandbox }: Program,
  gateway: Pick<Config, 'port' | 'metricsPort'>,
): Promise<RunningSandbox> {
  const { port } = readSandboxConfig({ SANDBOX_PORT: environment['SANDBOX_PORT'] });
  const isTaken = port === gateway.port || port === gateway.metricsPort;
  const { startSandbox } = await loadSandbox();
  try {
    return await startSandbox({ port: isTaken ? 0 : port, traffic: true, secretsFile });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return startSandbox({ port: 0, traffic: true, secretsFile });
  }
}

/** `trivium sandbox`: the three upstream services alone. */
export async function runSandbox(program: Program, fail: (error: unknown) => void): Promise<void> {
  const { port, deliverTo } = readSandboxConfig(program.environment);
  const { startSandbox } = await program.loadSandbox();
  const sandbox = await startSandbox({ port, traffic: true, deliverTo, secretsFile });
  say(`The sandbox listens on ${sandbox.url} and delivers webhooks to ${deliverTo} (GATEWAY_URL).`);
  say('Start a gateway against it with these settings:\n');
  for (const [name, value] of Object.entries(sandbox.settings)) say(`export ${name}='${value}'`);
  say(`export GRANTS='${demoGrants}'`);
  onSignal(() => sandbox.stop(), fail);
}
