import { describe, expect, test } from 'vitest';
import { readConfig, readSandboxConfig, type Config } from '../../src/config/config.js';
import { ConfigError, type Environment } from '../../src/config/environment.js';
import { upstreams } from './upstreams.js';

const key = (byte: number) => Buffer.alloc(32, byte);

function read(environment: Environment, files: Environment = {}): Config {
  return readConfig(environment, (path) => {
    const content = files[path];
    if (content === undefined) throw new Error('ENOENT');
    return content;
  });
}

function faultsOf(environment: Environment, files: Environment = {}): readonly string[] {
  try {
    read(environment, files);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

/** The names that the faults begin with. */
const named = (faults: readonly string[]) => faults.map((fault) => fault.split(':')[0]!);

describe('the defaults', () => {
  test('without any setting: an embedded database, and the sandbox for the upstream services', () => {
    expect(read({})).toEqual({
      port: 4000,
      host: '127.0.0.1',
      publicUrl: undefined,
      trustProxy: undefined,
      upstreams: null,
      paymentEventTypes: ['payment.succeeded'],
      paymentsCreatedUnit: 'auto',
      paymentToleranceSeconds: 300,
      webhookSkewSeconds: 300,
      databaseUrl: 'sqlite:./data/gateway.db',
      databaseListenUrl: undefined,
      secretKeys: undefined,
      grants: undefined,
      metricsPort: undefined,
      sandboxAllowed: true,
      allowedOrigins: [],
      introspection: true,
      retentionDays: 90,
      logLevel: 'info',
    });
  });

  test('with the upstream services set: the fields of their requests and answers', () => {
    expect(read(upstreams).upstreams).toEqual({
      notes: {
        baseUrl: 'https://notes.example/v1',
        emailField: 'email',
        passwordField: 'password',
        tokenField: undefined,
        tokenLifetimeSeconds: 86_400,
      },
      appointments: {
        baseUrl: 'https://appointments.example/v1',
        authUrl: 'https://issuer.example',
        clientId: 'client-id-value',
        clientSecret: 'client-secret-value',
        scope: 'appointments:write',
      },
      payments: { baseUrl: undefined, apiToken: undefined, rotatedSecretField: undefined },
      webhooks: {
        shipments: new Map([['sub_1', 'shipment-secret-value']]),
        payments: new Map([['we_1', 'payment-secret-value']]),
      },
    });
  });

  test('an empty setting counts as absent', () => {
    const names = ['PORT', 'PUBLIC_URL', 'NOTES_BASE_URL', 'SECRET_KEYS', 'GRANTS', 'LOG_LEVEL'];
    for (const empty of ['', ' ', '\n'])
      expect(read(Object.fromEntries(names.map((name) => [name, empty])))).toEqual(read({}));
    const { APPOINTMENTS_CLIENT_SECRET: _, ...others } = upstreams;
    expect(faultsOf({ ...others, APPOINTMENTS_CLIENT_SECRET: ' ' })).toEqual([
      'APPOINTMENTS_CLIENT_SECRET: missing, although NOTES_BASE_URL is set',
    ]);
  });
});

test('reads every setting', () => {
  const config = read({
    ...upstreams,
    NODE_ENV: 'production',
    PORT: '0',
    HOST: '::',
    PUBLIC_URL: 'https://API.example:443/',
    TRUST_PROXY: 'loopback, 10.0.0.0/8,fd00::/8',
    NOTES_TOKEN_EMAIL_FIELD: 'username',
    NOTES_TOKEN_PASSWORD_FIELD: 'secret',
    NOTES_TOKEN_FIELD: 'jwt',
    NOTES_TOKEN_LIFETIME_SECONDS: '60',
    APPOINTMENTS_SCOPE: 'a b',
    PAYMENTS_BASE_URL: 'http://127.0.0.1:9/v2//',
    PAYMENTS_API_TOKEN: 'api-token-value',
    PAYMENTS_ROTATED_SECRET_FIELD: 'fresh',
    PAYMENT_EVENT_TYPES: 'payment.succeeded, payment.failed,',
    PAYMENTS_CREATED_UNIT: 'ms',
    PAYMENT_TIMESTAMP_TOLERANCE_SECONDS: 'off',
    WEBHOOK_CLOCK_SKEW_SECONDS: '0',
    DATABASE_URL: 'postgres://u:p@db/gateway?sslmode=require',
    DATABASE_LISTEN_URL: 'postgres://u:p@a,b/gateway',
    SECRET_KEYS: `${key(1).toString('base64')},${key(250).toString('base64url')}`,
    GRANTS:
      '{"Ann@Example.com":["payments:read","webhooks:rotate"],"*@example.com":[],"*":["shipments:read"]}',
    ALLOWED_ORIGINS: 'https://app.example, http://localhost:5173/, loopback',
    INTROSPECTION: 'off',
    EVENT_RETENTION_DAYS: '1',
    LOG_LEVEL: 'debug',
  });
  expect(config).toMatchObject({
    port: 0,
    host: '::',
    publicUrl: 'https://api.example',
    trustProxy: ['loopback', '10.0.0.0/8', 'fd00::/8'],
    paymentEventTypes: ['payment.succeeded', 'payment.failed'],
    paymentsCreatedUnit: 'ms',
    paymentToleranceSeconds: null,
    webhookSkewSeconds: 0,
    databaseUrl: 'postgres://u:p@db/gateway?sslmode=require',
    databaseListenUrl: 'postgres://u:p@a,b/gateway',
    secretKeys: [key(1), key(250)],
    allowedOrigins: ['https://app.example', 'http://localhost:5173', 'loopback'],
    introspection: false,
    retentionDays: 1,
    logLevel: 'debug',
  });
  expect(config.grants).toEqual(
    new Map([
      ['ann@example.com', ['PAYMENTS_READ', 'WEBHOOKS_ROTATE']],
      ['*@example.com', []],
      ['*', ['SHIPMENTS_READ']],
    ]),
  );
  expect(config.upstreams).toMatchObject({
    notes: { emailField: 'username', passwordField: 'secret', tokenField: 'jwt', tokenLifetimeSeconds: 60 },
    appointments: { scope: 'a b' },
    payments: { baseUrl: 'http://127.0.0.1:9/v2', apiToken: 'api-token-value', rotatedSecretField: 'fresh' },
  });
});

test('accepts a URL scheme in capitals', () => {
  expect(read({ PUBLIC_URL: 'HTTPS://API.example' }).publicUrl).toBe('https://api.example');
});

describe('the sandbox by itself', () => {
  const sandboxFaults = (environment: Environment) => {
    try {
      return readSandboxConfig(environment);
    } catch (error) {
      return (error as ConfigError).faults;
    }
  };

  test('has defaults, also for empty settings', () => {
    const usual = { port: 4010, deliverTo: 'http://127.0.0.1:4000' };
    expect(readSandboxConfig({})).toEqual(usual);
    expect(readSandboxConfig({ SANDBOX_PORT: '', GATEWAY_URL: '' })).toEqual(usual);
  });

  test('names invalid settings', () => {
    expect(sandboxFaults({ SANDBOX_PORT: '0x10', GATEWAY_URL: 'ftp://gateway' })).toEqual([
      'SANDBOX_PORT: must be a whole number',
      'GATEWAY_URL: must be an http or https URL, as in https://api.example.com',
    ]);
  });
});

test('freezes the settings', () => {
  const config = read(upstreams);
  expect(Object.isFrozen(config)).toBe(true);
  expect(Object.isFrozen(config.upstreams)).toBe(true);
});

test('takes a single number in TRUST_PROXY as a number of proxies', () => {
  expect(read({ TRUST_PROXY: '2' }).trustProxy).toBe(2);
});

test('lists may stand an item a line', () => {
  const config = read({
    PAYMENT_EVENT_TYPES: 'payment.succeeded\npayment.failed',
    ALLOWED_HOSTS: 'a.example,\r\nb.example\r\n',
    ALLOWED_ORIGINS: 'https://a.example\nhttps://b.example',
    TRUST_PROXY: 'loopback\n10.0.0.0/8',
    SECRET_KEYS: `${key(1).toString('base64')}\n${key(2).toString('base64')}`,
  });
  expect(config).toMatchObject({
    paymentEventTypes: ['payment.succeeded', 'payment.failed'],
    allowedHosts: ['a.example', 'b.example'],
    allowedOrigins: ['https://a.example', 'https://b.example'],
    trustProxy: ['loopback', '10.0.0.0/8'],
    secretKeys: [key(1), key(2)],
  });
});

test('names of hosts are those that browsers send', () => {
  const names = { ALLOWED_HOSTS: 'Api.Example,bücher.example', PUBLIC_URL: 'https://bücher.example' };
  const warnings: string[] = [];
  expect(readConfig(names, () => '', warnings).allowedHosts).toEqual([
    'api.example',
    'xn--bcher-kva.example',
  ]);
  expect(warnings).toEqual([]);
  expect(faultsOf({ ALLOWED_HOSTS: 'api.example,a!b' })).toEqual([
    'ALLOWED_HOSTS: entry 2 must be a host name or an IP address alone, as in 0.0.0.0, without http:// and without a port',
  ]);
});

test('merges the grants of an address that is given in several spellings', () => {
  const GRANTS = JSON.stringify({
    'Ann@example.com': ['payments:read'],
    'ann@Example.com': ['shipments:read'],
    'ann@example.com': [],
  });
  expect(read({ GRANTS }).grants).toEqual(
    new Map([['ann@example.com', ['PAYMENTS_READ', 'SHIPMENTS_READ']]]),
  );
});

test('the sandbox starts on a loopback address only, unless it may elsewhere', () => {
  const [fault, ...others] = faultsOf({ HOST: '0.0.0.0' });
  expect(others).toEqual([]);
  expect(fault).toMatch(/^SANDBOX: must be on for a sandbox that others can reach \(HOST is 0\.0\.0\.0\)/);
  for (const HOST of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) expect(faultsOf({ HOST })).toEqual([]);
  expect(faultsOf({ HOST: '0.0.0.0', SANDBOX: 'on' })).toEqual([]);
  expect(faultsOf({ HOST: '0.0.0.0', ...upstreams })).toEqual([]);
});

test.each([
  [' 127.0.0.1 ', '127.0.0.1'],
  ['127.1', '127.0.0.1'],
  ['LOCALHOST', 'localhost'],
  ['[::1]', '::1'],
  ['0:0:0:0:0:0:0:1', '0:0:0:0:0:0:0:1'],
  ['::ffff:127.0.0.1', '::ffff:127.0.0.1'],
  ['::1%lo', '::1%lo'],
])('%j is a loopback address, on which the sandbox starts', (HOST, host) => {
  expect(read({ HOST })).toMatchObject({ host, sandboxAllowed: true });
});

test.each([
  ['Gateway_1.example', 'gateway_1.example'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['0', '0.0.0.0'],
  ['[::]', '::'],
  ['fe80::1%eth0', 'fe80::1%eth0'],
])('HOST may be %j, where others reach the sandbox', (HOST, host) => {
  expect(read({ HOST, SANDBOX: 'on' })).toMatchObject({ host });
  expect(named(faultsOf({ HOST }))).toEqual(['SANDBOX']);
});

test('the address that Kubernetes puts into METRICS_PORT counts as none', () => {
  expect(read({ METRICS_PORT: 'tcp://10.0.0.7:9464' }).metricsPort).toBeUndefined();
  expect(read({ METRICS_PORT: '9464' }).metricsPort).toBe(9464);
});

test('the address that Kubernetes puts into SANDBOX_PORT counts as none', () => {
  expect(readSandboxConfig({ SANDBOX_PORT: 'tcp://10.0.0.7:4010' }).port).toBe(4010);
  expect(readSandboxConfig({ SANDBOX_PORT: '4011' }).port).toBe(4011);
});

describe('webhook endpoints', () => {
  test('are split at commas, and each at its first =', () => {
    const config = read({ ...upstreams, PAYMENT_WEBHOOKS: 'we_1=a=b==, we_2 = c/+= ' });
    expect(config.upstreams?.webhooks.payments).toEqual(
      new Map([
        ['we_1', 'a=b=='],
        ['we_2', 'c/+='],
      ]),
    );
  });

  test('may stand a line each, as in a file', () => {
    const files = { '/run/webhooks': 'we_1=a=b==\r\nwe_2=c,\n\nwe_3=d\n' };
    const { PAYMENT_WEBHOOKS: _, ...others } = upstreams;
    const config = read({ ...others, PAYMENT_WEBHOOKS_FILE: '/run/webhooks' }, files);
    expect(config.upstreams?.webhooks.payments).toEqual(
      new Map([
        ['we_1', 'a=b=='],
        ['we_2', 'c'],
        ['we_3', 'd'],
      ]),
    );
  });

  test.each([
    ['we_1', 'pair 1 is not of the form id=secret'],
    ['we_1=a,=hidden', 'pair 2 is not of the form id=secret'],
    ['we_1=', 'pair 1 is not of the form id=secret'],
    ['we_1=a,we_1=b', 'the id we_1 is given twice'],
    ['..=a', 'the id ".." cannot be a part of an address'],
    [
      '/webhooks/payments/we_1=a',
      'the id "/webhooks/payments/we_1" is an address: write the last part of its path alone, as in id=secret',
    ],
    [
      'https://a/we_1=b',
      'the id "https://a/we_1" is an address: write the last part of its path alone, as in id=secret',
    ],
    [',', 'must have at least one id=secret pair'],
  ])('%s is refused', (pairs, fault) => {
    expect(faultsOf({ ...upstreams, PAYMENT_WEBHOOKS: pairs })).toEqual([`PAYMENT_WEBHOOKS: ${fault}`]);
  });
});

describe('the path of a member in an answer', () => {
  test.each(['token', 'user.token', 'a.b.c'])('may be %s', (path) => {
    expect(faultsOf({ ...upstreams, NOTES_TOKEN_FIELD: path })).toEqual([]);
  });

  test.each(['.', 'a..b', '.token', 'user.'])('may not be %s', (path) => {
    for (const name of ['NOTES_TOKEN_FIELD', 'PAYMENTS_ROTATED_SECRET_FIELD'])
      expect(faultsOf({ ...upstreams, [name]: path })).toEqual([
        `${name}: must be the name of a member, or names joined by single dots`,
      ]);
  });
});

describe('all or none', () => {
  const names = Object.keys(upstreams);
  /** Without what says how to write it. */
  const toldMissing = (given: Environment) => faultsOf(given).map((fault) => fault.split(';')[0]);

  test.each(names)('without %s, the rest is a partial set, and the fault names it', (name) => {
    const [first] = names.filter((other) => other !== name);
    expect(toldMissing({ ...upstreams, [name]: undefined })).toEqual([
      `${name}: missing, although ${first} is set`,
    ]);
  });

  test.each(names)('%s alone is a partial set, and the faults name the others', (name) => {
    const others = names.filter((other) => other !== name);
    expect(toldMissing({ [name]: upstreams[name as keyof typeof upstreams] })).toEqual(
      others.map((other) => `${other}: missing, although ${name} is set`),
    );
  });

  test.each([
    { PAYMENTS_BASE_URL: 'https://payments.example' },
    { PAYMENTS_API_TOKEN: 'token' },
    { NOTES_TOKEN_FIELD: 'jwt' },
    { APPOINTMENTS_SCOPE: 'appointments:write' },
  ])('%o alone is a partial set, too', (given) => {
    expect(named(faultsOf(given))).toEqual(names);
  });

  test('in production, all of them and SECRET_KEYS are required', () => {
    expect(toldMissing({ NODE_ENV: 'production' })).toEqual(
      [...names, 'SECRET_KEYS'].map((name) => `${name}: missing`),
    );
    expect(faultsOf({ NODE_ENV: 'production' })).toEqual(
      expect.arrayContaining([
        'NOTES_BASE_URL: missing; write it as in https://notes.example.com/v1',
        'APPOINTMENTS_CLIENT_ID: missing',
        'PAYMENT_WEBHOOKS: missing; write it as in we_1=replace-me',
        'SECRET_KEYS: missing; trivium keys prints a value',
      ]),
    );
    const SECRET_KEYS = key(1).toString('base64');
    expect(faultsOf({ ...upstreams, NODE_ENV: 'production', SECRET_KEYS })).toEqual([]);
  });
});

describe('a setting from a file', () => {
  const secrets = {
    APPOINTMENTS_CLIENT_ID: 'client',
    APPOINTMENTS_CLIENT_SECRET: 'secret',
    PAYMENTS_API_TOKEN: 'token',
    SHIPMENT_WEBHOOKS: 'sub=1',
    PAYMENT_WEBHOOKS: 'we=2',
    DATABASE_URL: 'sqlite:elsewhere.db',
    SECRET_KEYS: key(7).toString('base64'),
  };
  const paths = Object.fromEntries(Object.keys(secrets).map((name) => [`${name}_FILE`, `/run/${name}`]));
  const rest = {
    NOTES_BASE_URL: upstreams.NOTES_BASE_URL,
    APPOINTMENTS_BASE_URL: upstreams.APPOINTMENTS_BASE_URL,
    APPOINTMENTS_AUTH_URL: upstreams.APPOINTMENTS_AUTH_URL,
  };

  test.each(['', '\n', '\r\n', '\n\n', ' \n'])(
    'equals one from the environment, without the blanks and line breaks at its end (%j)',
    (end) => {
      const files = Object.fromEntries(
        Object.entries(secrets).map(([name, value]) => [`/run/${name}`, `${value}${end}`]),
      );
      expect(read({ ...rest, ...paths }, files)).toEqual(read({ ...rest, ...secrets }));
    },
  );

  test('is a fault if it is also in the environment', () => {
    const both = { ...upstreams, APPOINTMENTS_CLIENT_SECRET_FILE: '/run/secret' };
    expect(faultsOf(both, { '/run/secret': 'other' })).toEqual([
      'APPOINTMENTS_CLIENT_SECRET: set either it or APPOINTMENTS_CLIENT_SECRET_FILE, not both',
    ]);
  });

  test('can be any setting, and counts as set', () => {
    const { NOTES_BASE_URL, ...others } = upstreams;
    const environment = { ...others, NODE_ENV: 'production', NOTES_BASE_URL_FILE: '/run/notes' };
    const SECRET_KEYS = key(1).toString('base64');
    const config = read({ ...environment, SECRET_KEYS }, { '/run/notes': NOTES_BASE_URL });
    expect(config.upstreams?.notes.baseUrl).toBe(NOTES_BASE_URL);
    expect(faultsOf({ ...environment, SECRET_KEYS })).toEqual([
      'NOTES_BASE_URL_FILE: the file cannot be read',
    ]);
  });

  test('has the name of the file in front of a fault in its content', () => {
    const files = { GRANTS_FILE: '/run/grants', PORT_FILE: '/run/port' };
    expect(faultsOf(files, { '/run/grants': '{"*@a.b":[],}', '/run/port': 'x' })).toEqual([
      'PORT_FILE: must be a whole number',
      'GRANTS_FILE: must be a JSON object, as in {"*@example.com":["shipments:read"]}',
    ]);
  });

  test('has its own fault if the file cannot be read or is empty', () => {
    const { APPOINTMENTS_CLIENT_SECRET: _, PAYMENT_WEBHOOKS: __, ...others } = upstreams;
    const files = { APPOINTMENTS_CLIENT_SECRET_FILE: '/run/nowhere', PAYMENT_WEBHOOKS_FILE: '/run/empty' };
    expect(faultsOf({ ...others, ...files }, { '/run/empty': '\n' })).toEqual([
      'APPOINTMENTS_CLIENT_SECRET_FILE: the file cannot be read',
      'PAYMENT_WEBHOOKS_FILE: the file is empty',
    ]);
  });
});

describe('faults', () => {
  test.each([
    ['PORT', '65536', 'must be from 0 to 65535'],
    ['PORT', '-1', 'must be a whole number'],
    ['PORT', '0x10', 'must be a whole number'],
    ['HOST', 'http://127.0.0.1', 'must be a host name or an IP address alone'],
    ['HOST', '127.0.0.1:4000', 'must be a host name or an IP address alone'],
    ['HOST', '[::1]:4000', 'must be a host name or an IP address alone'],
    ['HOST', '[127.0.0.1]', 'must be a host name or an IP address alone'],
    ['HOST', '256.0.0.1', 'must be a host name or an IP address alone'],
    ['HOST', '127.0.0.1 ::1', 'must be a host name or an IP address alone'],
    ['HOST', 'a.example,b.example', 'must be a host name or an IP address alone'],
    ['HOST', '*', 'must be a host name or an IP address alone'],
    ['PUBLIC_URL', 'api.example', 'must be an http or https URL'],
    ['PUBLIC_URL', 'ftp://api.example', 'must be an http or https URL'],
    ['PUBLIC_URL', 'https://api.example/graphql', 'must have no path, as in https://'],
    ['NODE_ENV', '"production"', 'has quotes, which are part of it: write production'],
    [
      'TRUST_PROXY',
      'true',
      'true is not an IP address, an address range, loopback, linklocal, uniquelocal or a count: write',
    ],
    ['TRUST_PROXY', '99999999', '99999999 is not an IP address'],
    ['TRUST_PROXY', '10.0.0.0/33', '10.0.0.0/33 is not an IP address'],
    ['TRUST_PROXY', '10.0.0.0/8/8', '10.0.0.0/8/8 is not an IP address'],
    ['PAYMENT_EVENT_TYPES', ',', 'must name at least one type'],
    ['PAYMENT_EVENT_TYPES', 'payment.succeeded payment.failed', 'must have commas between the types'],
    ['PAYMENT_EVENT_TYPES', 'payment.failed,payment.succeeded;a', 'must have commas between the types'],
    ['PAYMENTS_CREATED_UNIT', 'us', 'must be auto, s or ms'],
    ['PAYMENT_EVENT_TYPES', '["payment.succeeded"]', 'must be the types alone, as in payment.succeeded,'],
    ['PAYMENT_EVENT_TYPES', 'payment.*', '* is not accepted: name each type'],
    ['PAYMENT_TIMESTAMP_TOLERANCE_SECONDS', 'never', 'must be off or a whole number of seconds from 1 to'],
    ['PAYMENT_TIMESTAMP_TOLERANCE_SECONDS', '0', 'must be off or a whole number of seconds from 1 to'],
    ['WEBHOOK_CLOCK_SKEW_SECONDS', '1.5', 'must be a whole number'],
    ['DATABASE_URL', 'mysql://db', 'must be sqlite:<path> or postgres://…'],
    ['DATABASE_URL', 'sqlite:', 'must be sqlite:<path> or postgres://…'],
    ['DATABASE_URL', 'sqlite::memory:', 'must be sqlite:<path> or postgres://…'],
    ['DATABASE_URL', 'postgres://u:p@a,b:x/db', 'host 2 is not of the form name or name:port'],
    ['DATABASE_URL', 'postgres://h:99999/db', 'the port of the host must be from 1 to 65535'],
    ['DATABASE_URL', 'postgres://u:p/w@h', 'has an @ after the host: in a user name or password, / ? and #'],
    ['DATABASE_URL', 'postgres://', 'must have the form postgres://user:password@host:port/name'],
    ['DATABASE_LISTEN_URL', 'sqlite:x.db', 'must be postgres://…'],
    ['DATABASE_LISTEN_URL', 'postgres://db/x', 'is only for a DATABASE_URL of the form postgres://…'],
    ['SECRET_KEYS', ',', 'must have at least one key'],
    ['SECRET_KEYS', `${key(1).toString('base64')},c2hvcnQ=`, 'key 2 is not 32 bytes in base64'],
    [
      'SECRET_KEYS',
      `!${key(1).toString('base64')}`,
      'key 1 is not 32 bytes in base64: trivium keys prints one',
    ],
    [
      'SECRET_KEYS',
      `${key(1).toString('base64')} ${key(2).toString('base64')}`,
      'key 1 has blanks in it: write commas',
    ],
    [
      'GRANTS',
      './grants.json',
      'must be a JSON object, as in {"*@example.com":["shipments:read"]}; the path of a file',
    ],
    ['GRANTS', '{"*":', 'must be a JSON object'],
    ['GRANTS', '[]', 'must be a JSON object'],
    ['GRANTS', '{"*":["payments:write"]}', '*: must be a list of these grants: appointments:read, '],
    ['GRANTS', '{"*":"payments:read"}', '*: must be a list of these grants: appointments:read, '],
    ['GRANTS', '{"ann":[]}', 'ann is neither an e-mail address, *@domain nor *'],
    ['GRANTS', '{"*@*":[]}', '*@* is neither an e-mail address, *@domain nor *'],
    ['GRANTS', '{" ann@example.com":[]}', '" ann@example.com" has white space around it'],
    ['GRANTS', '{"*":["payments:read"],"\\u002a" : []}', '* is given twice'],
    ['ALLOWED_ORIGINS', 'https://app.example,*', '* is not accepted: name each origin'],
    ['ALLOWED_ORIGINS', 'https://app.example,app', 'entry 2 must be an http or https URL'],
    ['ALLOWED_ORIGINS', 'https://a.example;https://b.example', 'must have commas between the origins'],
    ['ALLOWED_ORIGINS', 'https://*.example.com', '* is not accepted: name each origin'],
    ['ALLOWED_HOSTS', '*', '* is not accepted: name each host, as in api.example.com, or leave'],
    ['ALLOWED_HOSTS', 'a.example,*.example', '* is not accepted: name each host'],
    ['ALLOWED_HOSTS', '.example.com', 'a dot at the start is not accepted: name each host'],
    ['ALLOWED_HOSTS', 'https://api.example', 'must be names alone, as in api.example.com'],
    ['ALLOWED_HOSTS', 'api.example:8443', 'must be names alone, as in api.example.com'],
    ['ALLOWED_HOSTS', 'a.example b.example', 'must have commas between the names'],
    ['ALLOWED_HOSTS', 'a.example,b.example;c.example', 'must have commas between the names'],
    ['ALLOWED_HOSTS', ',', 'must name at least one host; leave the setting out for any'],
    ['TRUST_PROXY', '*', '* is not accepted: name the addresses of the proxies'],
    ['METRICS_PORT', 'off', 'must be a whole number; for no port of its own, leave it out'],
    ['METRICS_PORT', '70000', 'must be from 0 to 65535'],
    ['INTROSPECTION', 'yes', 'must be on or off'],
    ['SANDBOX', 'off', 'must be on; leave the setting out otherwise'],
    ['EVENT_RETENTION_DAYS', '0', 'must be from 1 to'],
    ['LOG_LEVEL', 'loud', 'must be fatal, error, warn, info, debug, trace or silent'],
  ])('%s=%s: %s', (name, value, message) => {
    const faults = faultsOf({ [name]: value });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(new RegExp(`^${name}: `));
    expect(faults[0]).toContain(message);
  });

  test.each(['NOTES_BASE_URL', 'APPOINTMENTS_BASE_URL', 'APPOINTMENTS_AUTH_URL', 'PAYMENTS_BASE_URL'])(
    '%s must be an HTTP URL without credentials, query or fragment',
    (name) => {
      const fault = (value: string) => faultsOf({ ...upstreams, [name]: value });
      expect(fault('localhost:8080')).toEqual([
        `${name}: must be an http or https URL, as in https://api.example.com`,
      ]);
      expect(fault('https://a/v1?b=c')).toEqual([`${name}: must have no query and no fragment`]);
      expect(fault('https://u:p@a/v1')).toEqual([`${name}: must not contain a user name or password`]);
    },
  );

  test('METRICS_PORT must be another than PORT, unless both are free ones', () => {
    expect(faultsOf({ METRICS_PORT: '4000' })).toEqual(['METRICS_PORT: must be another than PORT']);
    expect(read({ PORT: '0', METRICS_PORT: '0' }).metricsPort).toBe(0);
  });

  test('blanks around an address are no part of it', () => {
    const blank = { ...upstreams, NOTES_BASE_URL: ' https://a/v1/ ', APPOINTMENTS_AUTH_URL: 'https://b\t' };
    const warnings: string[] = [];
    const config = readConfig(blank, () => '', warnings);
    expect([config.upstreams?.notes.baseUrl, config.upstreams?.appointments.authUrl]).toEqual([
      'https://a/v1',
      'https://b',
    ]);
    expect(warnings).toEqual([]);
    expect(read({ DATABASE_URL: ' sqlite:./x.db \t' }).databaseUrl).toBe('sqlite:./x.db');
  });

  test('blanks around a number or a word are no part of it, and a blank inside is a fault', () => {
    const blank = {
      PORT: ' 4001',
      NOTES_TOKEN_LIFETIME_SECONDS: '60\t',
      PAYMENT_TIMESTAMP_TOLERANCE_SECONDS: ' off ',
      WEBHOOK_CLOCK_SKEW_SECONDS: ' 0',
      EVENT_RETENTION_DAYS: ' 30 ',
      METRICS_PORT: '9464\n',
      INTROSPECTION: ' off',
    };
    expect(read({ ...upstreams, ...blank })).toMatchObject({
      port: 4001,
      upstreams: { notes: { tokenLifetimeSeconds: 60 } },
      paymentToleranceSeconds: null,
      webhookSkewSeconds: 0,
      retentionDays: 30,
      metricsPort: 9464,
      introspection: false,
    });
    expect(read({ METRICS_PORT: ' tcp://10.0.0.7:9464' }).metricsPort).toBeUndefined();
    expect(faultsOf({ PORT: '40 00' })).toEqual(['PORT: must be a whole number']);
    expect(named(faultsOf({ NODE_ENV: 'production ' }))).toContain('SECRET_KEYS');
    expect(faultsOf({ HOST: '0.0.0.0', SANDBOX: 'on\n' })).toEqual([]);
  });

  test('blanks and line breaks around a secret, a name or a path are no part of it', () => {
    const given = {
      ...upstreams,
      APPOINTMENTS_CLIENT_SECRET: 'secret\n',
      NOTES_TOKEN_FIELD: ' user.token ',
      PAYMENTS_API_TOKEN: 'token\r\n',
      TRUSTED_DOCUMENTS: './documents.json ',
      ALLOWED_HOSTS_FILE: '/run/hosts ',
    };
    expect(read(given, { '/run/hosts': 'api.example' })).toMatchObject({
      upstreams: {
        appointments: { clientSecret: 'secret' },
        notes: { tokenField: 'user.token' },
        payments: { apiToken: 'token' },
      },
      trustedDocuments: { path: './documents.json' },
      allowedHosts: ['api.example'],
    });
  });

  test.each(['two words', 'line\nbreak', 'tök'])(
    'a token that is invalid in a header is refused: %j',
    (token) => {
      expect(faultsOf({ ...upstreams, PAYMENTS_API_TOKEN: token })).toEqual([
        'PAYMENTS_API_TOKEN: must consist of visible ASCII characters, without spaces',
      ]);
    },
  );

  test('are reported all at once', () => {
    const environment = { PORT: 'x', LOG_LEVEL: 'x', NOTES_BASE_URL: 'x', SECRET_KEYS_FILE: '/run/nowhere' };
    expect(named(faultsOf(environment)).toSorted()).toEqual(
      [
        'PORT',
        'LOG_LEVEL',
        'NOTES_BASE_URL',
        'SECRET_KEYS_FILE',
        ...Object.keys(upstreams).filter((name) => name !== 'NOTES_BASE_URL'),
      ].toSorted(),
    );
  });

  test('never show a secret', () => {
    const canary = 'c4n4ry';
    const broken = {
      APPOINTMENTS_CLIENT_SECRET: canary,
      APPOINTMENTS_CLIENT_SECRET_FILE: '/run/secret',
      PAYMENTS_API_TOKEN: canary,
      SHIPMENT_WEBHOOKS: `${canary},=${canary},sub_1=${canary},sub_1=${canary}`,
      PAYMENT_WEBHOOKS_FILE: '/run/webhooks',
      DATABASE_URL: `mysql://user:${canary}@db/gateway`,
      SECRET_KEYS: `${canary},${canary}`,
      NOTES_BASE_URL: `https://user:${canary}@notes.example/v1`,
      PORT: 'x',
    };
    const faults = faultsOf(broken, { '/run/secret': canary, '/run/webhooks': canary });
    expect(faults.length).toBeGreaterThanOrEqual(9);
    expect(new ConfigError(faults).message).not.toContain(canary);
  });
});
