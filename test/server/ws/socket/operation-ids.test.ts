import { expect, test } from 'vitest';
import { Operations } from '../../../../src/server/ws/socket/operation-ids.js';

const message = (type: string) => JSON.stringify({ type, id: '1' });

/** Operations whose `subscribe` messages are handled until the test calls their entry of `ends`. */
function createOperations() {
  const handled: unknown[] = [];
  const ends: (() => void)[] = [];
  const operations = new Operations(
    async (taken) => {
      const { type } = taken as { readonly type: string };
      handled.push(type);
      if (type === 'subscribe') await new Promise<void>((resolve) => void ends.push(resolve));
    },
    {
      init: () => undefined,
      refuse: () => handled.push('refused'),
      reject: (reason) => handled.push(reason),
      fail: (error) => handled.push(error),
    },
  );
  return { handled, ends, take: (type: string) => operations.take(message(type)), operations };
}

test('starts an operation with a reused id once the previous one has ended', async () => {
  const { handled, ends, take } = createOperations();
  for (const type of ['subscribe', 'complete', 'subscribe']) take(type);
  expect(handled).toEqual(['subscribe', 'complete']);
  ends[0]!();
  await expect.poll(() => handled).toEqual(['subscribe', 'complete', 'subscribe']);
});

test('a waiting operation is charged until it has ended itself, or is given up', async () => {
  const { ends, operations } = createOperations();
  const released: string[] = [];
  const take = (type: string, what: string) => operations.take(message(type), () => released.push(what));
  take('subscribe', 'first');
  take('complete', 'its end');
  take('subscribe', 'second');
  ends[0]!();
  await expect.poll(() => ends).toHaveLength(2);
  expect(released).toEqual(['its end', 'first']);
  take('complete', 'its end, too');
  take('subscribe', 'given up');
  take('complete', 'that');
  expect(released.slice(2)).toEqual(['its end, too', 'given up', 'that']);
  ends[1]!();
  await expect.poll(() => released.slice(5)).toEqual(['second']);
});

test('does not start a waiting operation once the socket has closed', async () => {
  const { handled, ends, take, operations } = createOperations();
  for (const type of ['subscribe', 'complete', 'subscribe']) take(type);
  operations.endAll();
  ends[0]!();
  await expect.poll(() => operations.get('1')).toBeUndefined();
  expect(handled).toEqual(['subscribe', 'complete']);
});

test('`answered` waits for operations that start meanwhile, but not for subscriptions or failed operations', async () => {
  const ends: { resolve(): void; reject(error: Error): void }[] = [];
  const failures: unknown[] = [];
  const ignore = () => undefined;
  const operations = new Operations(
    () => new Promise((resolve, reject) => void ends.push({ resolve, reject })),
    { init: ignore, refuse: ignore, reject: ignore, fail: (error) => failures.push(error) },
  );
  const take = (type: string, id: string) => operations.take(JSON.stringify({ type, id }));
  take('subscribe', 'live');
  operations.get('live')!.establish();
  await operations.answered();
  take('subscribe', 'again');
  let isAnswered = false;
  const answered = operations.answered().then(() => (isAnswered = true));
  take('complete', 'again');
  take('subscribe', 'again');
  take('subscribe', 'other');
  const [, again, , other] = ends;
  again!.resolve();
  await expect.poll(() => ends).toHaveLength(5);
  other!.reject(new Error('It failed.'));
  await expect.poll(() => failures).toHaveLength(1);
  expect(isAnswered).toBe(false);
  ends[4]!.resolve();
  await answered;
  expect(failures).toEqual([new Error('It failed.')]);
});

test('accepts an id of 255 bytes, and rejects `subscribe` and `complete` with a longer one', () => {
  const { handled, operations } = createOperations();
  const take = (type: string, id: string) => operations.take(JSON.stringify({ type, id }));
  take('subscribe', 'ü€'.repeat(51));
  for (const type of ['subscribe', 'complete']) take(type, `${'ü€'.repeat(51)}x`);
  const rejected = 'The id of an operation may have no more than 255 bytes';
  expect(handled).toEqual(['subscribe', rejected, rejected]);
});
