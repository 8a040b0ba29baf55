import { expect, onTestFinished, test, vi } from 'vitest';
import { TriviumError } from '../../../src/client/core/error.js';
import { Followed } from '../../../src/client/core/follow.js';
import type { Post } from '../../../src/client/core/http.js';
import type { Sink, Transport } from '../../../src/client/core/transport.js';

/** Follows over a transport that is answered by hand; what was heard, and each subscription's sink. */
function follow(
  isSignedOut = () => Promise.resolve(true),
  query = 'subscription { a }',
  post: Post = () => expect.unreachable(),
) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const sinks: Sink[] = [];
  const transport = {
    subscribe(_: unknown, sink: Sink) {
      sinks.push(sink);
      return () => {};
    },
  } as unknown as Transport;
  const heard: string[] = [];
  const followed = new Followed(
    { transport: () => transport, post, isSignedOut },
    query,
    {},
    {
      next: ({ data }) => void heard.push(JSON.stringify(data)),
      error: ({ code }) => void heard.push(code),
      complete: () => void heard.push('complete'),
    },
  );
  return { followed, sinks, heard };
}

test('asks once more where to begin if that cannot be reached', async () => {
  let asked = 0;
  const post: Post = async () => {
    asked += 1;
    if (asked > 1) return { data: { liveCursor: 'here' }, status: 200 };
    throw new TriviumError('UNREACHABLE', 'away');
  };
  const { sinks, heard } = follow(undefined, 'subscription ($after: String) { a(after: $after) }', post);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([asked, sinks.length, heard]).toEqual([2, 1, []]);
});

test('the `$after` of a query is the place of a page, not where to begin', async () => {
  const { sinks } = follow(undefined, 'query ($after: String) { a(after: $after) }');
  await vi.advanceTimersByTimeAsync(0);
  expect(sinks).toHaveLength(1);
});

/** Over a websocket a refusal is an answer, after which the subscription is complete. */
function refuse(sink: Sink, code: string): void {
  sink.next({ errors: [{ message: 'refused', extensions: { code } }] });
  sink.complete();
}

test.each([
  'RATE_LIMITED',
  'INTERNAL_SERVER_ERROR',
  'UPSTREAM_UNAVAILABLE',
  'UPSTREAM_TIMEOUT',
  'UPSTREAM_INVALID_RESPONSE',
])('subscribes again after the refusal %s, which may pass', async (code) => {
  const { sinks, heard } = follow();
  await vi.advanceTimersByTimeAsync(0);
  refuse(sinks[0]!, code);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sinks).toHaveLength(2);
  sinks[1]!.next({ data: { a: 1 } });
  expect(heard).toEqual(['{"a":1}']);
});

test('subscribes ever more rarely while it is refused, and not at all once it is stopped', async () => {
  const { followed, sinks, heard } = follow();
  await vi.advanceTimersByTimeAsync(0);
  for (let seconds = 0; seconds < 600; seconds++) {
    const { length } = sinks;
    refuse(sinks.at(-1)!, 'INTERNAL_SERVER_ERROR');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sinks.length - length).toBeLessThanOrEqual(1);
  }
  expect(sinks.length).toBeGreaterThan(20);
  expect(sinks.length).toBeLessThan(50);
  followed.stop();
  const before = sinks.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sinks).toHaveLength(before);
  expect(heard).toEqual([]);
});

test.each([
  ['one has lasted', (sink: Sink) => sink.passed!(undefined)],
  ['an update has come', (sink: Sink) => sink.next({ data: {} })],
])(
  'subscribes ever more rarely while each stream opens and is cut, and soon again once %s',
  async (_, live) => {
    const { sinks } = follow();
    const cut = () => sinks.at(-1)!.error(new TriviumError('UNREACHABLE', 'cut'));
    await vi.advanceTimersByTimeAsync(0);
    for (let seconds = 0; seconds < 600; seconds++) {
      sinks.at(-1)!.passed!(undefined);
      cut();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(sinks.length).toBeGreaterThan(20);
    expect(sinks.length).toBeLessThan(50);
    await vi.advanceTimersByTimeAsync(60_000);
    live(sinks.at(-1)!);
    const { length } = sinks;
    cut();
    await vi.advanceTimersByTimeAsync(500);
    expect(sinks).toHaveLength(length + 1);
  },
);

test('ends with the refusal FORBIDDEN, which does not pass', async () => {
  const { sinks, heard } = follow();
  await vi.advanceTimersByTimeAsync(0);
  refuse(sinks[0]!, 'FORBIDDEN');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sinks).toHaveLength(1);
  expect(heard).toEqual(['FORBIDDEN']);
});

test('believes that nobody is signed in only if the gateway says so', async () => {
  const answers = [false, true];
  const { sinks, heard } = follow(() => Promise.resolve(answers.shift()!));
  await vi.advanceTimersByTimeAsync(0);
  refuse(sinks[0]!, 'UNAUTHENTICATED');
  await vi.advanceTimersByTimeAsync(1_000);
  expect([sinks.length, heard]).toEqual([2, []]);
  refuse(sinks[1]!, 'UNAUTHENTICATED');
  await vi.advanceTimersByTimeAsync(60_000);
  expect([sinks.length, heard]).toEqual([2, ['UNAUTHENTICATED']]);
});
