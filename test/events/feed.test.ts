import { setTimeout as sleep } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createFeed, type Feed, type Update } from '../../src/events/feed.js';
import type { Log } from '../../src/events/log.js';
import { createCursors } from '../../src/relay.js';
import { createSealer } from '../../src/seal.js';
import { engines } from '../support/engines.js';
import { delivery, openJournal, type Journal } from './journal.js';

const cursors = createCursors(createSealer([randomBytes(32)]));
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at + 1);
const pending = Symbol('pending');

/** The next `count` updates, each as its number, with a star where it was replayed. */
async function take(updates: AsyncIterator<Update>, count: number): Promise<string> {
  const taken: string[] = [];
  while (taken.length < count) {
    const step = await updates.next();
    if (step.done) throw new Error(`It ended after ${taken.length} updates.`);
    taken.push(`${step.value.entry.seq}${step.value.replayed ? '*' : ''}`);
  }
  return taken.join(' ');
}

/** What a promise gives within a moment, or that it is pending. */
const soon = <T>(promise: Promise<T>) => Promise.race([promise, sleep(100, pending)]);

describe.each(engines)('the feed on %s', (_, freshUrl) => {
  let journal: Journal;
  let feed: Feed;
  let feeds: Feed[];

  async function openFeed(changes: { log?: Partial<Log>; recent?: number } = {}): Promise<Feed> {
    const { database, telemetry } = journal;
    const { log, ...options } = { ...changes, log: { ...journal.log, ...changes.log } };
    const opened = await createFeed({ log, database, cursors, telemetry, ...options });
    feeds.push(opened);
    return opened;
  }

  async function append(count: number, changes: Parameters<typeof delivery>[2] = {}): Promise<void> {
    const head = await journal.log.head();
    const ids = numbers(count).map((n) => `event ${head + n}`);
    await Promise.all(ids.map((id) => journal.log.append(delivery(id, {}, changes))));
    await vi.waitFor(() => expect(feed.reached()).toBe(head + count), { interval: 1, timeout: 10_000 });
  }

  /** The cursor just after the entry with this number. */
  async function cursorAt(seq: number): Promise<string> {
    return feed.cursor((await journal.log.place(seq)) ?? { seq, witness: '' });
  }

  /** Makes every event so far older than the retention, and deletes it. */
  async function forget(): Promise<void> {
    journal.clock.moveDays(100);
    await journal.log.prune();
  }

  beforeEach(async () => {
    feeds = [];
    journal = await openJournal(await freshUrl());
    feed = await openFeed();
  });
  afterEach(async () => {
    for (const opened of feeds) opened.stop();
    await journal.stop();
  });

  describe('updates', () => {
    test('are the events from now on', async () => {
      await append(3);
      const updates = feed.updates({ family: 'shipments' });
      const first = updates.next();
      expect(await soon(first)).toBe(pending);
      await append(2);
      expect((await first).value?.entry.seq).toBe(4);
      expect(await take(updates, 1)).toBe('5');
    });

    test('are none of another family, and none that were skipped', async () => {
      const updates = feed.updates({ family: 'shipments', after: 0 });
      await append(1, { family: 'payments' });
      await append(1, { known: null });
      await append(1);
      expect(await take(updates, 1)).toBe('3');
    });

    test('carry the event and its entity as it was just after it', async () => {
      const updates = feed.updates({ family: 'shipments', after: 0 });
      await append(2);
      await take(updates, 1);
      expect((await updates.next()).value?.entry).toEqual((await journal.log.read(1, 1))[0]);
    });

    test('go on after a place without a gap or a repetition, and tell replayed from live', async () => {
      await append(5);
      const updates = feed.updates({ family: 'shipments', after: 2 });
      expect(await take(updates, 1)).toBe('3*');
      await append(2);
      expect(await take(updates, 4)).toBe('4* 5* 6 7');
    });

    test('are read from the database where they came before the feed, in as many pages as it takes', async () => {
      await append(100);
      const updates = (await openFeed()).updates({ family: 'shipments', after: 10 });
      await append(1);
      expect(await take(updates, 91)).toBe(
        [
          ...numbers(100)
            .slice(10)
            .map((n) => `${n}*`),
          '101',
        ].join(' '),
      );
    });

    test('wait for a subscriber that is slow, however far it falls behind', async () => {
      const small = await openFeed({ recent: 4 });
      const updates = small.updates({ family: 'shipments', after: 0 });
      const slow = small.updates({ family: 'shipments', after: 0 });
      await append(1);
      expect(await take(slow, 1)).toBe('1');
      await append(149);
      expect(await take(updates, 150)).toBe(numbers(150).join(' '));
      expect(await take(slow, 149)).toBe(numbers(150).slice(1).join(' '));
    });

    test('answer several pending calls in order', async () => {
      const updates = feed.updates({ family: 'shipments', after: 0 });
      const calls = numbers(3).map(() => updates.next());
      await append(3);
      expect((await Promise.all(calls)).map(({ value }) => value?.entry.seq)).toEqual([1, 2, 3]);
    });

    test('are for each of many subscribers', async () => {
      const many = numbers(50).map(() => feed.updates({ family: 'shipments', after: 0 }));
      await append(20);
      const taken = await Promise.all(many.map((updates) => take(updates, 20)));
      expect(new Set(taken)).toEqual(new Set([numbers(20).join(' ')]));
    });
  });

  describe('the end', () => {
    const done = { done: true, value: undefined };

    test('comes at once with return(), for a pending next() too', async () => {
      const updates = feed.updates({ family: 'shipments' });
      const next = updates.next();
      await sleep(20);
      expect(await soon(updates.return!())).toEqual(done);
      expect(await soon(next)).toEqual(done);
      expect(await soon(updates.next())).toEqual(done);
    });

    test('comes at once before the first next()', async () => {
      const updates = feed.updates({ family: 'shipments' });
      expect(await soon(updates.return!())).toEqual(done);
      expect(await soon(updates.next())).toEqual(done);
    });

    test('comes at once while the database hangs', async () => {
      await append(1);
      const hanging = await openFeed({ log: { read: () => new Promise(() => {}) } });
      const updates = hanging.updates({ family: 'shipments', after: 0 });
      const next = updates.next();
      await sleep(20);
      expect(await soon(updates.return!())).toEqual(done);
      expect(await soon(next)).toEqual(done);
    });

    test('comes for every subscription when the feed stops', async () => {
      const next = feed.updates({ family: 'shipments' }).next();
      feed.stop();
      expect(await soon(next)).toEqual(done);
      expect(await soon(feed.updates({ family: 'shipments', after: 0 }).next())).toEqual(done);
    });

    test('comes with CURSOR_EXPIRED where retention has overtaken the reader', async () => {
      await append(100);
      const updates = (await openFeed()).updates({ family: 'shipments', after: 0 });
      await take(updates, 1);
      await forget();
      const rest = (async () => {
        for (;;) await take(updates, 1);
      })();
      await expect(rest).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' });
      expect(await updates.next()).toEqual(done);
    });
  });

  describe('a cursor', () => {
    test('names its place, and is the same in every feed of this log', async () => {
      await append(3);
      const again = await openFeed();
      const entries = await journal.log.read(0, 3);
      expect(again.cursor(entries[1]!)).toBe(await cursorAt(2));
      expect(await again.position(await cursorAt(2))).toBe(2);
      expect(await feed.position(await cursorAt(0))).toBe(0);
      for (const { cursor, place } of [feed, again]) expect(cursor(place())).toBe(await cursorAt(3));
      expect(await feed.head()).toBe(3);
    });

    test.each([
      ['altered', (cursor: string) => `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`],
      ['longer', (cursor: string) => `${cursor}A`],
      ['another text', () => 'cursor'],
      ['of another connection', () => cursors.seal({ connection: 'notes' }, ['log', 0, ''])],
    ])('is CURSOR_INVALID when it is %s', async (_case, alter) => {
      await expect(feed.position(alter(await cursorAt(0)))).rejects.toMatchObject({ code: 'CURSOR_INVALID' });
    });

    test('is CURSOR_EXPIRED in another log, and past the end of this one', async () => {
      const other = await openFeed({
        log: { bounds: async () => ({ ...(await journal.log.bounds()), id: 'another log' }) },
      });
      const expiry = { code: 'CURSOR_EXPIRED' };
      await expect(feed.position(other.cursor(other.place()))).rejects.toMatchObject(expiry);
      await expect(feed.position(await cursorAt(1))).rejects.toMatchObject(expiry);
    });

    test('is CURSOR_EXPIRED when events after it are gone, and good when none is', async () => {
      await append(3);
      const [second, third] = [await cursorAt(2), await cursorAt(3)];
      await forget();
      await append(1, { receivedAt: journal.clock.iso() });
      await expect(feed.position(second)).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' });
      const after = await feed.position(third);
      expect(await take(feed.updates({ family: 'shipments', after }), 1)).toBe('4*');
    });
  });

  test('a cursor of a database restored and gone on is CURSOR_EXPIRED where its entry is another', async () => {
    await append(2);
    const [shared, lost] = [await cursorAt(1), await cursorAt(2)];
    await journal.database.kysely
      .updateTable('events')
      .set({ event_id: 'after the backup' })
      .where('seq', '=', 2)
      .execute();
    const restored = await openFeed();
    expect(await restored.position(shared)).toBe(1);
    await expect(restored.position(lost)).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' });
    expect(await restored.position(restored.cursor(restored.place()))).toBe(2);
  });

  describe('a database restored under it', () => {
    const expiry = { code: 'CURSOR_EXPIRED' };

    /** Leaves the first `seq` events, as if the others came after the backup. */
    async function restore(seq: number): Promise<void> {
      await journal.database.kysely.transaction().execute(async (db) => {
        await db.deleteFrom('events').where('seq', '>', seq).execute();
        await db.deleteFrom('event_ids').where('seq', '>', seq).execute();
        await db.updateTable('log_head').set({ seq }).execute();
      });
    }

    /** What a subscription gives next, or how it ends. */
    const next = (updates: ReturnType<Feed['updates']>) =>
      updates.next().then(
        ({ value }) => value?.entry.eventId,
        (error: unknown) => error,
      );

    test.each([0, 1])(
      'to %i events ends every subscription with CURSOR_EXPIRED, and goes on',
      async (kept) => {
        await append(3);
        const lost = await cursorAt(3);
        const updates = feed.updates({ family: 'shipments' });
        const ended = next(updates);
        await restore(kept);
        expect(await ended).toMatchObject(expiry);
        expect(await updates.next()).toEqual({ done: true, value: undefined });
        expect(feed.reached()).toBe(kept);
        await expect(feed.position(lost)).rejects.toMatchObject(expiry);
        const anew = feed.updates({ family: 'shipments' });
        await journal.log.append(delivery('after the restoring'));
        expect(await next(anew)).toBe('after the restoring');
        const after = await feed.position(feed.cursor(feed.place()));
        expect(after).toBe(kept + 1);
      },
    );

    test('and gone on past the place that it had read is seen before anything of it is given', async () => {
      await append(2);
      const updates = feed.updates({ family: 'shipments' });
      const ended = next(updates);
      await journal.database.kysely.transaction().execute(async (db) => {
        await db.updateTable('events').set({ event_id: 'another' }).where('seq', '=', 2).execute();
        const row = await db.selectFrom('events').selectAll().where('seq', '=', 2).executeTakeFirstOrThrow();
        await db
          .insertInto('events')
          .values({ ...row, seq: 3, event_id: 'unseen' })
          .execute();
        await db.updateTable('log_head').set({ seq: 3 }).execute();
      });
      expect(await ended).toMatchObject(expiry);
      await expect.poll(() => feed.reached()).toBe(3);
    });

    test('from a backup of another log is another log, empty as both are', async () => {
      const before = feed.cursor(feed.place());
      const ended = next(feed.updates({ family: 'shipments' }));
      await journal.database.kysely.updateTable('log_head').set({ log_id: 'another' }).execute();
      expect(await ended).toMatchObject(expiry);
      await expect(feed.position(before)).rejects.toMatchObject(expiry);
      expect(await feed.position(feed.cursor(feed.place()))).toBe(0);
    });

    test('is not what retention does', async () => {
      await append(3);
      const updates = feed.updates({ family: 'shipments' });
      await forget();
      await append(1, { receivedAt: journal.clock.iso() });
      expect(await take(updates, 1)).toBe('4');
    });
  });

  test('reads next to nothing while nobody follows, and misses nothing afterwards', async () => {
    let taken = 0;
    const idle = await openFeed({
      log: {
        async readOn(after, limit) {
          const onward = await journal.log.readOn(after, limit);
          taken += onward.entries.length;
          return onward;
        },
      },
    });
    await append(600);
    await expect.poll(() => idle.reached()).toBe(600);
    expect(taken).toBeLessThan(600);
    expect(idle.place()).toMatchObject((await journal.log.place(600))!);
    const [fromNow, fromStart] = [undefined, 0].map((after) =>
      idle.updates({ family: 'shipments', ...(after !== undefined && { after }) }),
    );
    await append(2);
    expect(await take(fromNow!, 2)).toBe('601 602');
    expect(await take(fromStart!, 602)).toBe([...numbers(600).map((n) => `${n}*`), '601', '602'].join(' '));
  });

  test('goes on after an event that can be read no more, having read it already', async () => {
    await append(1);
    const updates = feed.updates({ family: 'shipments', after: 1 });
    await journal.database.kysely.updateTable('events').set({ event: '{' }).where('seq', '=', 1).execute();
    await append(2);
    expect(await take(updates, 2)).toBe('2 3');
  });

  test('finds what no signal told of', async () => {
    const database = { ...journal.database, listen: () => () => undefined };
    const deaf = await createFeed({ ...journal, database, cursors });
    feeds.push(deaf);
    const updates = deaf.updates({ family: 'shipments', after: 0 });
    await append(1_500);
    const start = Date.now();
    expect(await take(updates, 1_500)).toBe(numbers(1_500).join(' '));
    expect(Date.now() - start).toBeLessThan(6_000); // one poll, not one for each page
  });

  test('rides out a database that fails', async () => {
    let failures = 4;
    const failing = await openFeed({
      log: {
        async readOn(after, limit) {
          if (failures-- > 0) throw new Error('The database is away.');
          return journal.log.readOn(after, limit);
        },
      },
    });
    const updates = failing.updates({ family: 'shipments', after: 0 });
    await append(2);
    expect(await take(updates, 2)).toBe('1 2');
    expect(failures).toBeLessThan(0);
  });
});
