import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { refusesConnections } from '../drain/refuses-connections.js';
import { postGraphql } from '../drain/requests.js';
import { createTestFile } from '../support/sqlite.js';
import { demo } from '../support/testbed.js';
import { createSender, settingsFor, start, stored } from './sending.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.stop());

/** Node.js options: at SIGUSR2 the process runs `act`, in which `last` is the thread started last, the writer. */
const onSignal = (act: string) => {
  const source = `
    import threads from 'node:worker_threads';
    import { syncBuiltinESMExports } from 'node:module';
    let last;
    threads.Worker = class extends threads.Worker {
      constructor(source, options) {
        super(source, { ...options, resourceLimits: { maxOldGenerationSizeMb: 96 } });
        last = this;
      }
    };
    syncBuiltinESMExports();
    process.on('SIGUSR2', () => ${act});`;
  return ['--import', `data:text/javascript,${encodeURIComponent(source)}`];
};

const tooMuch =
  'with recursive n (x) as (select 1 union all select x + 1 from n limit 100000000) select x from n';

describe('a gateway whose writer thread ends', () => {
  test.each([
    ['terminated', 'last.terminate()', /process can no longer write to the database/],
    [
      'out of memory',
      `last.postMessage({ sql: '${tooMuch}', parameters: [] })`,
      /terminate called|out of memory|can no longer write/,
    ],
  ])('exits with an error code and a message that says so (%s)', { retry: 0 }, async (_, act, message) => {
    const database = await createTestFile();
    const settings = settingsFor(sandbox, database);
    const gateway = await start(settings, { options: onSignal(act) });
    const sender = createSender(gateway);
    await sender.expectTaken();
    gateway.child.kill('SIGUSR2');
    // Until it has exited, it acknowledges nothing that it cannot store.
    await Promise.all(Array.from({ length: 20 }, () => sender.send().catch(() => undefined)));
    expect([1, 'SIGABRT']).toContain(await gateway.ended);
    expect(gateway.output()).toMatch(message);
    expect((await stored(database)).toSorted()).toEqual(sender.acknowledged.toSorted());
    const next = createSender(await start(settings), sender.acknowledged);
    await next.expectTaken();
    expect((await stored(database)).toSorted()).toEqual(sender.acknowledged.toSorted());
  });

  test.each<[string, NodeJS.Signals, NodeJS.Signals]>([
    ['SIGTERM after the thread has ended', 'SIGUSR2', 'SIGTERM'],
    ['SIGTERM before the thread has ended', 'SIGTERM', 'SIGUSR2'],
  ])('finishes the requests in progress, and exits with code 1 (%s)', async (_, first, second) => {
    const settings = settingsFor(sandbox, await createTestFile());
    const { url, child, ended } = await start(settings, { options: onSignal('last.terminate()') });
    const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
    const { data } = await postGraphql(url, signIn, { input: demo });
    onTestFinished(() => sandbox.faults.clear());
    sandbox.faults.add({ service: 'notes', path: /^\/notes/, act: { kind: 'delay', ms: 3_000 } });
    const asked = postGraphql(url, '{ notes { nodes { id } } }', {}, { token: data.signIn.sessionToken });
    await expect.poll(() => sandbox.calls.at(-1)?.path).toMatch(/^\/notes/);
    child.kill(first);
    await refusesConnections(url);
    child.kill(second);
    expect((await asked).data.notes.nodes.length).toBeGreaterThan(0);
    expect(await ended).toBe(1);
  });
});
