import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.js';
import { warningsOf } from '../../src/config/warnings.js';
import { upstreams } from './upstreams.js';

test.each([
  ['NOTES_BASE_ULR', 'NOTES_BASE_URL'],
  ['NOTES_URL', 'NOTES_BASE_URL'],
  ['DATABASE_URLS', 'DATABASE_URL'],
  ['DATABASE_URL_FIEL', 'DATABASE_URL_FILE'],
  ['database_url', 'DATABASE_URL'],
  ['GRANTS_PATH', 'GRANTS'],
  ['SECRET_KEY', 'SECRET_KEYS'],
  ['PROT', 'PORT'],
  ['HOSTS', 'HOST'],
  ['PAYMENTS_WEBHOOKS', 'PAYMENT_WEBHOOKS'],
  ['EVENT_RETENTION', 'EVENT_RETENTION_DAYS'],
  ['PAYMENT_TOLERANCE', 'PAYMENT_TIMESTAMP_TOLERANCE_SECONDS'],
  ['PAYMENTS_TOLERANCE_SECONDS', 'PAYMENT_TIMESTAMP_TOLERANCE_SECONDS'],
  ['PAYMENT_API_KEY', 'PAYMENTS_API_TOKEN'],
  ['NOTES_API_TOKEN', 'NOTES_TOKEN_FIELD'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT_FILE', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
  ['GATEWAY_URL_FILE', 'GATEWAY_URL'],
  ['TRUSTED_PROXIES', 'TRUST_PROXY'],
  ['APPOINTMENTS_ISSUER_URL', 'APPOINTMENTS_AUTH_URL'],
  ['APPOINTMENTS_TOKEN_URL', 'APPOINTMENTS_AUTH_URL'],
  ['EVENT_TYPES', 'PAYMENT_EVENT_TYPES'],
  ['RETENTION_DAYS', 'EVENT_RETENTION_DAYS'],
  ['CORS_ORIGINS', 'ALLOWED_ORIGINS'],
  ['DB_URL', 'DATABASE_URL'],
  ['TRUSTED_DOCUMENTS_PATH', 'TRUSTED_DOCUMENTS'],
  ['TRUSTED_DOCUMENTS_MODUS', 'TRUSTED_DOCUMENTS'],
  ['SANDBOX_ENABLED', 'SANDBOX'],
  ['APPOINTMENT_URL', 'APPOINTMENTS_BASE_URL'],
  ['NOTE_URL', 'NOTES_BASE_URL'],
  ['SHIPMENTS_SECRET', 'SHIPMENT_WEBHOOKS'],
  ['WEBHOOKS_CLOCK_SKEW', 'WEBHOOK_CLOCK_SKEW_SECONDS'],
])('%s is not a setting: %s is meant', (given, meant) => {
  expect(warningsOf({ [given]: 'value-that-is-not-shown' })).toEqual([
    `${given} is not a setting, and has no effect: is ${meant} meant?`,
  ]);
});

test.each([
  'HOSTNAME',
  'POST',
  'PATH',
  'HOME',
  'NODE_OPTIONS',
  'LANG',
  'NOTES_SERVICE_HOST',
  'NOTES_PORT_80_TCP',
  'NAT_GATEWAY_IP',
  'SECRETS_DIR',
  'EVENTS_QUEUE',
])('%s, a name that other programs use, gives no warning', (name) =>
  expect(warningsOf({ [name]: 'x' })).toEqual([]),
);

test('every setting is known, also from a file, and so are the settings of the sandbox', () => {
  const names = ['PORT', 'PORT_FILE', 'SECRET_KEYS_FILE', 'SANDBOX_PORT', 'GATEWAY_URL', 'METRICS_PORT'];
  expect(warningsOf(Object.fromEntries(names.map((name) => [name, '1'])))).toEqual([]);
});

test('a file below the root of the machine, where a folder here may be meant, gives a warning', () => {
  for (const path of ['./data/gateway.db', '/data/gateway.db', '///data/gateway.db'])
    expect(warningsOf({ DATABASE_URL: `sqlite:${path}` })).toEqual([]);
  expect(warningsOf({ DATABASE_URL: 'sqlite://data/gateway.db' })).toEqual([
    'DATABASE_URL is the file /data/gateway.db: if a folder here is meant, write sqlite:./data/gateway.db',
  ]);
});

test('a base address without /v1 gives a warning', () => {
  const url = 'https://api.example';
  expect(warningsOf({ NOTES_BASE_URL: `${url}/v1/`, APPOINTMENTS_BASE_URL: `${url}/v1` })).toEqual([]);
  expect(warningsOf({ NOTES_BASE_URL: url })).toEqual([
    'NOTES_BASE_URL does not end with /v1, with which the paths of the service begin: add it, unless a proxy does',
  ]);
});

test('an issuer whose address ends with the path of its call gives a warning', () => {
  expect(warningsOf({ APPOINTMENTS_AUTH_URL: 'https://issuer.example' })).toEqual([]);
  expect(warningsOf({ APPOINTMENTS_AUTH_URL: 'https://issuer.example/oauth/token' })).toEqual([
    'APPOINTMENTS_AUTH_URL ends with /oauth/token, which the gateway adds: leave it out',
  ]);
});

test('a public address whose name is not allowed as a host gives a warning', () => {
  const warned = (PUBLIC_URL: string, ALLOWED_HOSTS: string) => warningsOf({ PUBLIC_URL, ALLOWED_HOSTS });
  expect(warned('https://API.example:8443', 'localhost, Api.Example')).toEqual([]);
  expect(warned('https://10.0.0.1', 'localhost')).toEqual([]);
  expect(warned('http://[::1]:4000', 'localhost')).toEqual([]);
  expect(warned('not an address', 'localhost')).toEqual([]);
  expect(warned('https://api.example', 'https://api.example')).toEqual([]);
  expect(warningsOf({ PUBLIC_URL: 'https://api.example' })).toEqual([]);
  expect(warned('https://api.example', 'www.api.example')).toEqual([
    'ALLOWED_HOSTS does not have api.example, the name in PUBLIC_URL: add it, unless a proxy sends another Host',
  ]);
});

test('production without grants, and a NODE_ENV that is nearly production, give a warning', () => {
  expect(warningsOf({ NODE_ENV: 'production', GRANTS: '{}' })).toEqual([]);
  expect(warningsOf({ NODE_ENV: 'production' })).toEqual([
    expect.stringMatching(/^GRANTS is not set, so that/),
  ]);
  expect(warningsOf({ NODE_ENV: 'prod' })).toEqual([
    expect.stringMatching(/^NODE_ENV is prod, which is not production: write production/),
  ]);
});

test('an http address of a service beyond this machine gives a warning in production', () => {
  const warned = (given: object) =>
    warningsOf({ NODE_ENV: 'production', GRANTS: '{}', ...given }).filter((line) =>
      line.includes('in clear'),
    );
  for (const name of [
    'NOTES_BASE_URL',
    'APPOINTMENTS_BASE_URL',
    'APPOINTMENTS_AUTH_URL',
    'PAYMENTS_BASE_URL',
  ])
    expect(warned({ [name]: 'http://services.example/v1' })).toEqual([
      `${name} is an http address, so that secrets cross the network in clear: write https, unless a proxy encrypts`,
    ]);
  for (const url of [
    'https://notes.example/v1',
    'http://localhost:8080/v1',
    'http://127.0.0.2/v1',
    'http://[::1]:80/v1',
    'notes.example',
  ])
    expect(warned({ NOTES_BASE_URL: url })).toEqual([]);
  expect(warned({ NODE_ENV: undefined, NOTES_BASE_URL: 'http://notes.example/v1' })).toEqual([]);
  expect(warned({ PUBLIC_URL: 'http://api.example' })).toEqual([]);
});

test('NATS_URL beside an embedded database, which has one replica, gives a warning', () => {
  const NATS_URL = 'nats://gateway:a-secret@nats.example';
  expect(warningsOf({ NATS_URL, DATABASE_URL: 'postgres://db.example/x' })).toEqual([]);
  expect(warningsOf({ NATS_URL, DATABASE_URL_FILE: '/run/secrets/database' })).toEqual([]);
  expect(warningsOf({ NATS_URL })).toEqual([expect.stringMatching(/^NATS_URL has no effect/)]);
  expect(warningsOf({ NATS_URL }).join()).not.toContain('a-secret');
});

test('a value gives its warning from a file, too, which is read once', () => {
  const given = {
    ...upstreams,
    NOTES_BASE_URL: 'https://notes.example',
    APPOINTMENTS_AUTH_URL: 'https://issuer.example/oauth/token',
    PAYMENT_WEBHOOKS: 'a=s1 b=s2',
    NODE_ENV: 'prod',
    PUBLIC_URL: 'https://api.example',
    ALLOWED_HOSTS: 'www.api.example',
    NATS_URL: 'nats://nats.example',
    DATABASE_URL: 'sqlite:./x.db',
  };
  const files = Object.fromEntries(Object.keys(given).map((name) => [`${name}_FILE`, name]));
  const [read, warnings]: [string[], string[]] = [[], []];
  const readFile = (path: string) => {
    read.push(path);
    return given[path as keyof typeof given];
  };
  readConfig(files, readFile, warnings);
  expect(warnings).toEqual(warningsOf(given));
  expect(warnings).toHaveLength(6);
  expect(read.toSorted()).toEqual(Object.keys(given).toSorted());
});

test('pairs that no comma parts are doubtful, and secrets that look like some are told without their text', () => {
  for (const pairs of [
    'a=s1 b=s2',
    'a=s1; b=s2',
    'a=s1;b=s2',
    'a=s1;\nb=s2',
    'x=y,a=s1 b=s2',
    'x=y\na=s1 b=s2',
  ])
    expect(warningsOf({ PAYMENT_WEBHOOKS: pairs })).toEqual([
      'PAYMENT_WEBHOOKS: a secret looks like two pairs: if it is, write a comma between them, as in a=secret,b=secret',
    ]);
  for (const pairs of [
    'a=s1,b=s2',
    'a=s1, b=s2',
    'a=s1\nb=s2',
    'a=with blanks\r\nb=Zm9v==\r\n',
    'a = s1',
    'a=whsec_Zm9v=',
    'a=with blanks',
    'a=Zm9v==,b=YmFy==',
  ])
    expect(warningsOf({ PAYMENT_WEBHOOKS: pairs })).toEqual([]);
});

test('quotes around a value, which not every tool removes, give a warning that does not show it', () => {
  for (const quoted of ["'s3cret'", '"s3cret"', '"a\nb"'])
    expect(warningsOf({ APPOINTMENTS_CLIENT_SECRET: quoted })).toEqual([
      'APPOINTMENTS_CLIENT_SECRET has quotes around its value, which are part of it: leave them out',
    ]);
  for (const value of ["it's", '"', '\'a"', '{"a@b":[]}'])
    expect(warningsOf({ APPOINTMENTS_CLIENT_SECRET: value })).toEqual([]);
});

test('a sampler that OpenTelemetry does not have gives a warning: everything would be traced', () => {
  expect(warningsOf({ OTEL_TRACES_SAMPLER: 'ratio' })).toEqual([
    'OTEL_TRACES_SAMPLER is ratio, which is no sampler, so that all is traced: write parentbased_traceidratio for a fraction',
  ]);
  for (const sampler of ['traceidratio', 'parentbased_traceidratio', 'always_off', 'parentbased_always_on'])
    expect(warningsOf({ OTEL_TRACES_SAMPLER: sampler })).toEqual([]);
});

test('a protocol that is not spoken gives a warning, if it is the one that decides', () => {
  const OTEL_EXPORTER_OTLP_PROTOCOL = 'grpc';
  expect(warningsOf({ OTEL_EXPORTER_OTLP_PROTOCOL })).toEqual([
    'OTEL_EXPORTER_OTLP_PROTOCOL is grpc, which is not spoken here: write http/json or http/protobuf',
  ]);
  const warned = (OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: string) =>
    warningsOf({ OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL });
  expect(warned('HTTP/JSON')).toEqual([expect.stringContaining('TRACES_PROTOCOL is HTTP/JSON, which')]);
  for (const protocol of ['http/json', 'http/protobuf']) expect(warned(protocol)).toEqual([]);
});

test('a collector for traces that is no URL gives a warning that does not show it', () => {
  for (const url of ['collector:4318', 'https://', '/v1/traces'])
    expect(warningsOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url })).toEqual([
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is no http or https URL, so that no traces arrive there: write it as in http://127.0.0.1:4318/v1/traces',
    ]);
  expect(warningsOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector.example/x?key=1' })).toEqual([]);
});

