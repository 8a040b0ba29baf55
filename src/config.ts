import { isIP } from 'node:net';
import { z } from 'zod';

/** What is wrong with the settings, a line for each fault; never a secret's value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The settings are not usable:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.faults = faults;
  }
}

/** The environment, as the process got it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What must be known of the three upstream services: all of it, or nothing (then the sandbox stands in). */
const upstreamNames = [
  'NOTES_BASE_URL',
  'APPOINTMENTS_BASE_URL',
  'APPOINTMENTS_AUTH_URL',
  'APPOINTMENTS_CLIENT_ID',
  'APPOINTMENTS_CLIENT_SECRET',
  'SHIPMENT_WEBHOOKS',
  'PAYMENT_WEBHOOKS',
] as const;

/** What more may be told of them; it says nothing of the sandbox. */
const upstreamDetails = [
  'NOTES_TOKEN_EMAIL_FIELD',
  'NOTES_TOKEN_PASSWORD_FIELD',
  'NOTES_TOKEN_FIELD',
  'APPOINTMENTS_SCOPE',
  'PAYMENTS_BASE_URL',
  'PAYMENTS_API_TOKEN',
  'PAYMENTS_ROTATED_SECRET_FIELD',
] as const;

/** The settings that may also be given as the path of a file that holds them. */
const secretNames = [
  'APPOINTMENTS_CLIENT_ID',
  'APPOINTMENTS_CLIENT_SECRET',
  'PAYMENTS_API_TOKEN',
  'SHIPMENT_WEBHOOKS',
  'PAYMENT_WEBHOOKS',
  'DATABASE_URL',
  'SECRET_KEYS',
] as const;

const grantNames = {
  'appointments:read': 'APPOINTMENTS_READ',
  'appointments:write': 'APPOINTMENTS_WRITE',
  'shipments:read': 'SHIPMENTS_READ',
  'payments:read': 'PAYMENTS_READ',
  'webhooks:rotate': 'WEBHOOKS_ROTATE',
} as const;

