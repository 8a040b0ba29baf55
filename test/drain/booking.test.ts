import { Agent } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { noPostgres } from '../support/engines.js';
import { scrape } from '../support/metrics.js';
import { createMigratedDatabase } from '../support/postgres.js';
import { startTestbed } from '../support/testbed.js';
import { input } from '../domains/appointments/replica.js';
import { refusesConnections } from './refuses-connections.js';
import { postGraphql } from './requests.js';

const create = `mutation ($input: CreateAppointmentInput!) {
  createAppointment(input: $input) { appointment { confirmation upstreamId } errors { code } }
}`;

function delayBooking(sandbox: Sandbox): void {
  sandbox.faults.add({
    service: 'appointments',
    method: 'POST',
    times: 1,
    act: { kind: 'delay', ms: 1_500 },
  });
}

async function bookingRequested(sandbox: Sandbox): Promise<void> {
  await expect.poll(() => sandbox.calls.at(-1)).toMatchObject({ service: 'appointments', method: 'POST' });
}

function createKeepAliveAgent(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return agent;
}

/** Two replicas, of which the first waits for the service: it answers a minute after it is asked. */
async function startReplicas(service: 'issuer' | 'appointments') {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.stop());
  const settings = {
    DATABASE_URL: await createMigratedDatabase(),
    SECRET_KEYS: Buffer.alloc(32, 7).toString('base64'),
  };
  const one = await startTestbed({ sandbox, settings, upstreamTimeoutMs: 60_000 });
  onTestFinished(one.stop);
  const two = await startTestbed({ sandbox, settings });
  onTestFinished(two.stop);
  sandbox.faults.add({ service, act: { kind: 'delay', ms: 60_000 } });
  const token = await one.signIn();
  return { sandbox, one, two, token };
}

test('answers requests that arrive on idle connections within the grace period', async () => {
  const { sandbox, gateway, url, signIn, stop } = await startTestbed();
  onTestFinished(stop);
  const token = await signIn();
  const [one, two] = [createKeepAliveAgent(), createKeepAliveAgent()];
  const trivial = (agent: Agent) => postGraphql(url, '{ __typename }', {}, { agent });
  await Promise.all([trivial(one), trivial(two)]);
  delayBooking(sandbox);
  const stopped = gateway.stop();
  await refusesConnections(url);
  expect((await trivial(two)).status).toBe(200);
  const { status, data } = await postGraphql(url, create, { input }, { token, agent: one });
  expect([status, data.createAppointment.appointment.confirmation]).toEqual([200, 'CONFIRMED']);
  await stopped;
});

test('answers a booking whose call hangs as unconfirmed, and books nothing twice', async () => {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.stop());
  const first = await startTestbed({ sandbox });
  onTestFinished(first.stop);
  sandbox.faults.add({ service: 'appointments', method: 'POST', times: 1, act: { kind: 'hang' } });
  const token = await first.signIn();
  const asked = postGraphql(first.url, create, { input }, { token });
  await bookingRequested(sandbox);
  await first.gateway.stop();
  const unconfirmed = { confirmation: 'UNCONFIRMED', upstreamId: null };
  expect((await asked).data.createAppointment.appointment).toEqual(unconfirmed);

  const second = await startTestbed({ sandbox, folder: first.folder });
  onTestFinished(second.stop);
  const { data } = await second.ask(create, { input }, token);
  expect(data.createAppointment.appointment).toEqual(unconfirmed);
  expect(
    sandbox.calls.filter(({ service, method }) => service === 'appointments' && method === 'POST'),
  ).toHaveLength(1);
});

test.skipIf(noPostgres)(
  'answers a booking that waits for another replica to get a token, and leaves nothing of it',
  async () => {
    const { sandbox, one, two, token } = await startReplicas('issuer');
    const bookBy = ({ url }: { url: string }, idempotencyKey: string) =>
      postGraphql(url, create, { input: { ...input, idempotencyKey } }, { token });
    const booked = async () =>
      (await one.ask('{ appointments { nodes { id } } }', {}, token)).data.appointments.nodes as unknown[];
    const first = bookBy(one, 'one');
    await expect.poll(() => sandbox.calls.at(-1)).toMatchObject({ service: 'issuer' });
    const second = bookBy(two, 'two');
    await expect.poll(booked).toHaveLength(2);
    await two.gateway.stop();
    expect((await second).errors).toMatchObject([{ extensions: { code: 'UPSTREAM_TIMEOUT' } }]);
    expect(await booked()).toHaveLength(1);
    await sandbox.clock.advance(60_000);
    expect((await first).data.createAppointment.appointment.confirmation).toBe('CONFIRMED');
  },
);

test.skipIf(noPostgres)('answers a booking that waits for another replica to make it', async () => {
  const { sandbox, one, two, token } = await startReplicas('appointments');
  const first = postGraphql(one.url, create, { input }, { token });
  await bookingRequested(sandbox);
  const second = postGraphql(two.url, create, { input }, { token });
  const inProgress = 'trivium_memory_held_bytes{kind="inProgress"}';
  await expect.poll(() => scrape(two.telemetry.metrics, inProgress)).toBeGreaterThan(0);
  await two.gateway.stop();
  expect((await second).errors).toMatchObject([{ extensions: { code: 'UPSTREAM_TIMEOUT' } }]);
  await sandbox.clock.advance(60_000);
  expect((await first).data.createAppointment.appointment.confirmation).toBe('CONFIRMED');
  expect(sandbox.appointments.booked).toHaveLength(1);
});

test('settles a booking whose client has gone before the database is closed', async () => {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.stop());
  const first = await startTestbed({ sandbox });
  onTestFinished(first.stop);
  delayBooking(sandbox);
  const agent = createKeepAliveAgent();
  const token = await first.signIn();
  const gone = postGraphql(first.url, create, { input }, { token, agent }).catch(() => 'gone');
  await bookingRequested(sandbox);
  agent.destroy();
  expect(await gone).toBe('gone');
  await first.gateway.stop();

  const second = await startTestbed({ sandbox, folder: first.folder });
  onTestFinished(second.stop);
  const { data } = await second.ask('{ appointments { nodes { confirmation upstreamId } } }', {}, token);
  const upstreamId = sandbox.appointments.booked.at(-1)!.id;
  expect(data.appointments.nodes).toEqual([{ confirmation: 'CONFIRMED', upstreamId }]);
});