test('a ratio that is none gives a warning, too', () => {
  const warned = (OTEL_TRACES_SAMPLER: string, OTEL_TRACES_SAMPLER_ARG: string) =>
    warningsOf({ OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG });
  for (const ratio of ['10%', '5', '-1', '0,01'])
    expect(warned('traceidratio', ratio)).toEqual([
      `OTEL_TRACES_SAMPLER_ARG is ${ratio}, which is no number from 0 to 1, so that all is traced: write 0.01 for a hundredth`,
    ]);
  for (const ratio of ['0', '1', '.5', '1e-3']) expect(warned('parentbased_traceidratio', ratio)).toEqual([]);
  expect(warned('always_on', 'x')).toEqual([]);
});

test('what OpenTelemetry knows, and the gateway does not, gives a warning', () => {
  expect(warningsOf({ OTEL_TRACES_EXPORTER: 'otlp, zipkin', OTEL_PROPAGATORS: 'b3,tracecontext' })).toEqual([
    'OTEL_TRACES_EXPORTER has zipkin, which has no effect: traces are only sent by otlp',
    'OTEL_PROPAGATORS is b3,tracecontext, but traces are passed on by tracecontext alone: write tracecontext, or none to pass on none',
  ]);
  expect(warningsOf({ OTEL_TRACES_EXPORTER: 'OTLP', OTEL_PROPAGATORS: 'tracecontext,baggage' })).toEqual([]);
  expect(warningsOf({ OTEL_TRACES_EXPORTER: 'none', OTEL_PROPAGATORS: 'none' })).toEqual([]);
  for (const propagators of ['Baggage', 'b3', 'none,', 'baggage,none', 'tracecontext,none'])
    expect(warningsOf({ OTEL_PROPAGATORS: propagators })).toEqual([
      `OTEL_PROPAGATORS is ${propagators}, but traces are passed on by tracecontext alone: write tracecontext, or none to pass on none`,
    ]);
  expect(warningsOf({ OTEL_PROPAGATORS: 'TraceContext' })).toEqual([]);
});
