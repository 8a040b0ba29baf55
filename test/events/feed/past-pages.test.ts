import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Log, LogEntry } from '../../../src/events/log/log.js';
import { PastPages, entryIn } from '../../../src/events/feed/past-pages.js';
import { expired } from '../../../src/events/log/log-position.js';
import { createReader } from '../../../src/events/feed/log-reader.js';
import type { Follower, LogTail } from '../../../src/events/feed/log-tail.js';

/** A log of `head` events, of which those up to `pruned` are gone; `reads` has the `after` of each read. */
function createWorld(head: number) {
  const followers = new Set<Follower>();
  const world = {
    head,
    pruned: 0,
    weight: 100,
    witness: 'first',
    /** Numbers of events before which a read ends, since it would be too long. */
    long: [] as readonly number[],
    reads: [] as number[],
    inProgress: 0,
    maxInProgress: 0,
    failures: 0,
    followers,
    log: {
      async read(after: number, limit: number) {
        world.reads.push(after);
        world.maxInProgress = Math.max(world.maxInProgress, (world.inProgress += 1));
        const end = world.long.find((seq) => seq > after + 1) ?? Infinity;
        const entries = Array.from({ length: limit }, (_, at) => entry(after + at + 1)).filter(
          ({ seq }) => seq > world.pruned && seq <= world.head && seq < end,
        );
        await nextTurn();
        world.inProgress -= 1;
        if (world.failures-- > 0) throw new Error('The database is away.');
        return entries;
      },
    } as Partial<Log> as Log,
    tail: {
      entry: () => undefined,
      follow(hear: Follower) {
        followers.add(hear);
        return () => void followers.delete(hear);
      },
    } as Partial<LogTail> as LogTail,
  };
  const entry = (seq: number) => ({ seq, weight: world.weight, witness: world.witness }) as LogEntry;
  return world;
}

