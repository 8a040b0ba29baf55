import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readConfig, type Config, type GatewayConfig } from '../config/config.js';
import { ConfigError, type Environment } from '../config/environment.js';
import { followFile } from '../config/follow-file.js';
import { startGateway, type Gateway } from '../gateway.js';
import { withTimeout } from '../lib/async/timeout.js';
import { createTelemetry, type Telemetry } from '../lib/telemetry/telemetry.js';
import { say, warn, type Program, type RunningSandbox } from './program.js';
import { besideSandbox, startBeside } from './sandbox.js';
import { maxEndMs, onSignal } from './shutdown.js';

/** `trivium start`: the gateway, against the configured services or else the sandbox. */
export async function runGateway(program: Program, fail: (error: unknown) => void): Promise<void> {
  const warnings: string[] = [];
  const config = settings(program.environment, warnings);
  const telemetry = createTelemetry(config.logLevel);
  // While it starts there is nothing to drain; without a handler, the first process of a container ignores signals.
  let stop = async (): Promise<void> => {};
  const end = onSignal((signal) => {
    telemetry.log.info({ signal }, 'stopping');
    return stop();
  }, fail);
  for (const warning of [...warnings, ...warningsOfDatabase(config)]) telemetry.log.warn(warning);

  const stopTracing = await traceIfSet(program, telemetry);
  const sandbox = hasUpstreams(config) ? undefined : await startBeside(program, config);
  const complete = withUpstreams(config, program.environment, sandbox);
  const gateway = await startGateway(complete, { telemetry, ...(sandbox && { sandbox }) }).catch(
    (error: unknown) => {
      throw namingSetting(error, config);
    },
  );
  sandbox?.deliverTo(gateway.url);
  const unwatch = watchGrants(program.environment, complete, gateway, telemetry);
  stop = async () => {
    const latest = performance.now() + maxEndMs - spareMs;
    unwatch();
    await gateway.stop();
    await sandbox?.stop();
    await stopTracing(Math.min(lastSpansMs, Math.round(latest - performance.now())));
    telemetry.log.info('stopped');
  };
  // A supervisor starts a new process, which can do what this one no longer can.
  void gateway.failed.then(() => end(1));
  telemetry.log.info({ url: gateway.url, node: process.version, pid: process.pid }, 'started');
  say(welcome(gateway, sandbox));
}

/** How long a stop waits for the collector to take the last spans, at most. */
const lastSpansMs = 2_000;

/** What a stop that took long leaves of its time, so that its code is still 0. */
const spareMs = 200;

/**
 * Tracing begins where OpenTelemetry's own settings name somewhere to send to; its SDK is loaded only then. Resolves with
 * a function that ends it within `ms`, and never rejects.
 */
async function traceIfSet(
  { environment, version, traceSender }: Program,
  telemetry: Telemetry,
): Promise<(ms: number) => Promise<void>> {
  // The SDK reads them by itself, and takes most of them with the blanks around them.
  for (const [name, value] of Object.entries(environment))
    if (name.startsWith('OTEL_') && value !== undefined) environment[name] = value.trim();
  const given = (name: string) => environment[name]?.toLowerCase();
  const isSet = given('OTEL_EXPORTER_OTLP_ENDPOINT') || given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const isOff = given('OTEL_SDK_DISABLED') === 'true' || given('OTEL_TRACES_EXPORTER') === 'none';
  if (!isSet || isOff) return async () => undefined;
  const { startTracing } = await import('../lib/telemetry/tracing-sdk.js');
  const stop = await startTracing(version, environment, traceSender, telemetry);
  return (ms) =>
    withTimeout(ms, stop(), 'The collector did not answer').catch((err: unknown) =>
      telemetry.log.warn({ err }, 'the last traces could not be sent'),
    );
}

/**
 * The settings, read; what may be a mistake is added to `warnings`, and told before it throws a `ConfigError`, since a
 * misspelled name is often the reason.
 */
export function settings(environment: Environment, warnings: string[] = []): Config {
  try {
    return readConfig(environment, (path) => readFileSync(path, 'utf8'), warnings);
  } catch (error) {
    if (error instanceof ConfigError) for (const warning of warnings) warn(`Warning: ${warning}`);
    throw error;
  }
}

