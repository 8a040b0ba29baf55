import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { utimesSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { postGraphql } from './drain/requests.js';
import { createTestFile } from './support/sqlite.js';
import { demo } from './support/testbed.js';

const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
const viewer = '{ viewer { name } }';

test(
  'npm run dev restarts for the schema, keeps sessions, and leaves no process behind',
  { timeout: 300_000 },
  async () => {
    const child = spawn(process.execPath, ['node_modules/tsx/dist/cli.mjs', '.ci/dev.js', '--no-pages'], {
      env: { PATH: process.env['PATH'], PORT: '0', LOG_LEVEL: 'warn', DATABASE_URL: await createTestFile() },
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

    child.kill('SIGTERM');
    await once(child, 'exit');
    for (const url of [gateway, sandbox]) await expect(fetch(url)).rejects.toThrow('fetch failed');
  },
);
