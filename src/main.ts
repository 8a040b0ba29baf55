import { readFileSync } from 'node:fs';
import { readConfig, readSandboxConfig, type Config, type GatewayConfig } from './config/config.js';
import { ConfigError } from './config/environment.js';
import { startGateway } from './gateway.js';
import type { Sandbox, SandboxOptions } from './sandbox/sandbox.js';

// Text that standard output cannot take is lost; without a listener, the error would end the process.
process.stdout.on('error', () => undefined);

const say = (text: string) => void process.stdout.write(`${text}\n`);

const usage = `Usage: npm start            the gateway, with a sandbox of the services unless they are set
       npm run sandbox      the sandbox alone
Settings are environment variables; docs/settings.md lists them all.`;

/** Imports the sandbox only when it is needed. */
async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const sandbox = await import('./sandbox/sandbox.js');
  return sandbox.startSandbox(options);
}

/** `npm start`: the gateway, against the configured services or else the sandbox. */
async function runGateway(): Promise<void> {
  const config = settings(process.env);
  // While it starts there is nothing to drain; without a handler, the first process of a container ignores signals.
  let stop = async (): Promise<void> => {};
  const end = onSignal(() => stop());
  const sandbox = hasUpstreams(config) ? undefined : await startSandbox({ traffic: true });
  const gateway = await startGateway(withUpstreams(config, sandbox)).catch(nameSetting);
  sandbox?.deliverTo(gateway.url);
  stop = async () => {
    await gateway.stop();
    await sandbox?.stop();
  };
  // A supervisor starts a new process, which can do what this one no longer can.
  void gateway.failed.then(() => end(1));
  say(welcome(gateway.url, sandbox));
}

/** Errors of listening do not say which setting is wrong; this does. */
function nameSetting(error: unknown): never {
  const { syscall, code, message } = error as NodeJS.ErrnoException;
  if (syscall === 'getaddrinfo' || code === 'EADDRNOTAVAIL') throw new ConfigError([`HOST: ${message}`]);
  throw code === 'EADDRINUSE' ? new ConfigError([`PORT: ${message}`]) : error;
}

/** `npm run sandbox`: the three upstream services alone. */
async function runSandbox(): Promise<void> {
  const { port, deliverTo } = readSandboxConfig(process.env);
  const sandbox = await startSandbox({ port, traffic: true, deliverTo });
  say(`The sandbox listens on ${sandbox.url} and delivers webhooks to ${deliverTo} (GATEWAY_URL).`);
  say('Start a gateway against it with these settings:\n');
  for (const [name, value] of Object.entries(sandbox.settings)) say(`export ${name}='${value}'`);
  say(`export GRANTS='${demoGrants}'`);
  onSignal(() => sandbox.stop());
}

function settings(environment: NodeJS.ProcessEnv): Config {
  return readConfig(environment, (path) => readFileSync(path, 'utf8'));
}

const demoGrants = JSON.stringify({
  'demo@example.com': [
    'appointments:read',
    'appointments:write',
    'shipments:read',
    'payments:read',
    'webhooks:rotate',
  ],
});

/** The operator's settings, completed with the sandbox's if there is one. */
function withUpstreams(config: Config, sandbox: Sandbox | undefined): GatewayConfig {
  const complete = sandbox ? withSandbox(config, sandbox) : config;
  if (!hasUpstreams(complete)) throw new Error('the upstream services are not set');
  return complete;
}

function hasUpstreams(config: Config): config is GatewayConfig {
  return config.upstreams !== null;
}

function withSandbox({ grants }: Config, sandbox: Sandbox): Config {
  const more = { ...sandbox.settings, ...(grants === undefined && { GRANTS: demoGrants }) };
  return settings({ ...process.env, ...more });
}

function welcome(url: string, sandbox: Sandbox | undefined): string {
  const addresses = [
    `Trivium is ready.`,
    ``,
    `  Explorer       ${url}/graphql`,
    `  GraphQL        ${url}/graphql   (HTTP and graphql-transport-ws)`,
    `  Schema (SDL)   ${url}/schema.graphql`,
    `  Health         ${url}/livez  ${url}/readyz`,
    `  Metrics        ${url}/metrics`,
  ];
  const demo = sandbox && [
    `  Sandbox        ${sandbox.url}   (stands in for the upstream services; not for production)`,
    `  Demo login     demo@example.com / demo-password`,
  ];
  return [...addresses, ...(demo ?? []), ''].join('\n');
}

/** The process exits after this time, whatever hangs. */
const maxEndMs = 9_500;

/** The terminal sends Ctrl-C to npm and to us, and npm forwards it: a repeat this soon is the same signal. */
const repeatMs = 500;

/**
 * The first signal drains; a second one ends the process at once. Returns a function that drains without a signal; if
 * a drain is under way, that one exits with at least this code.
 */
function onSignal(stop: () => Promise<void>): (code: number) => void {
  let firstAt: number | undefined;
  let stopping = false;
  let exitCode = 0;
  const end = (code: number) => {
    exitCode = Math.max(exitCode, code);
    if (stopping) return;
    stopping = true;
    setTimeout(endUnfinished, maxEndMs).unref();
    stop().then(
      () => process.exit(exitCode),
      (error: unknown) => fail(error),
    );
  };
  const handleSignal = () => {
    const now = performance.now();
    firstAt ??= now;
    if (now - firstAt > repeatMs) process.exit(1);
    end(0);
  };
  process.on('SIGTERM', handleSignal).on('SIGINT', handleSignal);
  return end;
}

function endUnfinished(): never {
  console.error('Shutdown timed out: not everything in progress could be finished.');
  process.exit(1);
}

/** Prints what the operator can mend as one message, anything else with its stack. */
function fail(error: unknown): never {
  console.error(isMendable(error) ? error.message : error);
  process.exit(1);
}

/** Wrong settings, an unusable database, and failed system calls (not told by `code`, which other errors have too). */
function isMendable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  return error instanceof ConfigError || code === 'DATABASE_UNUSABLE' || syscall !== undefined;
}

async function run(command: string | undefined): Promise<void> {
  if (command === undefined) return runGateway();
  if (command === 'sandbox') return runSandbox();
  if (command === '--help' || command === '-h') return say(usage);
  return fail(`Unknown command ${command}: the only one is sandbox.`);
}

await run(process.argv[2]).catch(fail);
