import { readFileSync } from 'node:fs';
import { ConfigError, readConfig, readSandboxConfig, type Config, type GatewayConfig } from './config.js';
import { startGateway } from './gateway.js';
import type { Sandbox, SandboxOptions } from './sandbox/sandbox.js';

const say = (text: string) => void process.stdout.write(`${text}\n`);

/** Loaded only where it is used. */
async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const sandbox = await import('./sandbox/sandbox.js');
  return sandbox.startSandbox(options);
}

/** `npm start`: the gateway, against the configured services or else the sandbox. */
async function runGateway(): Promise<void> {
  const config = settings(process.env);
  const sandbox = config.upstreams === null ? await startSandbox({ traffic: true }) : undefined;
  const complete = sandbox ? withSandbox(config, sandbox) : (config as GatewayConfig);
  const gateway = await startGateway(complete).catch(nameHost);
  sandbox?.deliverTo(gateway.url);
  const end = onSignal(async () => {
    await gateway.stop();
    await sandbox?.stop();
  });
  // A supervisor starts a new process, which can do what this one no longer can.
  void gateway.failed.then(() => end(1));
  say(welcome(gateway.url, sandbox));
}

/** What the system says of a name that it does not know names no setting. */
function nameHost(error: unknown): never {
  const { syscall, message } = error as NodeJS.ErrnoException;
  throw syscall === 'getaddrinfo' ? new ConfigError([`HOST: ${message}`]) : error;
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

/** The operator's settings with the sandbox's in place of the missing ones. */
function withSandbox({ grants }: Config, sandbox: Sandbox): GatewayConfig {
  const more = { ...sandbox.settings, ...(grants === undefined && { GRANTS: demoGrants }) };
  return settings({ ...process.env, ...more }) as GatewayConfig;
}

function welcome(url: string, sandbox: Sandbox | undefined): string {
  const addresses = [
    `Trivium is ready.`,
    ``,
    `  Explorer       ${url}/graphql`,
    `  GraphQL        ${url}/graphql   (HTTP and graphql-transport-ws)`,
    `  Schema (SDL)   ${url}/schema.graphql`,
    `  Health         ${url}/livez  ${url}/readyz`,
  ];
  const demo = sandbox && [
    `  Sandbox        ${sandbox.url}   (stands in for the upstream services; not for production)`,
    `  Demo login     demo@example.com / demo-password`,
  ];
  return [...addresses, ...(demo ?? []), ''].join('\n');
}

/** Whatever hangs, the process has ended by then. */
const longestEndMs = 9_500;

/** npm passes on a Ctrl-C that the terminal has sent to all: what repeats a signal so soon is the same one. */
const echoMs = 500;

/**
 * The first signal drains; a second one ends at once. Returns a function that drains without one, or has the drain that
 * is under way end with a code.
 */
function onSignal(stop: () => Promise<void>): (code: number) => void {
  let heardAt: number | undefined;
  let stopping = false;
  let exitCode = 0;
  const end = (code: number) => {
    exitCode = Math.max(exitCode, code);
    if (stopping) return;
    stopping = true;
    setTimeout(endUnfinished, longestEndMs).unref();
    stop().then(
      () => process.exit(exitCode),
      (error: unknown) => fail(error),
    );
  };
  const hear = () => {
    const now = performance.now();
    heardAt ??= now;
    if (now - heardAt > echoMs) process.exit(1);
    end(0);
  };
  process.on('SIGTERM', hear).on('SIGINT', hear);
  return end;
}

function endUnfinished(): never {
  console.error('Not all that was under way has ended in time.');
  process.exit(1);
}

/** What the operator can mend is one clear message; anything else shows its stack. */
function fail(error: unknown): never {
  console.error(isMendable(error) ? error.message : error);
  process.exit(1);
}

/** Settings, the database, and what the system refuses; other errors of Node.js have a `code` as well. */
function isMendable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  return error instanceof ConfigError || code === 'DATABASE_UNUSABLE' || syscall !== undefined;
}

async function run(command: string | undefined): Promise<void> {
  if (command === undefined) return runGateway();
  if (command === 'sandbox') return runSandbox();
  return fail(`There is no ${command} here: say sandbox, or nothing.`);
}

await run(process.argv[2]).catch(fail);
