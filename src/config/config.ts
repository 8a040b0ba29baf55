import { ConfigError, faultsOf, trimmed, withFiles, type Environment } from './environment.js';
import { isLoopback } from './loopback.js';
import { fileSettings, sandboxSettings, settings, type SettingDoc, type Settings } from './settings.js';
import { warningsOf } from './warnings.js';

/** The required settings of the upstream services: all of them are given, or none (then the sandbox stands in). */
const upstreamNames = [
  'NOTES_BASE_URL',
  'APPOINTMENTS_BASE_URL',
  'APPOINTMENTS_AUTH_URL',
  'APPOINTMENTS_CLIENT_ID',
  'APPOINTMENTS_CLIENT_SECRET',
  'SHIPMENT_WEBHOOKS',
  'PAYMENT_WEBHOOKS',
] as const;

/**
 * Optional settings that only real services need: if any of them is given, the sandbox does not stand in. Others, such as
 * `PAYMENT_EVENT_TYPES`, apply to the sandbox, too.
 */
const upstreamDetails = [
  'NOTES_TOKEN_EMAIL_FIELD',
  'NOTES_TOKEN_PASSWORD_FIELD',
  'NOTES_TOKEN_FIELD',
  'NOTES_TOKEN_LIFETIME_SECONDS',
  'APPOINTMENTS_SCOPE',
  'PAYMENTS_BASE_URL',
  'PAYMENTS_API_TOKEN',
  'PAYMENTS_ROTATED_SECRET_FIELD',
] as const;

/** Where the upstream services are and how to prove who we are. */
export type Upstreams = ReturnType<typeof upstreams>;

/** Everything the operator can set, checked and typed. */
export type Config = ReturnType<typeof toConfig>;

/** A `Config` whose upstream services are filled in: those configured, or the sandbox's. */
export type GatewayConfig = Config & { readonly upstreams: Upstreams };

/**
 * Reads the settings from an environment; `read` reads the file that a `NAME_FILE` names. Throws a `ConfigError` with
 * all faults at once. What may be a mistake is added to `warnings`, also then. `upstreams` is null if none of them is
 * given and `NODE_ENV` is not `production`.
 */
export function readConfig(
  environment: Environment,
  read: (path: string) => string,
  warnings: string[] = [],
): Config {
  const faults: string[] = [];
  const given = withFiles(trimmed(environment), fileSettings, read, faults);
  warnings.push(...warningsOf(given));
  const parsed = settings.safeParse(given);
  const inFiles = fileSettings.filter((name) => given[`${name}_FILE`] !== undefined);
  faults.push(...faultsOf(parsed, inFiles), ...missing(given));
  if (!parsed.success || faults.length > 0) throw new ConfigError(faults);
  const config = toConfig(parsed.data);
  if (config.databaseListenUrl !== undefined && config.databaseUrl.startsWith('sqlite:'))
    throw new ConfigError(['DATABASE_LISTEN_URL: is only for a DATABASE_URL of the form postgres://…']);
  if (config.metricsPort === config.port && config.port !== 0)
    throw new ConfigError(['METRICS_PORT: must be another than PORT']);
  if (config.upstreams === null && !config.sandboxAllowed)
    throw new ConfigError([
      `SANDBOX: must be on for a sandbox that others can reach (HOST is ${config.host}); or set NOTES_BASE_URL and the other services`,
    ]);
  return config;
}

/** Where a standalone sandbox listens and delivers webhooks to; throws a `ConfigError` with all faults at once. */
export function readSandboxConfig(environment: Environment) {
  const parsed = sandboxSettings.safeParse(trimmed(environment));
  if (!parsed.success) throw new ConfigError(faultsOf(parsed));
  return { port: parsed.data.SANDBOX_PORT, deliverTo: parsed.data.GATEWAY_URL };
}

