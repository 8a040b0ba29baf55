import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { examplesIn, type Example } from './pages.js';

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed();
  token = await testbed.signIn();
});
afterAll(() => testbed.stop());

/** All but what Relay compiles first. */
const all = examplesIn('graphql').filter(({ text }) => !text.includes('@connection'));
const isLive = ({ text }: Example) => text.startsWith('subscription');
const titled = (example: Example): [string, Example] => [
  `${example.text.split(/[ ({]/, 2).join(' ')} of ${example.page}`,
  example,
];

test.for(all.filter((example) => !isLive(example)).map(titled))(
  '%s is answered without errors',
  async ([, { text }]) => {
    const { data, errors } = await testbed.ask(text, {}, token);
    expect(errors).toBeUndefined();
    const members = Object.values(data as Record<string, { errors?: unknown } | string>);
    expect(members.length).toBeGreaterThan(0);
    for (const member of members) expect((member as { errors?: unknown }).errors ?? []).toEqual([]);
  },
);

test.for(all.filter(isLive).map(titled))('%s starts from the liveCursor', async ([, { page, text }]) => {
  const source = all.find((example) => example.page === page && example.text.includes('liveCursor'))!;
  const { data } = await testbed.ask(source.text, {}, token);
  await testbed.sandbox.webhooks.emitShipment({ shipment: { id: 'shp_docs' } });
  const client = testbed.socket(token);
  const { value } = await client.iterate({ query: text, variables: { after: data.liveCursor } }).next();
  await client.dispose();
  expect(value).toMatchObject({ data: { shipmentUpdates: { shipment: { stage: 'CREATED' } } } });
});
