import { Client } from 'pg';

/**
 * Suspends every process of the Postgres at this address: it keeps its connections, but does not answer. Returns a
 * function that resumes it.
 */
export async function freezePostgres(url: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  const pids = async (statement: string) =>
    (await client.query<{ pid: number }>(statement)).rows.map(({ pid }) => pid);
  const frozen = await pids("select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid");
  const thaw = () => signal(frozen, 'SIGCONT');
  process.once('exit', thaw);
  signal(frozen, 'SIGSTOP'); // from now on it starts no others
  frozen.push(...(await pids('select pid from pg_stat_activity')));
  signal(frozen, 'SIGSTOP');
  return async () => {
    thaw();
    process.off('exit', thaw);
    await client.end();
  };
}

function signal(pids: readonly number[], name: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // it has ended meanwhile
    }
  }
}
