import { expect, onTestFinished, test } from 'vitest';
import { SpareThread, Thread } from '../../../src/lib/async/thread.js';

const program = new URL('./thread-program.ts', import.meta.url);
const idOf = (answer: unknown) => (answer as { readonly threadId: number }).threadId;

function start(idleMs?: number) {
  const thread = new SpareThread(program, 'test', idleMs);
  onTestFinished(() => thread.stop());
  return thread;
}

test('a thread does what it is asked in order, and tells what failed', async () => {
  const thread = new Thread(program, 'test');
  onTestFinished(() => thread.stop());
  const order: number[] = [];
  const asked = [30, 0, 10].map(async (wait, at) => {
    await thread.ask({ wait });
    order.push(at);
  });
  await expect(thread.ask({ fail: 'It failed.' })).rejects.toThrow('It failed.');
  await Promise.all(asked);
  expect(order).toEqual([0, 1, 2]);
  expect(thread.hasEnded).toBe(false);
});

test('a request that cannot be passed to a thread is refused, and no other gets its answer', async () => {
  const thread = new Thread(program, 'test');
  onTestFinished(() => thread.stop());
  const [refused, answered] = [thread.ask(() => 'not cloned'), thread.ask({ wait: 1 })];
  await expect(refused).rejects.toThrow('could not be cloned');
  expect(await answered).toMatchObject({ request: { wait: 1 } });
});

test('a spare thread that is stopped while it works rejects that, and is not begun again', async () => {
  const thread = start();
  const working = thread.ask({ wait: 60_000 });
  const [rejected] = await Promise.allSettled([working, thread.stop()]);
  expect(rejected.status).toBe('rejected');
  await expect(thread.ask({})).rejects.toThrow('The thread is stopped.');
});

test('a spare thread goes on after a failure, and another begins once it has ended', async () => {
  const thread = start();
  const first = idOf(await thread.ask({}));
  await expect(thread.ask({ fail: 'It failed.' })).rejects.toThrow('It failed.');
  expect(idOf(await thread.ask({}))).toBe(first);
  const lost = [thread.ask({ end: 3 }), thread.ask({})];
  for (const { status } of await Promise.allSettled(lost)) expect(status).toBe('rejected');
  const second = idOf(await thread.ask({}));
  expect(second).not.toBe(first);
});

test('a spare thread ends once it has been idle, not while it works', async () => {
  const thread = start(1);
  const first = thread.ask({ wait: 50 });
  const same = thread.ask({});
  expect(idOf(await first)).toBe(idOf(await same));
  const later = async () => idOf(await thread.ask({}));
  await expect.poll(later, { interval: 20 }).not.toBe(idOf(await same));
});

test('a spare thread that has begun after a failure works on, however long ago that was', async () => {
  const thread = start(50);
  await Promise.allSettled([thread.ask({ end: 3 }), thread.ask({}), thread.ask({})]);
  await expect(thread.ask({ wait: 200 })).resolves.toMatchObject({ request: { wait: 200 } });
});
