import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestbed, type Testbed } from '../../support/testbed.js';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await startTestbed({ settings: { INTROSPECTION: 'off' } });
});
afterAll(() => testbed.stop());

test('/client.tgz has an ETag, and is for who is signed in without introspection', async () => {
  const url = `${testbed.url}/client.tgz`;
  const refused = await fetch(url);
  expect([refused.status, await refused.text()]).toEqual([
    404,
    expect.stringMatching(/for signed-in callers only.*UNAUTHENTICATED/),
  ]);
  const headers = { authorization: `Bearer ${await testbed.signIn()}` };
  const response = await fetch(url, { headers });
  expect(response.status).toBe(200);
  expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(10_000);
  const etag = response.headers.get('etag')!;
  const again = await fetch(url, { headers: { ...headers, 'if-none-match': etag } });
  expect([again.status, await again.text()]).toEqual([304, '']);
});