const seqs = (page: readonly LogEntry[]) => page.map(({ seq }) => seq);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe('the past', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  test('reads a page once for all who want it at about the same time', async () => {
    const world = createWorld(100);
    const past = new PastPages(world.log, world.tail);
    const pages = await Promise.all([33, 40, 64, 33].map((seq) => past.page(seq)));
    for (const page of [...pages, await past.page(50)]) expect(seqs(page)).toEqual(range(33, 64));
    expect(world.reads).toEqual([32]);
  });

  test('reads for callers in turn', async () => {
    const world = createWorld(32_000);
    const past = new PastPages(world.log, world.tail);
    const many = Array.from({ length: 500 }, (_, at) => past.page(at * 32 + 1, 'many'));
    expect(seqs(await past.page(31_969, 'other'))).toEqual(range(31_969, 32_000));
    expect(world.reads.length).toBeLessThan(20);
    await Promise.all(many);
  });

  test('reads a page that several want once, when it is the turn of the first of them', async () => {
    const world = createWorld(16_000);
    const past = new PastPages(world.log, world.tail);
    const many = Array.from({ length: 500 }, (_, at) => past.page(at * 32 + 1, 'many'));
    expect(seqs(await past.page(15_969, 'other'))).toEqual(range(15_969, 16_000));
    expect(world.reads.length).toBeLessThan(20);
    await Promise.all(many);
    expect(world.reads).toHaveLength(500);
  });

  test('reads a page once more for an entry that was written after the read', async () => {
    const world = createWorld(3);
    const past = new PastPages(world.log, world.tail);
    const early = past.page(3);
    world.head = 5;
    const late = await Promise.all([past.page(4), past.page(5), past.page(2)]);
    expect([await early, ...late].map(seqs)).toEqual([range(1, 3), range(1, 5), range(1, 5), range(1, 3)]);
    world.head = 7;
    expect((await Promise.all([past.page(7), past.page(6)])).map(seqs)).toEqual([range(1, 7), range(1, 7)]);
    expect(world.reads).toEqual([0, 0, 0]);
  });

  test('reads on where a page has ended since it would be too long, and that page only once', async () => {
    const world = createWorld(40);
    world.long = [4, 6];
    const past = new PastPages(world.log, world.tail);
    const pages = [await past.page(3), await past.page(4), await past.page(5), await past.page(6)];
    expect(pages.map(seqs)).toEqual([range(1, 3), [4, 5], [4, 5], range(6, 37)]);
    expect(world.reads).toEqual([0, 0, 3, 5]);
  });

  test('has no entry that the log no longer has', async () => {
    const world = createWorld(100);
    world.pruned = 40;
    const past = new PastPages(world.log, world.tail);
    const page = await past.page(40);
    expect([entryIn(page, 40), entryIn(page, 41)?.seq]).toEqual([undefined, 41]);
    world.pruned = 64;
    expect(await past.page(40)).toEqual([]);
    expect(entryIn(await past.page(41), 41)?.seq).toBe(undefined);
  });

  test('reads four pages at a time at most', async () => {
    const world = createWorld(1_000);
    const past = new PastPages(world.log, world.tail);
    const pages = await Promise.all(range(0, 30).map((at) => past.page(at * 32 + 1)));
    expect(pages.flatMap(seqs)).toEqual(range(1, 992));
    expect(world.maxInProgress).toBe(4);
  });

  test('fails with the database for all who wait, and not for later calls', async () => {
    const world = createWorld(10);
    world.failures = 1;
    const past = new PastPages(world.log, world.tail);
    const failed = await Promise.allSettled([past.page(1), past.page(2)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(seqs(await past.page(1))).toEqual(range(1, 10));
    expect(world.reads).toEqual([0, 0]);
  });

  test('returns the position of an entry if the log has it', async () => {
    const world = createWorld(40);
    world.pruned = 3;
    const past = new PastPages(world.log, world.tail);
    const found = await Promise.all([0, 3, 4, 40, 41].map((seq) => past.position(seq)));
    expect(found.map((entry) => entry?.seq)).toEqual([undefined, undefined, 4, 40, undefined]);
  });

  test('keeps a limited number of characters, and counts a page read again only once', async () => {
    const world = createWorld(1);
    world.weight = 2_000_000;
    const past = new PastPages(world.log, world.tail);
    for (world.head = 1; world.head <= 4; world.head += 1) await past.page(world.head);
    await past.page(4);
    expect(world.reads).toHaveLength(4);
    world.head = 40;
    await past.page(33);
    await past.page(33);
    expect(world.reads).toHaveLength(6); // sixteen million characters: too many to keep
  });

  test('forgets its pages a few seconds after the last read', async () => {
    const world = createWorld(64);
    const past = new PastPages(world.log, world.tail);
    await past.page(1);
    vi.advanceTimersByTime(4_000);
    await past.page(2);
    vi.advanceTimersByTime(4_000);
    await past.page(3);
    expect([world.reads, world.followers.size]).toEqual([[0], 1]);
    vi.advanceTimersByTime(5_000);
    expect(world.followers.size).toBe(0);
    await past.page(3);
    expect(world.reads).toEqual([0, 0]);
  });

  test('forgets its pages at once when the log is restored, even one being read', async () => {
    const world = createWorld(64);
    const past = new PastPages(world.log, world.tail);
    await past.page(1);
    const reading = past.page(33);
    world.witness = 'second';
    for (const hear of world.followers) hear(null, expired());
    const pages = [await reading, await past.page(1), await past.page(33)];
    expect(pages.map((page) => page[0]?.witness)).toEqual(['first', 'second', 'second']);
    expect(world.followers.size).toBe(1);
  });

  test('keeps no page whose turn came only after all was forgotten', async () => {
    const world = createWorld(160);
    const past = new PastPages(world.log, world.tail);
    const pages = range(0, 4).map((at) => past.page(at * 32 + 1)); // four are read, and one waits
    vi.advanceTimersByTime(5_000);
    await Promise.all(pages);
    world.witness = 'second'; // of which nobody hears: nothing is followed
    expect(world.followers.size).toBe(0);
    expect((await past.page(129))[0]?.witness).toBe('second');
  });
});

test('a reader holds what follows in the page, up to a limit', async () => {
  const world = createWorld(64);
  world.weight = 300_000;
  const retrier = { retry: (read: () => Promise<never>) => read() } as never;
  const past = new PastPages(world.log, world.tail);
  const reader = createReader({ past, tail: world.tail, retrier }, () => true);
  expect((await reader.entry(10))?.seq).toBe(10);
  expect(range(9, 14).map((seq) => reader.atHand(seq)?.seq)).toEqual([
    undefined,
    10,
    11,
    12,
    undefined,
    undefined,
  ]);
});
