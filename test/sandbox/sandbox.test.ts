import { expect, onTestFinished, test, vi } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.js';
import { ask, askNotes, signIn } from './requests.js';
import { startReceiver } from './receiver.js';

async function start(options?: SandboxOptions) {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

test('has a demo user with 45 notes, five of them pinned', async () => {
  const sandbox = await start();
  const token = await signIn(sandbox);
  expect(sandbox.notes.noteCount('demo@example.com')).toBe(45);
  const pinned = await askNotes(sandbox, '/notes?pinned=true', { token });
  expect(pinned.body.data).toHaveLength(5);
});

test('records calls in order, without credentials', async () => {
  const sandbox = await start();
  const token = await signIn(sandbox);
  await askNotes(sandbox, '/notes?limit=2', { token });
  await ask(`${sandbox.url}/control/clock`);
  expect(sandbox.calls).toEqual([
    { service: 'notes', method: 'POST', path: '/auth/token', at: expect.any(Number) },
    { service: 'notes', method: 'GET', path: '/notes?limit=2', at: expect.any(Number) },
  ]);
  expect(JSON.stringify(sandbox.calls)).not.toContain(token);
});

test('the control API advances the clock', async () => {
  const sandbox = await start();
  const before = sandbox.clock.now();
  const moved = await ask(`${sandbox.url}/control/clock`, { json: { advanceSeconds: 3600 } });
  expect(moved.status).toBe(200);
  expect(sandbox.clock.now() - before).toBeGreaterThanOrEqual(3_600_000);
  expect(Date.parse((await ask(`${sandbox.url}/control/clock`)).body.now ?? '')).toBeGreaterThan(before);
  // At a time that no date has, nothing more would work.
  for (const advanceSeconds of [-1, 1e15])
    expect((await ask(`${sandbox.url}/control/clock`, { json: { advanceSeconds } })).status).toBe(400);
});

test('answers unknown paths with 404, unknown methods with 405', async () => {
  const sandbox = await start();
  expect((await ask(`${sandbox.url}/elsewhere`)).status).toBe(404);
  expect((await askNotes(sandbox, '/elsewhere')).status).toBe(404);
  expect((await askNotes(sandbox, '/me', { method: 'DELETE' })).status).toBe(405);
});

test('refuses a body of megabytes, whatever it is for', async () => {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.stop());
  for (const path of ['/notes/v1/notes', '/nowhere', '/control/events']) {
    const { status } = await fetch(sandbox.url + path, { method: 'POST', body: 'x'.repeat(3_000_000) });
    expect(status).toBe(413);
  }
});

test('traffic starts with shipments and payments as soon as the receiver listens', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.stop());
  await start({ traffic: true, deliverTo: receiver.url });
  await vi.waitFor(() => {
    const events = receiver.arrivals.map(({ body }) => JSON.parse(body));
    const shipments = new Set(events.map(({ data }) => data.shipment?.id).filter(Boolean));
    expect(shipments.size).toBeGreaterThanOrEqual(12);
    expect(events.filter(({ type }) => type === 'payment.succeeded').length).toBeGreaterThanOrEqual(8);
  }, 30_000);
});

test('stop closes connections that wait for an answer', async () => {
  const sandbox = await startSandbox();
  sandbox.faults.add({ service: 'notes', act: { kind: 'hang' } });
  const waiting = fetch(`${sandbox.url}/notes/v1/me`).catch(() => 'ended');
  await expect.poll(() => sandbox.calls).toHaveLength(1);
  await sandbox.stop();
  expect(await waiting).toBe('ended');
});