/** Errors of listening do not say which setting is wrong; this does. */
function namingSetting(error: unknown, { metricsPort }: Config): unknown {
  const { syscall, code, message, port } = error as NodeJS.ErrnoException & { readonly port?: number };
  if (syscall === 'getaddrinfo' || code === 'EADDRNOTAVAIL') return new ConfigError([`HOST: ${message}`]);
  if (syscall !== 'listen') return error;
  return new ConfigError([`${port === metricsPort ? 'METRICS_PORT' : 'PORT'}: ${message}`]);
}

/** The operator's settings, completed with the sandbox's if there is one. */
function withUpstreams(
  config: Config,
  environment: Environment,
  sandbox: RunningSandbox | undefined,
): GatewayConfig {
  const complete = sandbox ? withSandbox(config, environment, sandbox) : config;
  if (!hasUpstreams(complete)) throw new Error('the upstream services are not set');
  return complete;
}

function hasUpstreams(config: Config): config is GatewayConfig {
  return config.upstreams !== null;
}

function withSandbox(
  { grants, publicUrl, allowedHosts }: Config,
  environment: Environment,
  sandbox: RunningSandbox,
): Config {
  const { GRANTS, ALLOWED_HOSTS, ALLOWED_ORIGINS } = besideSandbox;
  const local = [ALLOWED_HOSTS, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])];
  const isOpen = allowedHosts !== undefined || isGiven(environment, 'SANDBOX');
  const more = {
    ...sandbox.settings,
    ...(grants === undefined && { GRANTS }),
    ...(!isOpen && { ALLOWED_HOSTS: local.join() }),
    ...(!isGiven(environment, 'ALLOWED_ORIGINS') && { ALLOWED_ORIGINS }),
  };
  return settings({ ...environment, ...more });
}

function isGiven(environment: Environment, name: string): boolean {
  return [name, `${name}_FILE`].some((each) => environment[each]?.trim());
}

/** The folder of an embedded database is made if it is missing: where a volume was to be mounted, that is a mistake. */
export function warningsOfDatabase({ databaseUrl }: Config): readonly string[] {
  if (!databaseUrl.startsWith('sqlite:')) return [];
  const folder = dirname(databaseUrl.slice('sqlite:'.length));
  return existsSync(folder) || databaseUrl === 'sqlite:./data/gateway.db'
    ? []
    : [
        `DATABASE_URL: the folder ${folder} does not exist and will be made: if it should exist, correct the path`,
      ];
}

/**
 * Reads `GRANTS_FILE` anew when it changes, or has changed since the settings were read; while it is wrong, what held
 * before goes on. Returns a function that stops.
 */
function watchGrants(
  environment: Environment,
  config: Config,
  gateway: Gateway,
  { log }: Telemetry,
): () => void {
  const path = environment['GRANTS_FILE']?.trim();
  if (path === undefined || path === '') return () => undefined;
  let held: unknown = config.grants;

  function reread(): void {
    try {
      const { grants } = readConfig({ GRANTS_FILE: path }, () => readFileSync(path!, 'utf8'));
      if (isDeepStrictEqual(grants, held)) return;
      held = grants;
      gateway.regrant(grants ?? new Map());
      log.info({ audit: true, addresses: grants?.size ?? 0 }, 'the grants were read anew');
    } catch (err) {
      held = undefined; // so that the log also says when the file is right again
      const why = err instanceof ConfigError ? { faults: err.faults } : { err };
      log.error(why, 'GRANTS_FILE was changed and cannot be used: the grants stay as they were');
    }
  }

  const stop = followFile(path, reread);
  reread();
  return stop;
}

/** The addresses; the last line says that it is ready, which supervisors and scripts wait for. */
function welcome({ url, metricsUrl }: Gateway, sandbox: RunningSandbox | undefined): string {
  const demo = sandbox && [
    `  Sandbox        ${sandbox.url}   (stands in for the upstream services; not for production)`,
    ...sandbox.users.map(
      ({ email, password }, at) =>
        `  Demo login     ${email} / ${password}${at === 0 ? '' : '   (without any grant)'}`,
    ),
  ];
  return [
    ``,
    `  Console        ${url}/`,
    `  Explorer       ${url}/graphql`,
    `  GraphQL        ${url}/graphql   (HTTP and graphql-transport-ws)`,
    `  Schema (SDL)   ${url}/schema.graphql`,
    `  Documentation  ${url}/docs`,
    `  Health         ${url}/livez  ${url}/readyz`,
    `  Metrics        ${metricsUrl}`,
    ...(demo ?? []),
    ``,
    `Trivium is ready.`,
  ].join('\n');
}
