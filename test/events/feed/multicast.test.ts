import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFeed, type Feed, type FeedOptions } from '../../../src/events/feed/feed.js';
import type { Member } from '../../../src/events/feed/member.js';
import { Unrenderable } from '../../../src/events/feed/retrier.js';
import type { Log, LogEntry } from '../../../src/events/log/log.js';
import { createCursors } from '../../../src/graphql/cursors.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { engines } from '../../support/engines.js';
import { delivery, openTestLog, type TestLog } from '../test-log.js';
import { createGate, createMember, createRendering, expectGot, text, type Client } from '../members.js';

const cursors = createCursors(createSealer([randomBytes(32)]));
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

/** So long that each payload is sent by itself. */
const long = (entry: LogEntry, replayed: boolean) => text(entry, replayed).padEnd(40_000);

describe.each(engines)('the multicast on %s', (_, freshUrl) => {
  let testLog: TestLog;
  let feed: Feed;
  let feeds: Feed[];

  async function openFeed(
    changes: Partial<Pick<FeedOptions, 'database' | 'giveUpLimit' | 'recent'>> & { log?: Partial<Log> } = {},
  ): Promise<Feed> {
    const { database, telemetry } = testLog;
    const { log, ...options } = { ...changes, log: { ...testLog.log, ...changes.log } };
    const opened = await createFeed({ log, database, cursors, telemetry, ...options });
    feeds.push(opened);
    return opened;
  }

  async function append(count: number, changes: Parameters<typeof delivery>[2] = {}): Promise<void> {
    const head = (await testLog.log.bounds()).head;
    const ids = numbers(count).map((n) => `event ${head + n}`);
    await Promise.all(ids.map((id) => testLog.log.append(delivery(id, {}, changes))));
  }

  /** Waits until the feed has read the whole log. */
  async function settle(of = feed): Promise<void> {
    const head = (await testLog.log.bounds()).head;
    await expect.poll(() => of.position().seq).toBe(head);
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

  describe('many groups', () => {
    test('get an entry in several turns of the event loop if rendering takes long', async () => {
      const turns: number[] = [];
      let turnsSoFar = 0;
      const slow = (entry: LogEntry, replayed: boolean) => {
        for (const until = performance.now() + 5; performance.now() < until;);
        turns.push(turnsSoFar);
        return text(entry, replayed);
      };
      const members = numbers(20).map(() => createMember());
      for (const [at, member] of members.entries())
        feed.multicast.join(`group ${at}`, createRendering(slow), member);
      await settle();
      let counting = true;
      const count = () => {
        turnsSoFar += 1;
        if (counting) setImmediate(count);
      };
      count();
      await append(2);
      for (const member of members) await expectGot(member, '1 2');
      counting = false;
      expect(new Set(turns).size).toBeGreaterThan(5);
    });
  });

  describe('a group', () => {
    test('renders each event once for all its members', async () => {
      const rendering = createRendering();
      const members = numbers(50).map(() => createMember());
      for (const member of members) feed.multicast.join('group', rendering, member);
      await append(3);
      for (const member of members) await expectGot(member, '1 2 3');
      expect(rendering.rendered).toEqual(['1', '2', '3']);
      expect(feed.multicast.size).toBe(1);
    });

    test('gives a long event to its members over several turns, and once to those that come meanwhile', async () => {
      const longest = (entry: LogEntry, replayed: boolean) => text(entry, replayed).padEnd(600_000);
      const join = (member: Member) => feed.multicast.join('group', createRendering(longest), member);
      const position = (member: Member) => feed.multicast.passed('group', member)?.seq;
      feed.multicast.join('other', createRendering(), createMember()); // has the feed keep what it reads
      await append(1);
      await settle();
      const [late, last] = [createMember(0), createMember()];
      const passed: unknown[] = [];
      const meanwhile = (member: Member) => {
        passed.push(position(member), position(last));
        join(late);
      };
      const first = createMember(undefined, {
        deliver() {
          if (passed.length === 0) void nextTurn().then(() => meanwhile(first));
        },
      });
      join(first);
      const others = numbers(10).map(() => createMember());
      for (const member of others.slice(5)) join(member);
      const leaving = createMember(undefined, { hasRoom: () => false });
      join(leaving);
      for (const member of [...others.slice(0, 5), last]) join(member);
      for (const count of [1, 2]) {
        await append(1);
        for (const { got } of [first, ...others, last]) await expect.poll(() => got.length).toBe(count);
        await expect.poll(() => [position(first), position(last)]).toEqual([count + 1, count + 1]);
      }
      // How far the first has come is not told before the others are there; the last was where it had been.
      expect(passed).toEqual([undefined, 1]);
      await expect.poll(() => late.got.map((payload) => payload.trim()).join(' ')).toMatch(/^1\* 2\*? 3\*?$/);
      expect(leaving.got).toEqual([]);
    });

    test('renders nothing for a member that left during the read, and skips nothing for the next', async () => {
      await append(3);
      const gate = createGate();
      let reads = 0;
      const read: Log['read'] = async (...wish) => {
        const entries = await testLog.log.read(...wish);
        if ((reads += 1) === 1) await gate.opened;
        return entries;
      };
      const late = await openFeed({ log: { read } });
      const rendering = createRendering(async (entry, replayed) => text(entry, replayed));
      late.multicast.join('group', rendering, createMember());
      const leave = late.multicast.join('group', rendering, createMember(0));
      await expect.poll(() => reads).toBe(1);
      leave();
      gate.open();
      await nextTurn();
      expect(rendering.rendered).toEqual([]);
      const next = createMember(0);
      late.multicast.join('group', rendering, next);
      await expectGot(next, '1* 2* 3*');
    });

    test('leaves nothing behind if adding it fails', async () => {
      const values = new Set(['event 1']);
      values[Symbol.iterator] = () => {
        throw new RangeError('Map maximum size exceeded');
      };
      const tooMuch = {
        ...createRendering(),
        selected: [{ keyOf: ({ eventId }: LogEntry) => eventId, values }],
      };
      expect(() => feed.multicast.join('group', tooMuch, createMember())).toThrow(RangeError);
      expect(feed.multicast.size).toBe(0);
      const member = createMember();
      feed.multicast.join('group', createRendering(), member);
      await append(2);
      await expectGot(member, '1 2');
    });

    test('is rendered apart from other groups', async () => {
      const [one, other] = [createMember(), createMember()];
      feed.multicast.join('one', createRendering(), one);
      feed.multicast.join(
        'other',
        createRendering(({ seq }) => `other ${seq}`),
        other,
      );
      await append(1);
      await expectGot(one, '1');
      await expectGot(other, 'other 1');
      expect(feed.multicast.size).toBe(2);
    });

    test('renders only its family, and no skipped event', async () => {
      const rendering = createRendering();
      const [member, late] = [createMember(), createMember(0)];
      feed.multicast.join('group', rendering, member);
      await append(1, { family: 'payments' });
      await append(1, { known: null });
      await append(1);
      await expectGot(member, '3');
      feed.multicast.join('group', rendering, late);
      await expectGot(late, '3*');
      expect(rendering.rendered).toEqual(['3', '3*']);
    });

    test('with a selection renders only the events that it selects', async () => {
      const selection = {
        keyOf: ({ eventId }: LogEntry) => eventId,
        values: new Set(['event 2', 'event 4', 'event 9']),
      };
      const rendering = { ...createRendering(), selected: [selection] };
      const [all, some] = [createMember(), createMember()];
      feed.multicast.join('all', createRendering(), all);
      feed.multicast.join('some', rendering, some);
      await append(5);
      await expectGot(all, '1 2 3 4 5');
      await expectGot(some, '2 4');
      expect(rendering.rendered).toEqual(['2', '4']);
    });

    test('with a selection lets a newcomer join after events outside the selection', async () => {
      const selection = {
        keyOf: ({ eventId }: LogEntry) => eventId,
        values: new Set(['event 2', 'event 6']),
      };
      const rendering = { ...createRendering(), selected: [selection] };
      const [first, second] = [createMember(), createMember(1)];
      feed.multicast.join('some', rendering, first);
      await append(5);
      await settle();
      feed.multicast.join('some', rendering, second);
      await expectGot(second, '2*');
      await append(3);
      await expectGot(first, '2 6');
      await expectGot(second, '2* 6');
      expect(rendering.rendered).toEqual(['2', '2*', '6']);
    });

    test('sends nothing for an event that its rendering excludes', async () => {
      const even = createRendering((entry, replayed) =>
        entry.seq % 2 === 0 ? text(entry, replayed) : undefined,
      );
      await append(3);
      await settle();
      const member = createMember(0);
      feed.multicast.join('group', even, member);
      await expectGot(member, '2*');
      await append(3);
      await expectGot(member, '2* 4 6');
      expect(even.rendered).toEqual(['1*', '2*', '3*', '4', '5', '6']);
    });

    test('keeps the order of the log, however long each rendering takes', async () => {
      const uneven = createRendering(async (entry, replayed) => {
        await sleep(entry.seq % 2 === 0 ? 0 : 5);
        return text(entry, replayed);
      });
      const [early, late] = [createMember(), createMember(0)];
      feed.multicast.join('group', uneven, early);
      await append(6);
      feed.multicast.join('group', uneven, late);
      await append(2);
      await expectGot(early, '1 2 3 4 5 6 7 8');
      await expect.poll(() => late.got.map((payload) => parseInt(payload, 10))).toEqual(numbers(8));
    });

    test('dissolves when its last member leaves, and is created again for the next', async () => {
      const [first, second, third] = [createMember(), createMember(), createMember()];
      const leave = feed.multicast.join('group', createRendering(), first);
      const leaveToo = feed.multicast.join('group', createRendering(), second);
      leave();
      leave(); // a second time does no harm
      expect(feed.multicast.size).toBe(1);
      leaveToo();
      expect(feed.multicast.size).toBe(0);
      feed.multicast.join('group', createRendering(), third);
      leaveToo();
      expect(feed.multicast.size).toBe(1);
      await append(1);
      await expectGot(third, '1');
      expect([first.got, second.got]).toEqual([[], []]);
    });

    test('delivers nothing more if it dissolves while it renders', async () => {
      const gate = createGate();
      const slow = createRendering(async (entry, replayed) => {
        await gate.opened;
        return text(entry, replayed);
      });
      const [gone, next] = [createMember(), createMember()];
      const leave = feed.multicast.join('group', slow, gone);
      await append(2);
      await expect.poll(() => slow.rendered.length).toBe(1);
      leave();
      feed.multicast.join('group', createRendering(), next);
      gate.open();
      await append(1);
      await expectGot(next, '3');
      expect(gone.got).toEqual([]);
      expect(slow.rendered).toEqual(['1']);
    });

    test('drops a member whose client has no room, and the others lose nothing', async () => {
      const [full, other] = [createMember(undefined, { hasRoom: () => false }), createMember()];
      feed.multicast.join('group', createRendering(), full);
      feed.multicast.join('group', createRendering(), other);
      await append(1);
      await expectGot(other, '1');
      await append(2);
      await expectGot(other, '1 2 3');
      expect(full.got).toEqual([]);
    });

    test('delivers available events together, in the same array for all members', async () => {
      const taken: (readonly string[])[] = [];
      const note = (payloads: readonly string[]) => void taken.push(payloads);
      const members = [1, 2].map(() => createMember(undefined, { deliver: note }));
      for (const member of members) feed.multicast.join('group', createRendering(), member);
      await append(30);
      for (const member of members) await expectGot(member, numbers(30).join(' '));
      expect(taken.length).toBeLessThan(60);
      expect(new Set(taken).size).toBe(taken.length / 2);
    });

    test('yields to the event loop after each large payload, live or replayed', async () => {
      const turns: number[] = [];
      let turn = 0;
      const count = () => {
        turn += 1;
        counting = setImmediate(count);
      };
      let counting = setImmediate(count);
      const note = () => turns.push(turn) > 0;
      const great = createRendering(long);
      const member = createMember(undefined, { deliver: note });
      feed.multicast.join('group', great, member);
      await append(20);
      await expect.poll(() => member.got.length, { timeout: 5_000 }).toBe(20);
      const late = createMember(0, { replay: async () => note() });
      feed.multicast.join('great', createRendering(long), late);
      await expect.poll(() => late.got.length, { timeout: 5_000 }).toBe(20);
      clearImmediate(counting);
      expect([...member.got, ...late.got].map((payload) => payload.trim())).toEqual([
        ...numbers(20).map(String),
        ...numbers(20).map((n) => `${n}*`),
      ]);
      expect(new Set(turns).size).toBe(40);
    });
  });

  describe('a newcomer', () => {
    test('without `after` gets only new events', async () => {
      await append(2);
      await settle();
      const [member, rendering] = [createMember(), createRendering()];
      feed.multicast.join('group', rendering, member);
      await append(1);
      await expectGot(member, '3');
      expect(rendering.rendered).toEqual(['3']);
    });

    test('continues after its position without a gap or a repetition', async () => {
      const rendering = createRendering();
      const [early, late] = [createMember(), createMember(2)];
      feed.multicast.join('group', rendering, early);
      await append(4);
      await expectGot(early, '1 2 3 4');
      feed.multicast.join('group', rendering, late);
      await expectGot(late, '3* 4*');
      await append(1);
      await expectGot(late, '3* 4* 5');
      await expectGot(early, '1 2 3 4 5');
      expect(rendering.rendered).toEqual(['1', '2', '3', '4', '3*', '4*', '5']);
    });

    test('shares replayed payloads with others that join at the same time', async () => {
      await append(20);
      await settle();
      const rendering = createRendering();
      const members = numbers(30).map(() => createMember(5));
      for (const member of members) feed.multicast.join('group', rendering, member);
      const past = numbers(20)
        .slice(5)
        .map((n) => `${n}*`);
      for (const member of members) await expectGot(member, past.join(' '));
      expect(rendering.rendered).toEqual(past);
    });

    test('shares reads of the past with others that join at the same time, in any group', async () => {
      await append(100);
      const begun: number[] = [];
      const read: Log['read'] = async (after, limit) => {
        begun.push(after);
        return testLog.log.read(after, limit);
      };
      const late = await openFeed({ log: { read } });
      const members = numbers(40).map((n) => createMember(n));
      for (const [at, member] of members.entries())
        late.multicast.join(`group ${at % 4}`, createRendering(), member);
      for (const [at, { got }] of members.entries()) await expect.poll(() => got.length).toBe(99 - at);
      expect(begun.toSorted((a, b) => a - b)).toEqual([0, 32, 64, 96]);
    });

    test('gets the past in one call as far as it is in memory and rendered synchronously', async () => {
      await append(40);
      const late = await openFeed();
      const gate = createGate();
      const rendering = createRendering((entry, replayed) => {
        const payload = text(entry, replayed);
        return entry.seq === 36 ? gate.opened.then(() => payload) : payload;
      });
      const calls: string[] = [];
      const replay: Client['replay'] = async (payloads) => calls.push(payloads.join(' ')) > 0;
      const member = createMember(28, { replay });
      late.multicast.join('group', rendering, member);
      await expect.poll(() => calls).toEqual(['29* 30* 31* 32*', '33* 34* 35*']);
      gate.open();
      await expect.poll(() => member.got.length).toBe(12);
      expect(calls.slice(2)).toEqual(['36*', '37* 38* 39* 40*']);
    });

    test('gets the past in a turn of the event loop with only a few others', async () => {
      await append(3);
      await settle();
      let turn = 0;
      const count = () => {
        turn += 1;
        counting = setImmediate(count);
      };
      let counting = setImmediate(count);
      const turns = new Map<number, number>();
      const replay = async () => turns.set(turn, (turns.get(turn) ?? 0) + 1).size > 0;
      const members = numbers(200).map(() => createMember(0, { replay }));
      for (const member of members) feed.multicast.join('group', createRendering(), member);
      for (const member of members) await expectGot(member, '1* 2* 3*');
      clearImmediate(counting);
      expect(Math.max(...turns.values())).toBeLessThanOrEqual(64);
    });

    test('shares replayed payloads even if they are rendered asynchronously', async () => {
      await append(3);
      await settle();
      const asynchronous = createRendering(async (entry, replayed) => {
        await sleep(2);
        return text(entry, replayed);
      });
      const members = numbers(5).map(() => createMember(0));
      for (const member of members) feed.multicast.join('group', asynchronous, member);
      for (const member of members) await expectGot(member, '1* 2* 3*');
      expect(asynchronous.rendered).toEqual(['1*', '2*', '3*']);
    });

    test('reads at its own pace without holding anybody up', async () => {
      await append(3);
      await settle();
      const gate = createGate();
      const slow = createMember(0, { replay: () => gate.opened.then(() => true) });
      const quick = createMember(0);
      feed.multicast.join('group', createRendering(), slow);
      feed.multicast.join('group', createRendering(), quick);
      await expectGot(quick, '1* 2* 3*');
      await append(2);
      await expectGot(quick, '1* 2* 3* 4 5');
      expect(slow.got).toEqual(['1*', '2*', '3*']);
      gate.open();
      await expectGot(slow, '1* 2* 3* 4* 5*');
      await append(1);
      await expectGot(slow, '1* 2* 3* 4* 5* 6');
    });

    test('replays events that arrive while it is alone and still reading', async () => {
      await append(1);
      await settle();
      const gate = createGate();
      const rendering = createRendering();
      const slow = createMember(0, { replay: () => gate.opened.then(() => true) });
      feed.multicast.join('group', rendering, slow);
      await append(3);
      await settle();
      gate.open();
      await expectGot(slow, '1* 2* 3* 4*');
      expect(rendering.rendered).toEqual(['1*', '2*', '3*', '4*']);
    });

    test('gets an event once if it joins while the event is being rendered', async () => {
      const gate = createGate();
      const slow = createRendering(async (entry, replayed) => {
        if (entry.seq === 2 && !replayed) await gate.opened;
        return text(entry, replayed);
      });
      const [early, late] = [createMember(), createMember(0)];
      feed.multicast.join('group', slow, early);
      await append(2);
      await expectGot(early, '1');
      feed.multicast.join('group', slow, late);
      await expectGot(late, '1*');
      gate.open();
      await expectGot(late, '1* 2');
      await expectGot(early, '1 2');
      expect(slow.rendered).toEqual(['1', '2', '1*']);
    });

    test('gets nothing twice if it comes from a replica that has read further', async () => {
      let behind = true;
      const lagging = await openFeed({
        log: {
          readOn: async (after, limit) =>
            behind ? { position: undefined, entries: [], more: false } : testLog.log.readOn(after, limit),
        },
      });
      const [early, ahead] = [createMember(), createMember(2)];
      lagging.multicast.join('group', createRendering(), early);
      await append(3);
      lagging.multicast.join('group', createRendering(), ahead);
      behind = false;
      await expectGot(early, '1 2 3');
      expect(ahead.got).toEqual(['3']);
    });

    test('gets from the database what the tail no longer has', async () => {
      const small = await openFeed({ recent: 4 });
      await append(100);
      await settle(small);
      const member = createMember(10);
      small.multicast.join('group', createRendering(), member);
      await append(1);
      await expect
        .poll(() => member.got.map((payload) => parseInt(payload, 10)))
        .toEqual(numbers(101).slice(10));
    });

    test('gets nothing more if it leaves while it catches up, and leaves nothing behind', async () => {
      await append(5);
      await settle();
      const gate = createGate();
      const rendering = createRendering(long);
      const member = createMember(0, { replay: () => gate.opened.then(() => true) });
      const leave = feed.multicast.join('group', rendering, member);
      await expect.poll(() => member.got.length).toBe(1);
      leave();
      gate.open();
      await sleep(20);
      expect(member.got).toHaveLength(1);
      expect(rendering.rendered).toEqual(['1*']);
      expect(feed.multicast.size).toBe(0);
    });

    test('does not join if it leaves just before it has caught up', async () => {
      await append(1);
      await settle();
      const gate = createGate();
      const [stays, goes] = [createMember(), createMember(0, { replay: () => gate.opened.then(() => true) })];
      feed.multicast.join('group', createRendering(), stays);
      const leave = feed.multicast.join('group', createRendering(), goes);
      await expectGot(goes, '1*');
      leave();
      gate.open();
      await append(1);
      await expectGot(stays, '2');
      expect(goes.got).toEqual(['1*']);
    });

    test('gets nothing if it leaves while its past is being rendered', async () => {
      await append(1);
      await settle();
      const gate = createGate();
      const slow = createRendering((entry, replayed) => gate.opened.then(() => text(entry, replayed)));
      const member = createMember(0);
      const leave = feed.multicast.join('group', slow, member);
      await expect.poll(() => slow.rendered).toEqual(['1*']);
      leave();
      gate.open();
      await sleep(20);
      expect(member.got).toEqual([]);
    });

    test('without `after` gets nothing that its group has read but not rendered yet', async () => {
      const gate = createGate();
      const slow = createRendering(async (entry, replayed) => {
        await gate.opened;
        return text(entry, replayed);
      });
      const [early, late] = [createMember(), createMember()];
      feed.multicast.join('group', slow, early);
      await append(2);
      await settle();
      feed.multicast.join('group', slow, late);
      gate.open();
      await append(1);
      await expectGot(early, '1 2 3');
      expect(late.got).toEqual(['3']);
    });

    test('leaves no replayed payloads in memory', async () => {
      await append(1);
      await settle();
      const rendering = createRendering();
      feed.multicast.join('group', rendering, createMember());
      for (const replay of [async () => true, async () => false, async () => true]) {
        const member = createMember(0, { replay });
        feed.multicast.join('group', rendering, member);
        await expectGot(member, '1*');
        await sleep(10);
      }
      expect(rendering.rendered).toEqual(['1*', '1*', '1*']);
    });

    test('is dropped if it accepts no more while it catches up', async () => {
      await append(5);
      await settle();
      const member = createMember(0, { replay: async (payloads) => !payloads[0]!.startsWith('2*') });
      feed.multicast.join('group', createRendering(long), member);
      await expect.poll(() => member.got.length).toBe(2);
      await expect.poll(() => feed.multicast.size).toBe(0);
      await sleep(20);
      expect(member.got).toHaveLength(2);
    });
  });

  describe('the end', () => {
    test('comes for all members when the feed stops, and for any that join afterwards', async () => {
      const [early, late] = [createMember(), createMember()];
      feed.multicast.join('group', createRendering(), early);
      feed.stop();
      feed.multicast.join('group', createRendering(), late);
      expect(await Promise.all([early.ended, late.ended])).toEqual([undefined, undefined]);
      expect(feed.multicast.size).toBe(0);
    });

    test('comes with CURSOR_EXPIRED for a member that retention overtakes, and for no other', async () => {
      await append(100);
      const small = await openFeed({ recent: 4 });
      const gate = createGate();
      const slow = createMember(0, { replay: () => gate.opened.then(() => true) });
      const other = createMember();
      small.multicast.join('group', createRendering(), slow);
      small.multicast.join('group', createRendering(), other);
      await expect.poll(() => slow.got.length).toBe(32);
      testLog.clock.moveDays(100);
      await testLog.log.prune();
      gate.open();
      expect(await slow.ended).toMatchObject({ code: 'CURSOR_EXPIRED' });
      await append(1, { receivedAt: testLog.clock.iso() });
      await expectGot(other, '101');
    });
  });

  describe('an event that fails to render', () => {
    /** A rendering that fails this many times for the second event, only if replayed or only if live. */
    function createFailing(failures: number, ifReplayed: boolean) {
      return createRendering(async (entry, replayed) => {
        if (entry.seq === 2 && replayed === ifReplayed && failures-- > 0) throw new Error('Not now.');
        return text(entry, replayed);
      });
    }

    test('is retried before any later event, and holds up no other group', async () => {
      const failing = createFailing(2, false);
      const [one, two, other] = [createMember(), createMember(), createMember()];
      for (const member of [one, two]) feed.multicast.join('failing', failing, member);
      feed.multicast.join('other', createRendering(), other);
      await append(3);
      await expectGot(other, '1 2 3');
      expect([one.got, two.got]).toEqual([['1'], ['1']]);
      for (const member of [one, two]) await expectGot(member, '1 2 3');
      expect(failing.rendered).toEqual(['1', '2', '2', '2', '3']);
    });

    test('is retried in a replay once for all who want it, and the failure is not kept', async () => {
      await append(3);
      await settle();
      const failing = createFailing(2, true);
      const [early, one, two, later] = [createMember(), createMember(0), createMember(0), createMember(1)];
      for (const member of [early, one, two, later]) feed.multicast.join('failing', failing, member);
      await append(1);
      await expectGot(early, '4');
      for (const { got } of [one, two, later]) expect(got).not.toContain('3*');
      await expectGot(one, '1* 2* 3* 4*');
      await expectGot(two, '1* 2* 3* 4*');
      await expectGot(later, '2* 3* 4*');
      await append(1);
      await expectGot(early, '4 5');
      expect(failing.rendered.filter((seen) => seen === '2*')).toHaveLength(3);
    });

    test('reaches members present and one that joins during the retries once each', async () => {
      const failing = createFailing(2, false);
      const [early, late] = [createMember(), createMember(0)];
      feed.multicast.join('failing', failing, early);
      await append(3);
      await expect.poll(() => failing.rendered).toContain('2');
      feed.multicast.join('failing', failing, late);
      await expectGot(early, '1 2 3');
      await expectGot(late, '1* 2 3');
    });

    test.each([false, true])(
      'is not retried once nobody waits for it any more (replayed: %s)',
      async (replayed) => {
        const failing = createFailing(Infinity, replayed);
        if (replayed) await append(2);
        await settle();
        const member = createMember(replayed ? 0 : undefined);
        const leave = feed.multicast.join('failing', failing, member);
        if (!replayed) await append(2);
        await expect.poll(() => failing.rendered.length).toBe(2);
        leave();
        await sleep(150);
        expect(failing.rendered).toHaveLength(2);
        expect(feed.multicast.size).toBe(0);
      },
    );

    test('is given up if the database answers all the time, which ends only its group', async () => {
      const bounded = await openFeed({ giveUpLimit: { failures: 3, ms: 1 } });
      const failing = createFailing(3, false);
      const [one, two, other] = [createMember(), createMember(), createMember()];
      for (const member of [one, two]) bounded.multicast.join('failing', failing, member);
      bounded.multicast.join('other', createRendering(), other);
      await append(3);
      for (const { ended } of [one, two]) expect(await ended).toBeInstanceOf(Unrenderable);
      expect([one.got, two.got]).toEqual([['1'], ['1']]);
      await expectGot(other, '1 2 3');
      expect(bounded.multicast.size).toBe(1);
      expect(failing.rendered).toEqual(['1', '2', '2', '2']);
      const again = createMember(1);
      bounded.multicast.join('failing', failing, again);
      await expectGot(again, '2* 3*');
    });

    test('is given up in a replay, too, and tried again for a member that comes back', async () => {
      const bounded = await openFeed({ giveUpLimit: { failures: 3, ms: 1 } });
      await append(3);
      await settle(bounded);
      const failing = createFailing(3, true);
      const [live, one, two] = [createMember(), createMember(0), createMember(1)];
      for (const member of [live, one, two]) bounded.multicast.join('failing', failing, member);
      for (const { ended } of [one, two]) expect(await ended).toBeInstanceOf(Unrenderable);
      expect([one.got, two.got]).toEqual([['1*'], []]);
      const again = createMember(1);
      bounded.multicast.join('failing', failing, again);
      await expectGot(again, '2* 3*');
      await append(1);
      await expectGot(live, '4');
    });

    test.each([false, true])(
      'is given up if its row is corrupt, which ends only those who want it (replayed: %s)',
      async (replayed) => {
        const corrupt = () =>
          testLog.database.kysely.updateTable('events').set({ event: '{' }).where('seq', '=', 2).execute();
        const bounded = await openFeed({
          giveUpLimit: { failures: 3, ms: 1 },
          log: {
            async readOn(...range) {
              await corrupt();
              return testLog.log.readOn(...range);
            },
          },
        });
        if (replayed) await append(3);
        await settle(bounded);
        await corrupt();
        const after = replayed ? 0 : undefined;
        const reading = createRendering((entry, isReplayed) =>
          entry.event ? text(entry, isReplayed) : undefined,
        );
        const [one, other, later] = [createMember(after), createMember(after), createMember(2)];
        bounded.multicast.join('reading', reading, one);
        bounded.multicast.join('other', { ...createRendering(), family: 'payments' }, other);
        if (!replayed) await append(3);
        expect(await one.ended).toBeInstanceOf(Unrenderable);
        expect(one.got).toEqual([replayed ? '1*' : '1']);
        bounded.multicast.join('reading', reading, later);
        await expectGot(later, '3*');
        await append(1, { family: 'payments' });
        await expectGot(other, '4');
        expect(bounded.multicast.size).toBe(2);
      },
    );

    test('is not given up while the database does not answer', async () => {
      let failures = 0;
      const ping = async () => {
        if (failures < 4) throw new Error('The database is away.');
      };
      const bounded = await openFeed({
        giveUpLimit: { failures: 3, ms: 1 },
        database: { ...testLog.database, ping },
      });
      const failing = createRendering(async (entry, replayed) => {
        if (entry.seq === 2 && failures < 4) {
          failures += 1;
          throw new Error('Not now.');
        }
        return text(entry, replayed);
      });
      const member = createMember();
      bounded.multicast.join('failing', failing, member);
      await append(3);
      await expect.poll(() => member.got.join(' '), { timeout: 20_000 }).toBe('1 2 3');
    });

    test('is not waited for once the feed stops', async () => {
      const failing = createFailing(Infinity, false);
      const member = createMember();
      feed.multicast.join('failing', failing, member);
      await append(2);
      await expect.poll(() => failing.rendered.length).toBeGreaterThan(1);
      feed.stop();
      expect(await member.ended).toBeUndefined();
      expect(member.got).toEqual(['1']);
    });
  });

  test('retries if the database fails while a newcomer reads', async () => {
    await append(3);
    let failures = 2;
    const failing = await openFeed({
      log: {
        async read(after, limit) {
          if (failures-- > 0) throw new Error('The database is away.');
          return testLog.log.read(after, limit);
        },
      },
    });
    const member = createMember(0);
    failing.multicast.join('group', createRendering(), member);
    await expectGot(member, '1* 2* 3*');
    expect(failures).toBeLessThan(0);
  });
});
