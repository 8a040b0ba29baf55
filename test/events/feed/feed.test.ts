import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createFeed, type Feed, type FeedOptions } from '../../../src/events/feed/feed.js';
import type { Log, LogEntry } from '../../../src/events/log/log.js';
import { createCursors } from '../../../src/graphql/cursors.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import type { Database } from '../../../src/store/database.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { engines } from '../../support/engines.js';
import { delivery, openTestLog, restore, type TestLog } from '../test-log.js';
import {
  createGate,
  createMember,
  createRendering,
  expectGot,
  seqOf,
  text,
  type Client,
} from '../members.js';

const cursors = createCursors(createSealer([randomBytes(32)]));
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at + 1);
/** The numbers of the entries in these payloads, live or replayed. */
const numbersOf = (got: readonly string[]) => got.map((payload) => parseInt(payload, 10));

describe.each(engines)('the feed on %s', (_, freshUrl) => {
  let testLog: TestLog;
  let feed: Feed;
  let feeds: Feed[];
  let groups = 0;

  async function openFeed(
    changes: Partial<Pick<FeedOptions, 'recent' | 'telemetry' | 'database'>> & { log?: Partial<Log> } = {},
  ): Promise<Feed> {
    const log = { ...testLog.log, ...changes.log };
    const opened = await createFeed({ ...testLog, cursors, ...changes, log });
    feeds.push(opened);
    return opened;
  }

  /** A feed that only reads when it is told to: its slow poll never comes. */
  async function openUnpolled(changes: Parameters<typeof openFeed>[0] = {}): Promise<Feed> {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      return await openFeed(changes);
    } finally {
      vi.useRealTimers();
    }
  }

  /** A read of the log whose answer is held back until `gate` is opened, and how often the log was read. */
  function holdReads() {
    const [begun, gate] = [createGate(), createGate()];
    const held = { begun: begun.opened, release: gate.open, reads: 0 };
    const readOn: Log['readOn'] = async (...range) => {
      held.reads += 1;
      const onward = await testLog.log.readOn(...range);
      begun.open();
      await gate.opened;
      return onward;
    };
    return { held, readOn };
  }

  async function append(count: number, changes: Parameters<typeof delivery>[2] = {}): Promise<void> {
    const head = (await testLog.log.bounds()).head;
    const ids = numbers(count).map((n) => `event ${head + n}`);
    await Promise.all(ids.map((id) => testLog.log.append(delivery(id, {}, changes))));
    await vi.waitFor(() => expect(feed.position().seq).toBe(head + count), { interval: 1, timeout: 10_000 });
  }

  /** A member that is alone in its group, so that no other affects what is rendered and when. */
  function follow(after?: number, changes: Client & { readonly of?: Feed } = {}) {
    const { of = feed, ...rest } = changes;
    const member = createMember(after, rest);
    const leave = of.multicast.join(`group ${(groups += 1)}`, createRendering(), member);
    return { ...member, leave };
  }

  /** The cursor just after the entry with this number. */
  async function cursorAt(seq: number): Promise<string> {
    return feed.cursor((await testLog.log.position(seq)) ?? { seq, witness: '' });
  }

  /** Moves the clock past the retention of every event so far, and deletes them. */
  async function deleteAll(): Promise<void> {
    testLog.clock.moveDays(100);
    await testLog.log.prune();
  }

  beforeEach(async () => {
    feeds = [];
    testLog = await openTestLog(await freshUrl());
    feed = await openFeed();
  });
  afterEach(async () => {
    for (const opened of feeds) opened.stop();
    await testLog.stop();
  });

  describe('a follower', () => {
    test('gets past and live events, each with its entity as it was just after it', async () => {
      const entries: LogEntry[] = [];
      const rendering = createRendering((entry, replayed) => {
        entries.push(entry);
        return text(entry, replayed);
      });
      await append(2);
      const member = createMember(0);
      feed.multicast.join('group', rendering, member);
      await expectGot(member, '1* 2*');
      await append(2);
      await expectGot(member, '1* 2* 3 4');
      expect(entries).toEqual(await testLog.log.read(0, 4));
    });

    test('gets long events that came together, without a wait for the next poll', async () => {
      feed = await openUnpolled();
      const member = follow();
      const event = { entityId: 'entity', step: 0 };
      const long = JSON.stringify({ ...event, long: 'x'.repeat(2_000_000) });
      await append(4, { known: { entityId: 'entity', event, text: long } });
      await expect.poll(() => member.got.join(' ')).toBe('1 2 3 4');
    });

    test('reads events older than the feed from the database, page by page', async () => {
      await append(100);
      const member = follow(10, { of: await openFeed() });
      await append(1);
      await expect.poll(() => numbersOf(member.got)).toEqual(numbers(101).slice(10));
      expect(member.got.slice(0, 90).every((payload) => payload.endsWith('*'))).toBe(true);
    });

    test('gets every event, however slow it is and however far it falls behind', async () => {
      const small = await openFeed({ recent: 4 });
      await append(1);
      await expect.poll(() => small.position().seq).toBe(1);
      const gate = createGate();
      const slow = follow(0, { of: small, replay: () => gate.opened.then(() => true) });
      const quick = follow(0, { of: small });
      await expectGot(slow, '1*');
      await append(149);
      await expect.poll(() => numbersOf(quick.got)).toEqual(numbers(150));
      expect(slow.got).toEqual(['1*']);
      gate.open();
      await expect.poll(() => numbersOf(slow.got)).toEqual(numbers(150));
    });

    test('gets every event when many others follow too', async () => {
      const many = numbers(50).map(() => follow());
      await append(20);
      for (const member of many) await expectGot(member, numbers(20).join(' '));
      expect(feed.multicast.size).toBe(50);
    });

    test('can leave while the database hangs', async () => {
      await append(1);
      const read = vi.fn<Log['read']>(() => new Promise(() => {}));
      const hanging = await openFeed({ log: { read } });
      const member = follow(0, { of: hanging });
      await expect.poll(() => read.mock.calls.length).toBe(1);
      member.leave();
      expect(hanging.multicast.size).toBe(0);
      const live = follow(undefined, { of: hanging });
      await append(1);
      await expectGot(live, '2');
      expect(member.got).toEqual([]);
    });

    test('ends with CURSOR_EXPIRED if retention overtakes it while it reads', async () => {
      await append(100);
      const gate = createGate();
      const member = follow(0, { of: await openFeed(), replay: () => gate.opened.then(() => true) });
      await expect.poll(() => member.got.length).toBe(32);
      await deleteAll();
      gate.open();
      expect(await member.ended).toMatchObject({ code: 'CURSOR_EXPIRED' });
      // It gets what was read before, and nothing after the first deleted event.
      expect(numbersOf(member.got)).toEqual(numbers(member.got.length));
      expect(member.got.length).toBeLessThan(100);
    });
  });

  describe('a cursor', () => {
    test('is the same, and names the same position, in every feed of its log', async () => {
      await append(3);
      const again = await openFeed();
      const entries = await testLog.log.read(0, 3);
      expect(again.cursor(entries[1]!)).toBe(await cursorAt(2));
      expect(await seqOf(again, await cursorAt(2))).toBe(2);
      expect(await seqOf(feed, await cursorAt(0))).toBe(0);
      for (const { cursor, position } of [feed, again]) expect(cursor(position())).toBe(await cursorAt(3));
      expect(feed.position().seq).toBe(3);
    });

    test.each([
      ['altered', (cursor: string) => `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`],
      ['longer', (cursor: string) => `${cursor}A`],
      ['some other text', () => 'cursor'],
      ['of another connection', () => cursors.seal({ connection: 'notes' }, ['log', 0, ''])],
    ])('is CURSOR_INVALID if it is %s', async (_case, alter) => {
      await expect(seqOf(feed, alter(await cursorAt(0)))).rejects.toMatchObject({ code: 'CURSOR_INVALID' });
    });

    test('takes few reads to look up when many clients resume at once', async () => {
      await append(60);
      let reads = 0;
      const count =
        <I extends unknown[], O>(read: (...args: I) => O) =>
        (...args: I) => {
          reads += 1;
          return read(...args);
        };
      const { bounds, position, read } = testLog.log;
      const late = await openFeed({
        log: { bounds: count(bounds), position: count(position), read: count(read) },
      });
      reads = 0;
      const sealed = await Promise.all(numbers(60).map(cursorAt));
      expect(await Promise.all(sealed.map((cursor) => seqOf(late, cursor)))).toEqual(numbers(60));
      expect(reads).toBeLessThanOrEqual(4); // the end of the log twice at most, and two pages
    });

    test('is no longer looked up, while the database fails, once its client has left or the feed stops', async () => {
      let isAway = false;
      const bounds: Log['bounds'] = () =>
        isAway ? Promise.reject(new Error('The database is away.')) : testLog.log.bounds();
      const failing = await openFeed({ log: { bounds } });
      const cursor = await cursorAt(0);
      isAway = true;
      const leaving = new LightAbortController();
      const left = seqOf(failing, cursor, leaving);
      leaving.abort();
      expect(await left).toBe(0);
      const stopped = seqOf(failing, cursor);
      failing.stop();
      expect(await stopped).toBe(0);
    });

    test('is CURSOR_EXPIRED in another log, and past the end of its own', async () => {
      const other = await openFeed({
        log: { bounds: async () => ({ ...(await testLog.log.bounds()), id: 'another log' }) },
      });
      const expiry = { code: 'CURSOR_EXPIRED' };
      await expect(seqOf(feed, other.cursor(other.position()))).rejects.toMatchObject(expiry);
      await expect(seqOf(feed, await cursorAt(1))).rejects.toMatchObject(expiry);
    });

    test('is CURSOR_EXPIRED if events after it were deleted, and valid if none was', async () => {
      await append(3);
      const [second, third] = [await cursorAt(2), await cursorAt(3)];
      await deleteAll();
      await append(1, { receivedAt: testLog.clock.iso() });
      await expect(seqOf(feed, second)).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' });
      const after = await seqOf(feed, third);
      await expectGot(follow(after), '4*');
    });

    test('from a feed that began when no event was left is valid in one that still has the last in memory', async () => {
      const member = follow();
      await append(3);
      await expectGot(member, '1 2 3');
      await deleteAll();
      const late = await openFeed();
      const cursor = late.cursor(late.position());
      await append(1, { receivedAt: testLog.clock.iso() });
      const after = await seqOf(feed, cursor);
      expect(after).toBe(3);
      await expectGot(follow(after), '4*');
    });
  });

  test('refuses a cursor with CURSOR_EXPIRED if a restore has replaced its entry', async () => {
    await append(2);
    const [shared, lost] = [await cursorAt(1), await cursorAt(2)];
    await testLog.database.kysely
      .updateTable('events')
      .set({ event_id: 'after the backup' })
      .where('seq', '=', 2)
      .execute();
    const restored = await openFeed();
    expect(await seqOf(restored, shared)).toBe(1);
    await expect(seqOf(restored, lost)).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' });
    expect(await seqOf(restored, restored.cursor(restored.position()))).toBe(2);
  });

  describe('when the database is restored', () => {
    const expiry = { code: 'CURSOR_EXPIRED' };

    test.each(['another entry', 'no entry'])(
      'refuses a cursor that is looked up just then: of %s',
      async (left) => {
        const [begun, gate] = [createGate(), createGate()];
        let isHeld = false;
        const bounds: Log['bounds'] = async () => {
          const read = await testLog.log.bounds();
          if (isHeld) {
            isHeld = false;
            begun.open();
            await gate.opened;
          }
          return read;
        };
        const own = await openFeed({ log: { bounds } });
        const member = follow(undefined, { of: own });
        await append(2);
        await expectGot(member, '1 2');
        isHeld = true;
        const position = seqOf(own, await cursorAt(2));
        await begun.opened;
        const { kysely } = testLog.database;
        if (left === 'no entry') {
          await kysely.deleteFrom('events').where('seq', '=', 2).execute();
          await kysely.updateTable('log_head').set({ seq: 1 }).execute();
        } else await kysely.updateTable('events').set({ event_id: 'another' }).where('seq', '=', 2).execute();
        testLog.database.signal('log', '');
        expect(await member.ended).toMatchObject(expiry);
        gate.open();
        await expect(position).rejects.toMatchObject(expiry);
      },
    );

    test.each([0, 1])(
      'ends every subscription with CURSOR_EXPIRED if %i events are left, and goes on from there',
      async (kept) => {
        await append(3);
        const lost = await cursorAt(3);
        const members = [follow(), follow(3)];
        await restore(testLog.database, kept);
        for (const { ended } of members) expect(await ended).toMatchObject(expiry);
        expect(feed.multicast.size).toBe(0);
        expect(feed.position().seq).toBe(kept);
        await expect(seqOf(feed, lost)).rejects.toMatchObject(expiry);
        const newcomer = follow();
        await testLog.log.append(delivery('after the restoring'));
        await expectGot(newcomer, String(kept + 1));
        for (const { got } of members) expect(got).toEqual([]);
        const after = await seqOf(feed, feed.cursor(feed.position()));
        expect(after).toBe(kept + 1);
      },
    );

    test('delivers nothing of a log that has already grown past its position', async () => {
      await append(2);
      const member = follow();
      await testLog.database.kysely.transaction().execute(async (db) => {
        await db.updateTable('events').set({ event_id: 'another' }).where('seq', '=', 2).execute();
        const row = await db.selectFrom('events').selectAll().where('seq', '=', 2).executeTakeFirstOrThrow();
        await db
          .insertInto('events')
          .values({ ...row, seq: 3, event_id: 'unseen' })
          .execute();
        await db.updateTable('log_head').set({ seq: 3 }).execute();
      });
      expect(await member.ended).toMatchObject(expiry);
      expect(member.got).toEqual([]);
      await expect.poll(() => feed.position().seq).toBe(3);
    });

    test('ends subscriptions and refuses cursors if the log has another id, even if both are empty', async () => {
      const before = feed.cursor(feed.position());
      const member = follow();
      await testLog.database.kysely.updateTable('log_head').set({ log_id: 'another' }).execute();
      expect(await member.ended).toMatchObject(expiry);
      await expect(seqOf(feed, before)).rejects.toMatchObject(expiry);
      expect(await seqOf(feed, feed.cursor(feed.position()))).toBe(0);
    });

    test('does not mistake retention for a restore', async () => {
      await append(3);
      const member = follow();
      await deleteAll();
      await append(1, { receivedAt: testLog.clock.iso() });
      await expectGot(member, '4');
      expect(feed.multicast.size).toBe(1);
    });
  });

  describe('a process that was stalled for longer than the retention', () => {
    /** A feed that reads nothing until `thaw` is called, and the lines that it logs. */
    async function openFrozen() {
      const { opened: thawed, open: thaw } = createGate();
      const readOn: Log['readOn'] = async (...range) => {
        await thawed;
        return testLog.log.readOn(...range);
      };
      const lines: string[] = [];
      const telemetry = createTelemetry('error', { write: (line) => void lines.push(line) });
      return { frozen: await openFeed({ log: { readOn }, telemetry }), thaw, lines };
    }

    test.each([
      ['others were stored since', 2, 1],
      ['none was stored since', 2, 0],
      ['the log had been empty', 0, 1],
      ['the log had been empty, and none was stored since', 0, 0],
    ])(
      'ends every subscription with CURSOR_EXPIRED if unread events were deleted: %s',
      async (_case, read, since) => {
        await append(read);
        const { frozen, thaw, lines } = await openFrozen();
        const members = [follow(undefined, { of: frozen }), follow(read, { of: frozen })];
        await append(3);
        await deleteAll();
        await append(since, { receivedAt: testLog.clock.iso() });
        thaw();
        for (const { ended } of members) expect(await ended).toMatchObject({ code: 'CURSOR_EXPIRED' });
        for (const { got } of members) expect(got).toEqual([]);
        const head = read + 3 + since;
        expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
          { from: read, to: head, msg: expect.stringMatching(/stalled .* retention/) as string },
        ]);
        expect(frozen.position().seq).toBe(head);
        const newcomer = follow(undefined, { of: frozen });
        await append(1, { receivedAt: testLog.clock.iso() });
        await expectGot(newcomer, String(head + 1));
      },
    );

    test('delivers events that were deleted just after it read them', async () => {
      await append(2);
      await deleteAll();
      const bounds: Log['bounds'] = async () => {
        await deleteAll();
        return testLog.log.bounds();
      };
      const late = await openFeed({ log: { bounds } });
      const member = follow(undefined, { of: late });
      await append(2, { receivedAt: testLog.clock.iso() });
      await expectGot(member, '3 4');
      expect((await testLog.log.bounds()).pruned).toBe(4);
      await append(1, { receivedAt: testLog.clock.iso() });
      await expectGot(member, '3 4 5');
    });
  });

  test('reads almost nothing while nobody follows, and misses nothing afterwards', async () => {
    let taken = 0;
    const idle = await openFeed({
      log: {
        async readOn(after, limit) {
          const onward = await testLog.log.readOn(after, limit);
          taken += onward.entries.length;
          return onward;
        },
      },
    });
    await append(600);
    await expect.poll(() => idle.position().seq).toBe(600);
    expect(taken).toBeLessThan(600);
    expect(idle.position()).toMatchObject((await testLog.log.position(600))!);
    const [fromNow, fromStart] = [follow(undefined, { of: idle }), follow(0, { of: idle })];
    await append(2);
    await expectGot(fromNow, '601 602');
    await expect.poll(() => numbersOf(fromStart.got)).toEqual(numbers(602));
  });

  test('goes on after an event that became corrupt once it was read', async () => {
    await append(1);
    const member = follow(1);
    await testLog.database.kysely.updateTable('events').set({ event: '{' }).where('seq', '=', 1).execute();
    await append(2);
    await expectGot(member, '2 3');
    expect(feed.multicast.size).toBe(1);
  });

  test('resumes after a corrupt event on a replica that has never read it', async () => {
    await append(1);
    const cursor = await cursorAt(1);
    await testLog.database.kysely.updateTable('events').set({ event: '{' }).where('seq', '=', 1).execute();
    const other = await openFeed();
    expect(await seqOf(other, cursor)).toBe(1);
    const member = follow(1, { of: other });
    await append(2);
    await expectGot(member, '2 3');
  });

  test('finds new events without signals', async () => {
    const database = { ...testLog.database, listen: () => () => undefined };
    const withoutSignals = await openFeed({ database });
    const member = follow(0, { of: withoutSignals });
    await append(1_500);
    const start = Date.now();
    await expect.poll(() => member.got.length).toBe(1_500);
    expect(numbersOf(member.got)).toEqual(numbers(1_500));
    expect(Date.now() - start).toBeLessThan(6_000); // one poll, not one for each page
  });

  test('reads what was signalled while it was reading, and then no more', async () => {
    const { held, readOn } = holdReads();
    const member = follow(undefined, { of: await openUnpolled({ log: { readOn } }) });
    await append(1);
    await held.begun;
    await append(1);
    held.release();
    await expectGot(member, '1 2');
    await sleep(50);
    expect(held.reads).toBe(2);
  });

  test('does not mistake events signalled while it was reading for a restore', async () => {
    const { held, readOn } = holdReads();
    let signal = (_payload: string) => {};
    const listen: Database['listen'] = (channel, hear) => {
      signal = hear;
      return testLog.database.listen(channel, hear);
    };
    await append(1);
    const reading = await openFeed({ log: { readOn }, database: { ...testLog.database, listen } });
    signal(''); // as after a lost connection
    await held.begun;
    await append(2);
    const newcomer = follow(1, { of: reading });
    held.release();
    await append(1);
    await expect.poll(() => numbersOf(newcomer.got)).toEqual([2, 3, 4]);
  });

  test('delivers nothing of before a restore that happened while nobody followed', async () => {
    const renderId = ({ eventId }: LogEntry) => eventId;
    const unpolled = await openUnpolled();
    await append(1);
    const before = follow(undefined, { of: unpolled });
    await append(2);
    await expectGot(before, '2 3');
    before.leave();
    await restore(testLog.database, 1);
    for (const id of ['another 2', 'another 3', 'another 4']) await testLog.log.append(delivery(id));
    await expect.poll(() => unpolled.position().seq).toBe(4);
    const after = createMember(1);
    unpolled.multicast.join('group', createRendering(renderId), after);
    await expectGot(after, 'another 2 another 3 another 4');
  });

  test('retries while the database fails', async () => {
    let failures = 4;
    const failing = await openFeed({
      log: {
        async readOn(after, limit) {
          if (failures-- > 0) throw new Error('The database is away.');
          return testLog.log.readOn(after, limit);
        },
      },
    });
    const member = follow(0, { of: failing });
    await append(2);
    await expectGot(member, '1 2');
    expect(failures).toBeLessThan(0);
  });
});