const httpUrl = z
  .string()
  .refine(
    (text) => /^https?:\/\/[^/?#]+/.test(text) && URL.canParse(text),
    'must be an http or https address',
  )
  .refine((text) => !/[?#]/.test(text), 'must have neither a query nor a fragment')
  .refine((text) => !/^https?:\/\/[^/]*@/.test(text), 'must hold neither a user nor a password')
  .transform((text) => text.replace(/\/+$/, ''));

const origin = httpUrl
  .refine((text) => !URL.canParse(text) || new URL(text).pathname === '/', 'must have no path')
  .transform((text) => new URL(text).origin);

const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be from ${least} to ${most}`);

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

/** `id=secret` pairs, split at the first `=`. */
const endpoints = list.transform((pairs, context): ReadonlyMap<string, string> => {
  const map = new Map<string, string>();
  for (const [place, pair] of pairs.entries()) {
    const at = pair.indexOf('=');
    const [id, secret] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    if (at < 1 || id === '' || secret === '')
      context.addIssue(`pair ${place + 1} is not of the form id=secret`);
    else if (map.has(id)) context.addIssue(`the id ${id} is given twice`);
    else map.set(id, secret);
  }
  if (pairs.length === 0) context.addIssue('must have at least one id=secret pair');
  return map;
});

const databaseUrl = z.string().refine((text) => /^sqlite:.+/.test(text) || /^postgres(ql)?:\/\//.test(text), {
  message: 'must be sqlite:<path> or postgres://…',
});

const secretKeys = list.transform((keys, context): readonly Buffer[] => {
  if (keys.length === 0) context.addIssue('must have at least one key');
  return keys.map((text, place) => {
    const key = Buffer.from(text, 'base64');
    if (key.length !== 32 || !/^[\w+/-]+={0,2}$/.test(text))
      context.addIssue(`key ${place + 1} is not the base64 of 32 bytes`);
    return key;
  });
});

const grantee = /^(\*|\*@[^@]+|[^*@]+@[^@]+)$/;
const grantLists = z.record(
  z.string(),
  z.array(z.enum(Object.keys(grantNames) as [keyof typeof grantNames])),
  'must be a JSON object',
);

const grants = z.string().transform((text, context): Grants => {
  const { data = {}, error } = grantLists.safeParse(parseJson(text));
  for (const { path, message } of error?.issues ?? []) context.addIssue([...path, message].join(': '));
  for (const who of Object.keys(data))
    if (!grantee.test(who)) context.addIssue(`${who} is neither an e-mail address, *@domain nor *`);
  return new Map(
    Object.entries(data).map(([who, names]) => [who.toLowerCase(), names.map((name) => grantNames[name])]),
  );
});

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An address, or one with the length of its network's prefix. */
function isRange(text: string): boolean {
  const [address = '', prefix = '0', ...more] = text.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return more.length === 0 && /^\d+$/.test(prefix) && Number(prefix) <= bits;
}

const trustProxy = list.transform((proxies, context): number | readonly string[] => {
  const [only, ...more] = proxies;
  if (only !== undefined && more.length === 0 && /^\d+$/.test(only)) return Number(only);
  for (const proxy of proxies) {
    const known = ['loopback', 'linklocal', 'uniquelocal'].includes(proxy);
    if (!known && !isRange(proxy))
      context.addIssue(
        `${proxy} is neither an address, a range, loopback, linklocal, uniquelocal nor a count`,
      );
  }
  return proxies;
});

const settings = z.object({
  NODE_ENV: z.string().optional(),
  PORT: whole(0, 65_535).default(4000),
  HOST: z.string().default('127.0.0.1'),
  PUBLIC_URL: origin.optional(),
  TRUST_PROXY: trustProxy.optional(),
  NOTES_BASE_URL: httpUrl.optional(),
  NOTES_TOKEN_EMAIL_FIELD: z.string().default('email'),
  NOTES_TOKEN_PASSWORD_FIELD: z.string().default('password'),
  NOTES_TOKEN_FIELD: z.string().optional(),
  NOTES_TOKEN_LIFETIME_SECONDS: whole(1, 31_536_000).default(86_400),
  APPOINTMENTS_BASE_URL: httpUrl.optional(),
  APPOINTMENTS_AUTH_URL: httpUrl.optional(),
  APPOINTMENTS_CLIENT_ID: z.string().optional(),
  APPOINTMENTS_CLIENT_SECRET: z.string().optional(),
  APPOINTMENTS_SCOPE: z.string().default('appointments:write'),
  PAYMENTS_BASE_URL: httpUrl.optional(),
  PAYMENTS_API_TOKEN: z.string().optional(),
  PAYMENTS_ROTATED_SECRET_FIELD: z.string().optional(),
  PAYMENT_EVENT_TYPES: list.default(['payment.succeeded']),
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

/** E-mail address, `*@domain` or `*`, lower-cased → grants. */
export type Grants = ReadonlyMap<string, readonly (typeof grantNames)[keyof typeof grantNames][]>;

/** Where the upstream services are and how to prove who we are. */
export type Upstreams = ReturnType<typeof upstreams>;

/** Everything the operator can set, checked and typed. */
export type Config = ReturnType<typeof arrange>;

/** The same with the upstream services known: given, or the sandbox's. */
export type GatewayConfig = Config & { readonly upstreams: Upstreams };

/**
 * The settings out of an environment; `read` reads the file that a `NAME_FILE` names. Throws a `ConfigError` with all
 * faults at once. `upstreams` is null where none of them is given and `NODE_ENV` is not `production`.
 */
export function readConfig(environment: Environment, read: (path: string) => string): Config {
  const faults: string[] = [];
  const given = withFiles(environment, read, faults);
  const parsed = settings.safeParse(given);
  if (!parsed.success)
    faults.push(...parsed.error.issues.map(({ path, message }) => `${path[0] as string}: ${message}`));
  faults.push(...missing(given));
  if (!parsed.success || faults.length > 0) throw new ConfigError(faults);
  return arrange(parsed.data);
}

/** Empty settings count as absent; a `NAME_FILE` gives the file's text without its last line break. */
function withFiles(environment: Environment, read: (path: string) => string, faults: string[]): Environment {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value));
  for (const name of secretNames) {
    const path = given[`${name}_FILE`];
    if (path === undefined) continue;
    if (given[name] !== undefined) faults.push(`${name}: give it or ${name}_FILE, not both`);
    try {
      const text = read(path).replace(/\r?\n$/, '');
      if (text === '') faults.push(`${name}_FILE: the file is empty`);
      else given[name] = text;
    } catch {
      faults.push(`${name}_FILE: the file cannot be read`);
    }
  }
  return given;
}

/** What a file was named for is not missing: that the file is of no use is a fault of its own. */
function missing(given: Environment): string[] {
  const production = given['NODE_ENV'] === 'production';
  const isAbsent = (name: string) => given[name] === undefined && given[`${name}_FILE`] === undefined;
  const absent = upstreamNames.filter(isAbsent);
  const none = absent.length === upstreamNames.length && upstreamDetails.every(isAbsent);
  const faults = none && !production ? [] : absent.map((name) => `${name}: missing`);
  if (production && isAbsent('SECRET_KEYS')) faults.push('SECRET_KEYS: missing');
  return faults;
}

function arrange(given: Settings) {
  return Object.freeze({
    port: given.PORT,
    host: given.HOST,
    publicUrl: given.PUBLIC_URL,
    trustProxy: given.TRUST_PROXY,
    upstreams: given.NOTES_BASE_URL === undefined ? null : upstreams(given),
    paymentEventTypes: given.PAYMENT_EVENT_TYPES,
    paymentsCreatedUnit: given.PAYMENTS_CREATED_UNIT,
    /** Seconds; null where a payment's age is not checked. */
    paymentTolerance: given.PAYMENT_TIMESTAMP_TOLERANCE_SECONDS,
    clockSkew: given.WEBHOOK_CLOCK_SKEW_SECONDS,
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
      /** Absent where secrets cannot be rotated from here. */
      baseUrl: given.PAYMENTS_BASE_URL,
      apiToken: given.PAYMENTS_API_TOKEN,
      rotatedSecretField: given.PAYMENTS_ROTATED_SECRET_FIELD,
    },
    webhooks: { shipments: given.SHIPMENT_WEBHOOKS!, payments: given.PAYMENT_WEBHOOKS! },
  });
}
