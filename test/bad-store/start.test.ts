import { randomBytes } from 'node:crypto';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { noPostgres } from '../support/engines.js';
import { createTestFile } from '../support/sqlite.js';
import { createTestDatabase, execute } from '../support/postgres.js';
import { spawnGateway, startGatewayProcess, type ProcessOptions } from '../support/process.js';
import { canMount, fill, mountDisk, unmount } from './disk.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.stop());

const settingsFor = (url: string) => ({
  ...sandbox.settings,
  DATABASE_URL: url,
  SECRET_KEYS: randomBytes(32).toString('base64'),
});

/** The output of a gateway that does not start; expects exit code 1 and no stack. */
async function refusal(url: string, options: ProcessOptions = {}): Promise<string> {
  const gateway = spawnGateway(settingsFor(url), options);
  onTestFinished(async () => void (await gateway.end('SIGKILL')));
  expect(await gateway.ended).toBe(1);
  const output = gateway.output();
  expect(output).not.toMatch(/\n +at /);
  return output;
}

const pathOf = (url: string) => url.slice('sqlite:'.length);

describe('a gateway refuses to start, and says why in one sentence,', () => {
  test('on a file that is not a database, which stays as it is', async () => {
    const url = await createTestFile();
    const path = pathOf(url);
    const minutes = 'These are minutes of a meeting. '.repeat(500);
    await writeFile(path, minutes);
    expect(await refusal(url)).toBe(`Cannot open the database ${path}: the file is not a SQLite database.`);
    expect(await readFile(path, 'utf8')).toBe(minutes);
  });

  test('on a damaged file', async () => {
    const url = await createTestFile();
    await (await startGatewayProcess(settingsFor(url))).end();
    const bytes = await readFile(pathOf(url));
    await writeFile(pathOf(url), bytes.fill(0xff, 100));
    expect(await refusal(url)).toBe(`Cannot open the database ${pathOf(url)}: the file is damaged.`);
  });

  test('without the key of its webhook secrets', async () => {
    const url = await createTestFile();
    await (await startGatewayProcess(settingsFor(url))).end();
    expect(await refusal(url)).toBe(
      'The stored secret of the webhook endpoint shipments/sub_demo was sealed with a key that is not in ' +
        'SECRET_KEYS: add that key after the others. If none was set before, it is in the key file beside the ' +
        'database.',
    );
  });

  test('on a file that it cannot write', async () => {
    const url = await createTestFile();
    const path = pathOf(url);
    await (await startGatewayProcess(settingsFor(url))).end();
    await chmod(path, 0o444);
    expect(await refusal(url, { obedient: true })).toBe(
      `Cannot open the database ${path}: the file cannot be written.`,
    );
  });

  test.runIf(canMount)('on a full disk', async () => {
    const folder = mountDisk(2);
    onTestFinished(() => unmount(folder));
    const path = join(folder, 'gateway.db');
    const output = `Cannot open the database ${path}: its disk is full.`;
    const filler = join(folder, 'other');
    fill(filler);
    expect(await refusal(`sqlite:${path}`)).toBe(output);
    await rm(filler);
    await (await startGatewayProcess(settingsFor(`sqlite:${path}`))).end();
    fill(filler);
    expect(await refusal(`sqlite:${path}`)).toBe(output);
  });

  test('on a file that another gateway is using, which keeps running', async () => {
    const url = await createTestFile();
    const first = await startGatewayProcess(settingsFor(url));
    onTestFinished(async () => void (await first.end('SIGKILL')));
    expect(await refusal(url)).toBe(`Cannot open the database ${pathOf(url)}: another process is using it.`);
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
  });

  test('on a Postgres of an unsupported version', async () => {
    const port = await startOldPostgres();
    expect(await refusal(`postgres://user:hidden@127.0.0.1:${port}/old`)).toBe(
      `Cannot open the database old at 127.0.0.1:${port}: it is PostgreSQL 12, but 13 or later is required.`,
    );
  });

  test('if nothing listens at the address, without showing the password', async () => {
    const output = await refusal('postgres://user:hidden@127.0.0.1:1/gone');
    expect(output).toMatch(/^Cannot open the database gone at 127\.0\.0\.1:1: .*ECONNREFUSED/);
    expect(output).not.toContain('hidden');
  });

  test.skipIf(noPostgres)('on a Postgres that refuses the password, without showing it', async () => {
    const url = new URL(await createTestDatabase());
    url.password = 'not-the-password';
    const output = await refusal(url.href);
    expect(output).toMatch(/^Cannot open the database test_\w+ at 127\.0\.0\.1:\d+: password .*failed/);
    expect(output).not.toContain('not-the-password');
  });

  test.skipIf(noPostgres)('on a Postgres that accepts no writes', async () => {
    const url = await createTestDatabase();
    const name = new URL(url).pathname.slice(1);
    await execute(url, `alter database ${name} set default_transaction_read_only = on`);
    expect(await refusal(url)).toMatch(/^Cannot open the database test_\w+ at .*read-only transaction/);
  });
});

/** Starts a fake Postgres 12 that can only be asked what a start asks first, and returns its port. */
async function startOldPostgres(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(Buffer.concat([message('R', int(0)), idle]));
      socket.on('data', (query) => socket.write(answerTo(query.toString())));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

const int = (value: number) => Buffer.from(new Int32Array([value]).buffer).swap32();
const short = (value: number) => Buffer.from(new Int16Array([value]).buffer).swap16();
const text = (value: string) => Buffer.from(`${value}\0`);
const message = (type: string, ...parts: readonly Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int(body.length + 4), body]);
};
const idle = message('Z', Buffer.from('I'));

/** A row's columns: name, type and value. */
type Column = readonly [name: string, type: number, value: string];
const types = { bool: 16, bigint: 20, text: 25 };

/** The answers to statements that have these texts; all others are answered as a `set` is. */
const answers: Readonly<Record<string, readonly Column[]>> = {
  server_version_num: [
    ['version', types.text, '120000'],
    ['encoding', types.text, 'UTF8'],
  ],
  '"isStandby"': [
    ['isStandby', types.bool, 'f'],
    ['started', types.text, 'long ago'],
  ],
  'as timeline': [['timeline', types.bigint, '1']],
};

function answerTo(query: string): Buffer {
  const [, columns] = Object.entries(answers).find(([part]) => query.includes(part)) ?? [];
  if (!columns) return Buffer.concat([message('C', text('SET')), idle]);
  const described = columns.flatMap(([name, type]) => [
    text(name),
    int(0),
    short(0),
    int(type),
    short(-1),
    int(-1),
    short(0),
  ]);
  const values = columns.flatMap(([, , value]) => [int(value.length), Buffer.from(value)]);
  return Buffer.concat([
    message('T', short(columns.length), ...described),
    message('D', short(columns.length), ...values),
    message('C', text('SELECT 1')),
    idle,
  ]);
}
