import { z } from 'zod';
import { natsServers } from './nats-servers.js';
import {
  databaseUrl,
  endpoints,
  eventTypes,
  grants,
  host,
  hostNames,
  httpUrl,
  manifestPath,
  memberPath,
  metricsPort,
  namedPort,
  oneOf,
  origin,
  origins,
  postgresUrl,
  secondsOrOff,
  secretKeys,
  sendable,
  trustProxy,
  whole,
} from './setting-formats.js';

/** What the documentation says of a setting. */
export interface SettingDoc {
  /** What it means: one sentence or two, without the default. */
  readonly about: string;
  /** What holds without it, in words, where that is not a value of its own. */
  readonly otherwise?: string;
  /** A value that shows its form. */
  readonly example?: string;
  /** Whether `NODE_ENV=production` requires it. */
  readonly required?: true;
}

/** A setting's description goes with the schema that reads it (`describeSettings`). */
function described<T extends z.ZodType>(schema: T, about: string, more: Omit<SettingDoc, 'about'> = {}): T {
  return schema.meta({ about, ...more });
}

const sandbox = 'the sandbox';

/** The settings by name: how each is read, in the order in which the documentation lists them. */
export const settings = z.object({
  NODE_ENV: described(
    z
      .string()
      .refine((mode) => !/["']/.test(mode), 'has quotes, which are part of it: write production')
      .optional(),
    '`production` makes the settings of the services required, so that no sandbox is ever started.',
    { otherwise: 'none', example: 'production' },
  ),
  PORT: described(whole(0, 65_535).default(4000), 'The port to listen on; `0` takes a free one.'),
  HOST: described(
    host.default('127.0.0.1'),
    'The address to listen on; `0.0.0.0` or `::` for every address of the machine.',
  ),
  PUBLIC_URL: described(
    origin.optional(),
    'The address of the gateway in browsers, if it is not `http://localhost:PORT` or `http://HOST:PORT`: behind a proxy, or from another machine.',
    { otherwise: 'none', example: 'https://api.example.com' },
  ),
  TRUST_PROXY: described(
    trustProxy.optional(),
    'The proxies whose `X-Forwarded-…` headers are trusted: addresses, ranges, `loopback`, `linklocal`, `uniquelocal`, or the number of proxies, if nobody else can reach the port.',
    { otherwise: 'none', example: '10.0.0.0/8' },
  ),
  NOTES_BASE_URL: described(httpUrl.optional(), 'The address of the notes API, with `/v1`.', {
    otherwise: sandbox,
    example: 'https://notes.example.com/v1',
    required: true,
  }),
  NOTES_TOKEN_EMAIL_FIELD: described(
    z.string().default('email'),
    'The field for the e-mail address in the request `POST /auth/token`.',
  ),
  NOTES_TOKEN_PASSWORD_FIELD: described(
    z.string().default('password'),
    'The field for the password in the request `POST /auth/token`.',
  ),
  NOTES_TOKEN_FIELD: described(
    memberPath.optional(),
    'The field of the response to `POST /auth/token` that holds the token, or its path, such as `user.token`.',
    {
      otherwise: 'the first of `access_token`, `accessToken`, `token`',
      example: 'access_token',
    },
  ),
  NOTES_TOKEN_LIFETIME_SECONDS: described(
    whole(1, 31_536_000).default(86_400),
    'How long a token is valid if the response has no `expires_in`.',
  ),
  APPOINTMENTS_BASE_URL: described(httpUrl.optional(), 'The address of the appointment API, with `/v1`.', {
    otherwise: sandbox,
    example: 'https://appointments.example.com/v1',
    required: true,
  }),
  APPOINTMENTS_AUTH_URL: described(
    httpUrl.optional(),
    'The address of the token issuer of the appointment API, to which the gateway adds `/oauth/token`.',
    {
      otherwise: sandbox,
      example: 'https://issuer.example.com',
      required: true,
    },
  ),
  APPOINTMENTS_CLIENT_ID: described(z.string().optional(), "The gateway's client id at the issuer.", {
    otherwise: sandbox,
    example: 'gateway',
    required: true,
  }),
  APPOINTMENTS_CLIENT_SECRET: described(z.string().optional(), "The client's secret at the issuer.", {
    otherwise: sandbox,
    example: 'replace-me',
    required: true,
  }),
  APPOINTMENTS_SCOPE: described(z.string().default('appointments:write'), 'The scope to ask the issuer for.'),
  PAYMENTS_BASE_URL: described(
    httpUrl.optional(),
    'The address of the payment service, for `POST /webhooks/{id}/rotate-secret`.',
    {
      otherwise: 'with the sandbox, its own; otherwise none: secrets are not rotated through the gateway',
      example: 'https://payments.example.com/v1',
    },
  ),
  PAYMENTS_API_TOKEN: described(sendable.optional(), 'A bearer token for the payment service.', {
    otherwise: 'none',
    example: 'replace-me',
  }),
  PAYMENTS_ROTATED_SECRET_FIELD: described(
    memberPath.optional(),
    'The field that holds the new secret in the response to `POST /webhooks/{id}/rotate-secret`, or its path.',
    {
      otherwise: 'the first of `secret`, `signing_secret`, `new_secret`',
      example: 'secret',
    },
  ),
  PAYMENT_EVENT_TYPES: described(
    eventTypes.default(['payment.succeeded']),
    'The types of payment events whose `data.object` is a payment, comma-separated.',
  ),
  PAYMENTS_CREATED_UNIT: described(
    oneOf('auto', 's', 'ms').default('auto'),
    'The unit of `created` in payment events: `auto`, `s` or `ms`.',
  ),
  SHIPMENT_WEBHOOKS: described(
    endpoints.optional(),
    '`id=secret` pairs of the shipment subscriptions, comma-separated, split at the first `=`.',
    { otherwise: sandbox, example: 'sub_1=replace-me', required: true },
  ),
  PAYMENT_WEBHOOKS: described(
    endpoints.optional(),
    '`id=secret` pairs of the payment endpoints, in the same way. After a change, the old secret stays valid for 24 hours.',
    { otherwise: sandbox, example: 'we_1=replace-me', required: true },
  ),
  PAYMENT_TIMESTAMP_TOLERANCE_SECONDS: described(
    secondsOrOff(1, 31_536_000).default(300),
    "How old a payment's signature may be, or `off`. For shipments it is always 300.",
  ),
  WEBHOOK_CLOCK_SKEW_SECONDS: described(
    whole(0, 86_400).default(300),
    'How far the time of a signature may be ahead of the clock.',
  ),
  DATABASE_URL: described(
    databaseUrl.default('sqlite:./data/gateway.db'),
    '`sqlite:<path>` for the embedded database, or `postgres://…` for one that several replicas share. It may name several hosts, comma-separated: the one that accepts writes is used (docs/failover.md).',
    { example: 'postgres://gateway:replace-me@db.example.com:5432/gateway' },
  ),
  DATABASE_LISTEN_URL: described(
    postgresUrl.optional(),
    'The address of Postgres itself, to listen for notifications, if `DATABASE_URL` is a pool in transaction mode such as PgBouncer.',
    { otherwise: '`DATABASE_URL`', example: 'postgres://gateway:replace-me@db.example.com:5432/gateway' },
  ),
  NATS_URL: described(
    natsServers.optional(),
    'The servers of a NATS JetStream cluster that carries stored events to many replicas (docs/many-replicas.md): `nats://` or `tls://`, comma-separated.',
    {
      otherwise: 'none: each replica reads events from Postgres',
      example: 'nats://gateway:replace-me@nats.example.com:4222',
    },
  ),
  SECRET_KEYS: described(
    secretKeys.optional(),
    'Keys of 32 bytes in base64, comma-separated. The first encrypts, all decrypt. `trivium keys` prints one.',
    {
      otherwise: 'made at the first start, next to the embedded database',
      example: 'replace-me',
      required: true,
    },
  ),
  GRANTS: described(
    grants.optional(),
    'JSON that gives an e-mail address, `*@domain` or `*` a list of grants. A `GRANTS_FILE` is read again when it changes.',
    {
      otherwise: 'with the sandbox, the demo user has all; otherwise nobody has any',
      example: '{"*@example.com":["shipments:read","payments:read"]}',
    },
  ),
  ALLOWED_ORIGINS: described(
    origins.default([]),
    'The origins whose pages may call the gateway, comma-separated; `loopback` is any page of this machine.',
    {
      otherwise: "the gateway's own origin; with the sandbox, `loopback` too",
      example: 'https://app.example.com',
    },
  ),
  ALLOWED_HOSTS: described(
    hostNames.optional(),
    'The names allowed in the header `Host`, without ports, comma-separated. Other names are refused with 421, but not on `/livez` and `/readyz`. IP addresses are always allowed.',
    {
      otherwise: 'any; with the sandbox, `localhost` and the name in `PUBLIC_URL`, unless `SANDBOX` is `on`',
      example: 'api.example.com',
    },
  ),
  INTROSPECTION: described(
    oneOf('on', 'off').default('on'),
    '`off`: `__schema` and `__type` are refused; `/schema.graphql`, `/client.tgz`, `_service` and suggestions in messages are for signed-in callers only.',
  ),
  EVENT_RETENTION_DAYS: described(
    whole(1, 36_500).default(90),
    'How many days events can be read and replayed. Their ids, and the state of shipments and payments, are kept for ever.',
  ),
  LOG_LEVEL: described(
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent').default('info'),
    'The lowest level that is logged: `fatal`, `error`, `warn`, `info`, `debug` (with a line for each operation) or `trace`; `silent` logs nothing.',
  ),
  TRUSTED_DOCUMENTS: described(
    manifestPath.optional(),
    'The path of a manifest of trusted documents (docs/trusted-documents.md). It is read again when it changes.',
    { otherwise: 'none: any document runs', example: './persisted-documents.json' },
  ),
  TRUSTED_DOCUMENTS_MODE: described(
    oneOf('log', 'prefer', 'only').default('only'),
    'What happens to documents that are not in the manifest: `only` refuses them, `log` runs them and logs each once, `prefer` runs them.',
  ),
  METRICS_PORT: described(
    metricsPort.optional(),
    'A port of its own for `/metrics`, on `HOST`. `PORT` then no longer serves it.',
    { otherwise: 'none', example: '9464' },
  ),
  SANDBOX: described(
    z.enum(['on'], 'must be on; leave the setting out otherwise').optional(),
    '`on` lets the sandbox start when `HOST` is not a loopback address. Anybody who reaches it can then sign in.',
    { otherwise: 'none', example: 'on' },
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: described(
    httpUrl.optional(),
    "The OTLP/HTTP collector to send traces to. The other `OTEL_…` settings are OpenTelemetry's own.",
    { otherwise: 'none', example: 'http://127.0.0.1:4318' },
  ),
});

/** The settings' values, typed. */
export type Settings = z.infer<typeof settings>;

/** Those that may be given as a file: OpenTelemetry reads its own by itself, from the environment alone. */
export const fileSettings = Object.keys(settings.shape).filter((name) => !name.startsWith('OTEL_'));

/** The settings of a standalone sandbox (`trivium sandbox`). */
export const sandboxSettings = z.object({
  SANDBOX_PORT: namedPort.optional().transform((port = 4010) => port),
  GATEWAY_URL: httpUrl.default('http://127.0.0.1:4000'),
});

/** A setting, as the documentation shows it. */
export interface DescribedSetting extends SettingDoc {
  readonly name: string;
  /** The value that holds without it, as one would write it; undefined if none does. */
  readonly usual: string | undefined;
}

/** What a setting is where it is not set. */
type Usual = string | number | boolean | readonly string[];

/** All settings in the order of the documentation, made from the schemas that read them. */
export function describeSettings(): readonly DescribedSetting[] {
  return Object.entries(settings.shape).map(([name, schema]) => {
    const data = schema.safeParse(undefined).data as Usual | undefined;
    const usual = typeof data === 'object' ? data.join(',') : data === undefined ? '' : String(data);
    return { name, usual: usual === '' ? undefined : usual, ...(schema.meta() as unknown as SettingDoc) };
  });
}
