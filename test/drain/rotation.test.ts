import { expect, onTestFinished, test } from 'vitest';
import { codesOf, startTestbed } from '../support/testbed.js';

const rotate = `mutation { rotatePaymentWebhookSecret(input: { endpointId: "pe_demo" }) {
  endpointId errors { code } } }`;

test('takes a secret into use that comes after other calls were given up', async () => {
  const { sandbox, gateway, ask, signIn, stop } = await startTestbed();
  onTestFinished(stop);
  const token = await signIn();
  sandbox.faults.add({ service: 'notes', act: { kind: 'hang' } });
  sandbox.faults.add({ service: 'payments', act: { kind: 'delay', ms: 60_000 } });
  const rotated = ask(rotate, {}, token);
  const given = ask('{ notes { nodes { id } } }', {}, token);
  await expect
    .poll(() => sandbox.calls.map(({ path }) => path))
    .toEqual(expect.arrayContaining([expect.stringMatching(/rotate/), expect.stringMatching(/^\/notes/)]));
  const stopped = gateway.stop();
  expect(codesOf(await given)).toEqual(['UPSTREAM_TIMEOUT']);
  await sandbox.clock.advance(60_000);
  expect((await rotated).data.rotatePaymentWebhookSecret).toEqual({ endpointId: 'pe_demo', errors: [] });
  await stopped;
});
