import { execFile, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.js';
import { createSender, settingsFor, start, stored } from '../bad-store/sending.js';
import { emptyEngines } from '../support/engines.js';
import { createMigratedFile, createTestFile } from '../support/sqlite.js';
import { trivium } from './trivium.js';

test('keys prints a value for SECRET_KEYS, alone, and --version the version', async () => {
  const { code, out, told } = await trivium(['keys']);
  expect([code, told]).toEqual([0, '']);
  expect(out).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect((await trivium(['--version'])).out).toBe(`${version}\n`);
});

test.for([
  [['check', '--prob'], "Unknown option '--prob'"],
  [['check', 'now'], 'trivium check does not take now'],
  [['keys', '--probe'], 'trivium keys does not take --probe'],
  [['backup', 'a.db', 'b.db'], 'trivium backup does not take b.db'],
  [['restore', 'a.db', 'b.db'], 'trivium restore does not take b.db'],
  [['begin'], 'Unknown command begin'],
] as const)('%j is refused', async ([args, fault]) => {
  const { code, out, told } = await trivium(args);
  expect([code, out, told]).toEqual([1, '', `${fault}: see trivium --help.\n`]);
});

test('--help after a command prints the commands, and does nothing else', async () => {
  const usage = (await trivium(['--help'])).out;
  expect(usage).toMatch(/^Usage: trivium/);
  for (const command of ['start', 'backup']) {
    const { code, out, cwd } = await trivium([command, '--help']);
    expect([code, out, readdirSync(cwd)]).toEqual([0, usage, []]);
  }
});

test('the program can be executed by its path, as the image does', async () => {
  const { stdout } = await promisify(execFile)(resolve('dist/main.js'), ['--version']);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.runIf(existsSync('/dev/full'))(
  'a command whose output is lost fails, unless its reader has seen enough',
  async () => {
    const codeOf = (redirection: string) =>
      spawnSync('bash', ['-c', `"$0" dist/main.js keys ${redirection}`, process.execPath]).status;
    expect([codeOf('>/dev/full'), codeOf('> >(true)'), codeOf('>/dev/null')]).toEqual([1, 0, 0]);
  },
);

test('a reader of standard error that has gone ends nothing', async () => {
  const source = "process.stdin.once('end', () => process.stderr.write('lost')).resume();";
  const options = ['--import', `data:text/javascript,${encodeURIComponent(source)}`];
  const child = spawn(process.execPath, [...options, resolve('dist/main.js'), '--version']);
  await once(child.stdout, 'data');
  child.stderr.destroy();
  child.stdin.end();
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('an old Node.js is told which is needed', async () => {
  const source =
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.4' } })";
  const options = ['--import', `data:text/javascript,${encodeURIComponent(source)}`];
  const { code, told } = await trivium(['--version'], {}, options);
  expect(code).toBe(1);
  expect(told).toBe('Trivium needs Node.js ^20.19 || ^22.13 || >=24; this is 18.20.4.\n');
});

test('check names what is wrong, missing or unknown, and exits with 1 for a fault only', async () => {
  const wrong = await trivium(['check'], { NOTES_BASE_ULR: 'https://notes.example/v1', PORT: 'x' });
  expect([wrong.code, wrong.out]).toEqual([1, '']);
  expect(wrong.told).toBe(
    'Warning: NOTES_BASE_ULR is not a setting, and has no effect: is NOTES_BASE_URL meant?\n' +
      'Invalid settings:\n  PORT: must be a whole number\n',
  );
  const right = await trivium(['check'], { DATABASE_URL: 'sqlite:vat/gateway.db' });
  expect([right.code, right.told]).toEqual([0, '']);
  expect(right.out).toContain('Warning: DATABASE_URL: the folder vat does not exist and will be made');
  expect(right.out).toContain('The settings are right.');
  expect(existsSync(join(right.cwd, 'vat'))).toBe(false);
});

test('check misses the key of a database that has one, and makes none', async () => {
  const database = await createMigratedFile();
  const file = database.slice('sqlite:'.length);
  rmSync(`${file}.key`);
  const missing = await trivium(['check'], { DATABASE_URL: database });
  expect([missing.code, missing.told]).toEqual([
    1,
    expect.stringMatching(`^There is no key for the database ${file}: set SECRET_KEYS as before,`),
  ]);
  expect(existsSync(`${file}.key`)).toBe(false);
  writeFileSync(`${file}.key`, 'short');
  const unusable = await trivium(['check'], { DATABASE_URL: database });
  expect([unusable.code, unusable.told]).toEqual([
    1,
    `The key file ${file}.key does not hold 32 bytes in base64.\n`,
  ]);
  const SECRET_KEYS = (await trivium(['keys'])).out;
  expect((await trivium(['check'], { DATABASE_URL: database, SECRET_KEYS })).code).toBe(0);
});

test('check reads the port of the sandbox that stands in', async () => {
  const { code, told } = await trivium(['check'], { SANDBOX_PORT: 'x' });
  expect([code, told]).toEqual([1, 'Invalid settings:\n  SANDBOX_PORT: must be a whole number\n']);
});

test('sandbox prints all that a gateway needs, and says which port is in use', async () => {
  const cwd = mkdtempSync(join(inject('testDirectory'), 'command-'));
  const child = spawn(process.execPath, [resolve('dist/main.js'), 'sandbox'], {
    cwd,
    env: { PATH: process.env['PATH'], SANDBOX_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  let out = '';
  for await (const part of child.stdout.setEncoding('utf8')) {
    out += part;
    if (out.includes('ALLOWED_ORIGINS')) break;
  }
  const lines = [...out.matchAll(/^export (\w+)='(.*)'$/gm)];
  const given = Object.fromEntries(lines.map(([, name, value]) => [name, value]));
  const { code, out: said } = await trivium(['check', '--probe'], given);
  expect([code, said]).toEqual([0, expect.not.stringContaining('the sandbox stands in')]);
  expect(given).toMatchObject({ ALLOWED_HOSTS: 'localhost', ALLOWED_ORIGINS: 'loopback' });

  const [, port] = /:(\d+)/.exec(out)!;
  const { told } = await trivium(['sandbox'], { SANDBOX_PORT: port! });
  expect(told).toMatch(/^Invalid settings:\n {2}SANDBOX_PORT: listen EADDRINUSE: [^\n]*\n$/);
});

test('check --probe reaches what is set, and names what it cannot reach', async () => {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.stop());
  const settings = settingsFor(sandbox, await createTestFile());
  // As the gateway, it goes past the proxy that Node.js may be told of.
  const unused = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1' };
  const reached = await trivium(['check', '--probe'], { ...settings, ...unused });
  expect([reached.code, reached.told]).toEqual([0, '']);
  expect(reached.out.match(/^reached {2}\w+$/gm)).toHaveLength(5);

  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  const password = 'p%40ss-w0rd';
  const failed = await trivium(['check', '--probe'], {
    ...settings,
    NOTES_BASE_URL: `http://127.0.0.1:${port}/v1`,
    DATABASE_URL: `postgres://gateway:${password}@127.0.0.1:${port}/gateway`,
    NATS_URL: `nats://gateway:${password}@127.0.0.1:${port}`,
  });
  expect(failed.code).toBe(1);
  expect(failed.out).toMatch(/^FAILED {3}NATS_URL: .*refused/im);
  expect(failed.out).toMatch(/^FAILED {3}NOTES_BASE_URL: .*ECONNREFUSED/m);
  expect(failed.out).toMatch(/^FAILED {3}DATABASE_URL: Cannot open the database gateway at 127\.0\.0\.1/m);
  expect(failed.told).toBe('3 of 6 could not be reached.\n');
  for (const secret of [password, decodeURIComponent(password)]) expect(failed.out).not.toContain(secret);
});

test('check --probe names an embedded database that a start could not make', async () => {
  const file = join(mkdtempSync(join(inject('testDirectory'), 'probe-')), 'file');
  writeFileSync(file, '');
  const { code, out } = await trivium(['check', '--probe'], { DATABASE_URL: `sqlite:${file}/x/gateway.db` });
  expect([code, out]).toEqual([
    1,
    expect.stringContaining(
      `FAILED   DATABASE_URL: Cannot write the database ${file}/x/gateway.db: ${file} is not a directory.`,
    ),
  ]);
});

test('check --probe names an address of Postgres that leaves the name of the database open', async () => {
  const { code, out } = await trivium(['check', '--probe'], { DATABASE_URL: 'postgres://127.0.0.1' });
  expect(code).toBe(1);
  expect(out).toContain(
    'FAILED   DATABASE_URL: The address of the database cannot be used: names neither a database nor a user.',
  );
});

test.each(emptyEngines)(
  'check --probe on %s names a webhook secret that SECRET_KEYS do not open',
  async (engine, freshUrl) => {
    const sandbox = await startSandbox();
    onTestFinished(() => sandbox.stop());
    const settings = settingsFor(sandbox, await freshUrl());
    const probe = async (SECRET_KEYS: string, more = {}) =>
      (await trivium(['check', '--probe'], { ...settings, SECRET_KEYS, ...more })).out;
    const SECRET_KEYS = (await trivium(['keys'])).out.trim();
    expect(await probe(SECRET_KEYS)).toContain('The settings are right.');
    await (await start(settings)).end();
    const fault =
      /^FAILED {3}DATABASE_URL: The stored secret of the webhook endpoint (\S+) was sealed with a key/m;
    expect(fault.exec(await probe(SECRET_KEYS))?.[1]).toBe('shipments/sub_demo');
    const other = engine === 'postgres' ? '' : SECRET_KEYS; // with none, a start makes one
    expect(fault.exec(await probe(other, { SHIPMENT_WEBHOOKS: 'sub_2=new' }))?.[1]).toBe('payments/pe_1');
    const both = await probe(`${SECRET_KEYS},${settings.SECRET_KEYS}`);
    expect(both).toContain('The settings are right.');
    expect(await probe(SECRET_KEYS, { SHIPMENT_WEBHOOKS: 'sub_2=new', PAYMENT_WEBHOOKS: 'pe_2=new' })).toBe(
      both,
    );
  },
);

test(
  'a backup made under load has every event acknowledged before, and opens with its key',
  { retry: 0 },
  async () => {
    const database = await createTestFile();
    const sandbox = await startSandbox();
    onTestFinished(() => sandbox.stop());
    const settings = { ...settingsFor(sandbox, database), SECRET_KEYS: '' }; // the key beside the database
    const gateway = await start(settings);
    const { acknowledged, send } = createSender(gateway);
    let loading = true;
    const load = (async () => {
      while (loading) await Promise.all(Array.from({ length: 8 }, () => send()));
    })();
    await expect.poll(() => acknowledged.length).toBeGreaterThan(50);
    const before = [...acknowledged];

    const file = join(mkdtempSync(join(inject('testDirectory'), 'backup-')), 'copy.db');
    const { code, out } = await trivium(['backup', file], { DATABASE_URL: database });
    loading = false;
    await load;
    expect([code, out]).toEqual([
      0,
      expect.stringContaining(`SECRET_KEYS or, if you set none, ${file}.key.`),
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(`${file}.key`, 'utf8')).toBe(readFileSync(`${database.slice(7)}.key`, 'utf8'));
    expect(await gateway.end()).toBe(0);

    const restored = await start({ ...settings, DATABASE_URL: `sqlite:${file}` });
    expect(await restored.end()).toBe(0);
    const ids = await stored(`sqlite:${file}`);
    for (const id of before) expect(ids).toContain(id);

    const again = await trivium(['backup', file], { DATABASE_URL: database });
    expect(again.told).toBe(`${file} exists: choose another name for the backup.\n`);
  },
);

test('of backups to one file at the same time, one is whole, and the others fail', async () => {
  const database = await createMigratedFile();
  const folder = mkdtempSync(join(inject('testDirectory'), 'backup-'));
  const file = join(folder, 'copy.db');
  const run = () => trivium(['backup', file], { DATABASE_URL: database });
  const codes = (await Promise.all(Array.from({ length: 4 }, run))).map(({ code }) => code);
  expect(codes.filter((code) => code === 0)).toHaveLength(1);
  expect(readdirSync(folder).toSorted()).toEqual(['copy.db', 'copy.db.key']);
  expect(await stored(`sqlite:${file}`)).toEqual([]);
});

test('backup of a database without a key file names none', async () => {
  const database = await createMigratedFile();
  rmSync(`${database.slice('sqlite:'.length)}.key`);
  const { code, out, cwd } = await trivium(['backup', 'copy.db'], { DATABASE_URL: database });
  expect([code, readdirSync(cwd)]).toEqual([0, ['copy.db']]);
  expect(out).toMatch(/ to copy\.db\. To use it, you need its key: SECRET_KEYS as they are now\.\n$/);
});

test('backup writes no copy beside the write-ahead log that is left of another database', async () => {
  const database = await createMigratedFile();
  const file = join(mkdtempSync(join(inject('testDirectory'), 'backup-')), 'copy.db');
  writeFileSync(`${file}-wal`, '');
  const { told } = await trivium(['backup', file], { DATABASE_URL: database });
  expect(told).toBe(`${file}-wal exists: choose another name for the backup.\n`);
  expect(existsSync(file)).toBe(false);
});

test('backup says what it cannot copy', async () => {
  const { told } = await trivium(['backup', 'x.db'], { DATABASE_URL: 'postgres://u:secret@db/gateway' });
  expect(told).toBe('DATABASE_URL names a Postgres database: back it up with pg_dump or its own means.\n');
  const none = await trivium(['backup', 'x.db'], { DATABASE_URL: 'sqlite:none.db' });
  expect([none.code, none.told]).toEqual([1, 'There is no database none.db.\n']);
  const loop = join(mkdtempSync(join(inject('testDirectory'), 'backup-')), 'loop');
  symlinkSync(loop, loop); // nobody can look into it, not even root
  const hidden = await trivium(['backup', 'x.db'], { DATABASE_URL: `sqlite:${loop}/gateway.db` });
  expect([hidden.code, hidden.told]).toEqual([
    1,
    expect.stringMatching(/^Cannot read the database \S+gateway\.db: ELOOP: /),
  ]);
});

test.each(['', '\ufeff'])('.env is read, and the environment comes first (mark: "%s")', async (mark) => {
  const folder = mkdtempSync(join(inject('testDirectory'), 'env-'));
  writeFileSync(join(folder, '.env'), `${mark}PORT=x\nLOG_LEVEL=warn\n`);
  const source = `process.chdir(${JSON.stringify(folder)})`;
  const options = ['--import', `data:text/javascript,${encodeURIComponent(source)}`];
  expect((await trivium(['check'], {}, options)).told).toBe(
    'Invalid settings:\n  PORT: must be a whole number\n',
  );
  expect((await trivium(['check'], { PORT: '0' }, options)).code).toBe(0);
});

test('a .env that cannot be read is told in a sentence', async () => {
  const folder = mkdtempSync(join(inject('testDirectory'), 'env-'));
  mkdirSync(join(folder, '.env'));
  const source = `process.chdir(${JSON.stringify(folder)})`;
  const options = ['--import', `data:text/javascript,${encodeURIComponent(source)}`];
  const { code, told } = await trivium(['check'], {}, options);
  expect([code, told]).toEqual([1, expect.stringMatching(/^The file \.env cannot be read: EISDIR: .*\.\n$/)]);
});
