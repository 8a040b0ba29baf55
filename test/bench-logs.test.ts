import { expect, onTestFinished, test, vi } from 'vitest';
import { startSandbox } from '../src/sandbox/sandbox.js';
import { createSender, settingsFor, start, stored } from './bad-store/sending.js';
import { paymentUpdates, subscribe } from './replicas/subscriber.js';
import { createTestFile } from './support/engines.js';

/** Starts the built gateway with a log of the benchmarks. */
async function startWith(log: string) {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.stop());
  const database = await createTestFile();
  const options = ['--import', `./test/bench/servers/${log}`];
  const settings = { ...settingsFor(sandbox, database), GRANTS: '{"*":["payments:read"]}' };
  const gateway = await start(settings, { options });
  return { database, gateway, sender: createSender(gateway) };
}

async function signIn(url: string): Promise<string> {
  const query =
    'mutation { signIn(input: { email: "demo@example.com", password: "demo-password" }) { sessionToken } }';
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const { data } = (await answer.json()) as { data: { signIn: { sessionToken: string } } };
  return data.signIn.sessionToken;
}

test('the base of the ingestion benchmark acknowledges deliveries, and stores none', async () => {
  const { database, sender } = await startWith('no-store.js');
  await sender.expectTaken();
  expect(sender.acknowledged).toHaveLength(1);
  expect(await stored(database)).toEqual([]);
});

test('the log in memory of the fan-out benchmark passes events on, and stores none', async () => {
  const { database, gateway, sender } = await startWith('in-memory.js');
  const subscriber = await subscribe(gateway.url, await signIn(gateway.url), { query: paymentUpdates });
  for (let times = 0; times < 3; times += 1) await sender.send();
  expect(sender.acknowledged).toHaveLength(3);
  await vi.waitFor(() => expect(subscriber.got).toEqual(sender.acknowledged), { timeout: 20_000 });
  subscriber.close();
  expect(await stored(database)).toEqual([]);
});
