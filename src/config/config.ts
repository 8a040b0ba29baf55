import { z } from 'zod';
import { ConfigError, faultsOf, withFiles, withoutEmpty, type Environment } from './environment.js';
import {
  databaseUrl,
  endpoints,
  grants,
  httpUrl,
  list,
  memberPath,
  origin,
  secretKeys,
  sendable,
  trustProxy,
  whole,
} from './setting.js';

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
  'APPOINTMENTS_SCOPE',
  'PAYMENTS_BASE_URL',
  'PAYMENTS_API_TOKEN',
  'PAYMENTS_ROTATED_SECRET_FIELD',
] as const;

const settings = z.object({
  NODE_ENV: z.string().optional(),
  PORT: whole(0, 65_535).default(4000),
  HOST: z.string().default('127.0.0.1'),
  PUBLIC_URL: origin.optional(),
  TRUST_PROXY: trustProxy.optional(),
  NOTES_BASE_URL: httpUrl.optional(),
  NOTES_TOKEN_EMAIL_FIELD: z.string().default('email'),
  NOTES_TOKEN_PASSWORD_FIELD: z.string().default('password'),
  NOTES_TOKEN_FIELD: memberPath.optional(),
  NOTES_TOKEN_LIFETIME_SECONDS: whole(1, 31_536_000).default(86_400),
  APPOINTMENTS_BASE_URL: httpUrl.optional(),
  APPOINTMENTS_AUTH_URL: httpUrl.optional(),
  APPOINTMENTS_CLIENT_ID: z.string().optional(),
  APPOINTMENTS_CLIENT_SECRET: z.string().optional(),
  APPOINTMENTS_SCOPE: z.string().default('appointments:write'),
  PAYMENTS_BASE_URL: httpUrl.optional(),
  PAYMENTS_API_TOKEN: sendable.optional(),
  PAYMENTS_ROTATED_SECRET_FIELD: memberPath.optional(),
  PAYMENT_EVENT_TYPES: list
    .refine(({ length }) => length > 0, 'must name at least one type')
    .default(['payment.succeeded']),
  PAYMENTS_CREATED_UNIT: z.enum(['auto', 's', 'ms']).default('auto'),
  SHIPMENT_WEBHOOKS: endpoints.optional(),
  PAYMENT_WEBHOOKS: endpoints.optional(),
  PAYMENT_TIMESTAMP_TOLERANCE_SECONDS: z
    .union(
      [z.literal('off').transform(() => null), whole(1, 31_536_000)],
      'must be off or a whole number of seconds from 1 to 31536000',
    )
    .default(300),
  WEBHOOK_CLOCK_SKEW_SECONDS: whole(0, 86_400).default(300),
  DATABASE_URL: databaseUrl.default('sqlite:./data/gateway.db'),
  SECRET_KEYS: secretKeys.optional(),
  GRANTS: grants.optional(),
  ALLOWED_ORIGINS: list.pipe(z.array(origin)).default([]),
  INTROSPECTION: z.enum(['on', 'off']).default('on'),
  EVENT_RETENTION_DAYS: whole(1, 36_500).default(90),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

type Settings = z.infer<typeof settings>;

/** Where the upstream services are and how to prove who we are. */
export type Upstreams = ReturnType<typeof upstreams>;

/** Everything the operator can set, checked and typed. */
export type Config = ReturnType<typeof toConfig>;

/** The same with the upstream services filled in: those configured, or the sandbox's. */
export type GatewayConfig = Config & { readonly upstreams: Upstreams };

/**
 * Reads the settings from an environment; `read` reads the file that a `NAME_FILE` names. Throws a `ConfigError` with
 * all faults at once. `upstreams` is null if none of them is given and `NODE_ENV` is not `production`.
 */
export function readConfig(environment: Environment, read: (path: string) => string): Config {
  const faults: string[] = [];
  const given = withFiles(withoutEmpty(environment), Object.keys(settings.shape), read, faults);
  const parsed = settings.safeParse(given);
  faults.push(...faultsOf(parsed), ...missing(given));
  if (!parsed.success || faults.length > 0) throw new ConfigError(faults);
  return toConfig(parsed.data);
}

const sandboxSettings = z.object({
  SANDBOX_PORT: whole(0, 65_535).default(4010),
  GATEWAY_URL: httpUrl.default('http://127.0.0.1:4000'),
});

/** Where a standalone sandbox listens and delivers webhooks to; throws a `ConfigError` with all faults at once. */
export function readSandboxConfig(environment: Environment) {
  const parsed = sandboxSettings.safeParse(withoutEmpty(environment));
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
    faults.push(...upstreamNames.filter(isAbsent).map((name) => `${name}: missing${reason}`));
  }
  if (production && isAbsent('SECRET_KEYS')) faults.push('SECRET_KEYS: missing');
  return faults;
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
    secretKeys: given.SECRET_KEYS,
    grants: given.GRANTS,
    allowedOrigins: given.ALLOWED_ORIGINS,
    introspection: given.INTROSPECTION === 'on',
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
