import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { freePort } from './postgres-server.js';

const program = ['pgbouncer', '/usr/sbin/pgbouncer'].find((path) => !spawnSync(path, ['--version']).error);

/** Whether to skip what needs PgBouncer, which is said by name; on CI it fails instead. */
export const skipPgbouncer = program === undefined && process.env['CI'] !== 'true';
if (skipPgbouncer && process.env['VITEST'] !== undefined) test.skip('through pgbouncer: it is not installed');

/** A PgBouncer in transaction mode, in front of one Postgres. */
export interface PgBouncer {
  readonly url: string;
  /** Has its next connections lead to the Postgres at this port, and closes those that lead elsewhere. */
  lead(port: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a PgBouncer in front of the Postgres at this port, whose password is that of the tests. */
export async function startPgbouncer(serverPort: number): Promise<PgBouncer> {
  const directory = await mkdtemp(join(tmpdir(), 'trivium-pgbouncer-'));
  await chmod(directory, 0o755);
  const port = await freePort();
  const file = join(directory, 'pgbouncer.ini');
  const users = join(directory, 'users.txt');
  await writeFile(users, '"postgres" "password"\n');
  const configure = (to: number) => writeFile(file, configuration(port, to, users));
  await configure(serverPort);
  const asNobody = userInfo().uid === 0 ? { uid: 65_534, gid: 65_534 } : {}; // it refuses to run as root
  const child = spawn(program!, [file], { ...asNobody, stdio: ['ignore', 'ignore', 'pipe'] });
  await new Promise<void>((resolve, reject) => {
    let output = '';
    child.once('error', reject);
    child.once('exit', () => reject(new Error(output)));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = `${output}${text}`.slice(-2_000);
      if (output.includes('process up')) resolve();
    });
  });
  return {
    url: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
    async lead(to) {
      await configure(to);
      child.kill('SIGHUP');
    },
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function configuration(port: number, serverPort: number, users: string): string {
  return `[databases]
postgres = host=127.0.0.1 port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = transaction
default_pool_size = 5
server_login_retry = 1
query_wait_timeout = 5
`;
}
