import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { createTestFile } from '../support/engines.js';
import { createSender, settingsFor, start, stored } from './sending.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.stop());

/** Has Node.js do this to the thread that was started last, the one that writes, when the process gets SIGUSR2. */
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

describe('a gateway whose writing thread ends', () => {
  test.each([
    ['by itself', 'last.terminate()', /can no longer be written by this process/],
    [
      'for want of memory',
      `last.postMessage({ sql: '${tooMuch}', parameters: [] })`,
      /terminate called|out of memory|can no longer be written/,
    ],
  ])(
    '%s ends too, with a word and a code that say so',
    async (_, act, word) => {
      const database = await createTestFile();
      const settings = settingsFor(sandbox, database);
      const gateway = await start(settings, { options: onSignal(act) });
      const sender = createSender(gateway);
      await sender.expectTaken();
      gateway.child.kill('SIGUSR2');
      // Until it has ended, what it cannot store it does not take.
      await Promise.all(Array.from({ length: 20 }, () => sender.send().catch(() => undefined)));
      expect([1, 'SIGABRT']).toContain(await gateway.ended);
      expect(gateway.output()).toMatch(word);
      expect((await stored(database)).toSorted()).toEqual(sender.acknowledged.toSorted());
      const next = createSender(await start(settings), sender.acknowledged);
      await next.expectTaken();
      expect((await stored(database)).toSorted()).toEqual(sender.acknowledged.toSorted());
    },
    120_000,
  );
});
