import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { settings } from '../src/config/settings.js';
import { postGraphql } from './drain/requests.js';
import { freePort } from './support/postgres-server.js';
import { createTestFile } from './support/sqlite.js';
import { demo } from './support/testbed.js';

const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
const viewer = '{ viewer { name } }';

/** The processes that have a text in their environment; none where the system does not show that. */
function processesWith(text: string): readonly string[] {
  const all = existsSync('/proc') ? readdirSync('/proc') : [];
  return all.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(text);
    } catch {
      return false; // no process, or one that has ended meanwhile
    }
  });
}

test(
  'npm run dev restarts for the schema, keeps sessions, and leaves no process behind',
  { timeout: 300_000 },
  async () => {
    const database = await createTestFile();
    const sandboxPort = await freePort();
    const child = spawn(process.execPath, ['node_modules/tsx/dist/cli.mjs', '.ci/dev.js', '--no-pages'], {
      env: {
        PATH: process.env['PATH'],
        // Blank settings count as absent, whatever somebody's `.env` has.
        ...Object.fromEntries(Object.keys(settings.shape).map((name) => [name, ''])),
        PORT: '0',
        LOG_LEVEL: 'warn',
        DATABASE_URL: database,
        SANDBOX_PORT: String(sandboxPort),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    onTestFinished(() => void (child.exitCode ?? child.kill('SIGTERM')));
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();

    /** The addresses of the gateway and the sandbox, once it has started the next time. */
    async function started(): Promise<{ readonly gateway: string; readonly sandbox: string }> {
      const found = new Map<string, string>();
      for (let line = await lines.next(); !line.done; line = await lines.next()) {
        const [, name, url] = /^ +(Explorer|Sandbox) +(http:\/\/[^/ ]+)/.exec(line.value) ?? [];
        if (name && url) found.set(name, url);
        if (line.value === 'Trivium is ready.')
          return { gateway: found.get('Explorer')!, sandbox: found.get('Sandbox')! };
      }
      throw new Error('It ended.');
    }

    const first = await started();
    const { data } = await postGraphql(first.gateway, signIn, { input: demo });
    utimesSync('schema/base.graphql', new Date(), new Date());
    const { gateway, sandbox } = await started();
    const again = await postGraphql(gateway, viewer, {}, { token: data.signIn.sessionToken });
    expect(again.data).toEqual({ viewer: { name: 'Dana Demo' } });

    expect(new URL(sandbox).port).toBe(String(sandboxPort));
    expect(processesWith(database).length > 1 || !existsSync('/proc/self/environ')).toBe(true);
    child.kill('SIGTERM');
    await once(child, 'exit');
    await expect.poll(() => processesWith(database)).toEqual([]);
    for (const url of [gateway, sandbox]) await expect(fetch(url)).rejects.toThrow('fetch failed');
  },
);