/** A setting whose file is named is not missing: that the file is unusable is a fault of its own. */
function missing(environment: Environment): string[] {
  const production = environment['NODE_ENV'] === 'production';
  const isAbsent = (name: string) =>
    environment[name] === undefined && environment[`${name}_FILE`] === undefined;
  const given = [...upstreamNames, ...upstreamDetails].find((name) => !isAbsent(name));
  const faults: string[] = [];
  if (production || given !== undefined) {
    const reason = production ? '' : `, although ${given} is set`;
    faults.push(...upstreamNames.filter(isAbsent).map((name) => `${name}: missing${reason}${asIn(name)}`));
  }
  if (production && isAbsent('SECRET_KEYS')) faults.push('SECRET_KEYS: missing; trivium keys prints a value');
  if (!isAbsent('TRUSTED_DOCUMENTS_MODE') && isAbsent('TRUSTED_DOCUMENTS'))
    faults.push('TRUSTED_DOCUMENTS: missing, although TRUSTED_DOCUMENTS_MODE is set');
  return faults;
}

/** How a value is written, where its form does not go without saying. */
function asIn(name: (typeof upstreamNames)[number]): string {
  const { example = '' } = settings.shape[name].meta() as unknown as SettingDoc;
  return /[:=]/.test(example) ? `; write it as in ${example}` : '';
}

function toConfig(given: Settings) {
  return Object.freeze({
    port: given.PORT,
    host: given.HOST,
    publicUrl: given.PUBLIC_URL,
    trustProxy: given.TRUST_PROXY,
    upstreams: given.NOTES_BASE_URL === undefined ? null : upstreams(given),
    paymentEventTypes: given.PAYMENT_EVENT_TYPES,
    paymentsCreatedUnit: given.PAYMENTS_CREATED_UNIT,
    /** Seconds; null if a payment's age is not checked. */
    paymentToleranceSeconds: given.PAYMENT_TIMESTAMP_TOLERANCE_SECONDS,
    webhookSkewSeconds: given.WEBHOOK_CLOCK_SKEW_SECONDS,
    databaseUrl: given.DATABASE_URL,
    /** Where to listen, if the database's address leads to a pool in transaction mode; else undefined. */
    databaseListenUrl: given.DATABASE_LISTEN_URL,
    /** Undefined if each replica reads events from the database. */
    natsServers: given.NATS_URL,
    secretKeys: given.SECRET_KEYS,
    grants: given.GRANTS,
    metricsPort: given.METRICS_PORT,
    /** Whether a sandbox may stand in for the services on this host. */
    sandboxAllowed: given.SANDBOX === 'on' || isLoopback(given.HOST),
    allowedOrigins: given.ALLOWED_ORIGINS,
    /** Undefined if any name counts. */
    allowedHosts: given.ALLOWED_HOSTS,
    introspection: given.INTROSPECTION === 'on',
    /** Undefined if any document runs. */
    trustedDocuments:
      given.TRUSTED_DOCUMENTS === undefined
        ? undefined
        : { path: given.TRUSTED_DOCUMENTS, mode: given.TRUSTED_DOCUMENTS_MODE },
    retentionDays: given.EVENT_RETENTION_DAYS,
    logLevel: given.LOG_LEVEL,
  });
}

function upstreams(given: Settings) {
  return Object.freeze({
    notes: {
      baseUrl: given.NOTES_BASE_URL!,
      emailField: given.NOTES_TOKEN_EMAIL_FIELD,
      passwordField: given.NOTES_TOKEN_PASSWORD_FIELD,
      tokenField: given.NOTES_TOKEN_FIELD,
      tokenLifetimeSeconds: given.NOTES_TOKEN_LIFETIME_SECONDS,
    },
    appointments: {
      baseUrl: given.APPOINTMENTS_BASE_URL!,
      authUrl: given.APPOINTMENTS_AUTH_URL!,
      clientId: given.APPOINTMENTS_CLIENT_ID!,
      clientSecret: given.APPOINTMENTS_CLIENT_SECRET!,
      scope: given.APPOINTMENTS_SCOPE,
    },
    payments: {
      /** Absent if secrets cannot be rotated through the gateway. */
      baseUrl: given.PAYMENTS_BASE_URL,
      apiToken: given.PAYMENTS_API_TOKEN,
      rotatedSecretField: given.PAYMENTS_ROTATED_SECRET_FIELD,
    },
    webhooks: { shipments: given.SHIPMENT_WEBHOOKS!, payments: given.PAYMENT_WEBHOOKS! },
  });
}
