import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../src/sandbox/sandbox.js';
import { createSender, settingsFor, start, stored } from './bad-store/sending.js';
import { createTestFile } from './support/engines.js';

test('the base of the ingestion benchmark acknowledges deliveries, and stores none', async () => {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.stop());
  const database = await createTestFile();
  const base = { main: 'dist/main.js', options: ['--import', './test/bench/servers/no-store.js'] };
  const sender = createSender(await start(settingsFor(sandbox, database), base));
  await sender.expectTaken();
  expect(sender.acknowledged).toHaveLength(1);
  expect(await stored(database)).toEqual([]);
});
