import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { maxAlteredBodies } from '../../../src/events/log/altered-bodies.js';
import type { LogEntry } from '../../../src/events/log/log.js';
import { positionFrom, type LogPosition } from '../../../src/events/log/log-position.js';
import { fromKeyText, keyText } from '../../../src/store/sql/key-text.js';
import { scrape } from '../../support/metrics.js';
import { delivery, openTestLog, readEntities, restore, type TestLog } from '../test-log.js';

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

/** The tests that the log must pass on either engine; `freshUrl` returns the address of a new, empty database. */
export function logContract(freshUrl: () => Promise<string>): void {
  let testLog: TestLog;
  const { append, read, head, everything, count, alteredBodies } = {
    append: (...given: Parameters<typeof delivery>) => testLog.log.append(delivery(...given)),
    read: (after: number, limit: number) => testLog.log.read(after, limit),
    head: async () => (await testLog.log.bounds()).head,
    everything: () => testLog.log.read(0, 10_000),
    count: (outcome: string) =>
      scrape(testLog.telemetry.metrics, `trivium_webhooks_total{family="shipments",outcome="${outcome}"}`),
    alteredBodies: () =>
      testLog.database.kysely.selectFrom('event_renderings').selectAll().orderBy('received_at').execute(),
  };

  beforeEach(async () => {
    testLog = await openTestLog(await freshUrl());
  });
  afterEach(() => testLog.stop());

  describe('numbering and reading', () => {
    test('is empty at first', async () => {
      expect([await testLog.log.bounds(), await everything()]).toMatchObject([{ head: 0, pruned: 0 }, []]);
    });

    test('numbers events from 1 without a gap, in order of arrival', async () => {
      const ids = numbers(1_000).map((n) => `event ${n}`);
      await Promise.all(ids.map((id) => append(id)));
      const entries = await everything();
      expect(entries.map(({ seq }) => seq)).toEqual(numbers(1_000));
      expect(entries.map(({ eventId }) => eventId)).toEqual(ids);
      expect(await head()).toBe(1_000);
    });

    test('is read in pages after any number', async () => {
      await Promise.all(numbers(10).map((n) => append(`event ${n}`)));
      expect((await read(3, 4)).map(({ seq }) => seq)).toEqual([4, 5, 6, 7]);
      expect((await read(9, 4)).map(({ seq }) => seq)).toEqual([10]);
      expect(await read(10, 4)).toEqual([]);
    });

    test('is read on from a position, along with the position', async () => {
      await Promise.all(numbers(4).map((n) => append(`event ${n}`)));
      const position = await testLog.log.position(1);
      expect(await testLog.log.readOn(1, 2)).toEqual({ position, entries: await read(1, 2), more: true });
      expect(await testLog.log.readOn(4, 2)).toEqual({
        position: await testLog.log.position(4),
        entries: [],
        more: false,
      });
      expect(await testLog.log.readOn(5, 2)).toEqual({ position: undefined, entries: [], more: false });
    });

    test('is read no further than 4 MiB, but for a longer event', async () => {
      const event = { entityId: 'entity', step: 0 };
      const long = { ...event, long: 'x'.repeat(2_000_000) };
      const known = { entityId: 'entity', event, text: JSON.stringify(long) };
      for (const [at, changes] of [{}, { known }, {}, { known }, { known }, {}].entries())
        await append(`event ${at}`, {}, changes);
      const [first, rest] = [await read(0, 10), await read(4, 10)];
      expect(first.map((entry) => entry.event)).toEqual([event, long, event, long]);
      expect(rest.map((entry) => entry.event)).toEqual([long, event]);
      const [position, placeOfLong] = [await testLog.log.position(1), await testLog.log.position(5)];
      expect(await testLog.log.readOn(1, 10)).toEqual({ position, entries: first.slice(1), more: true });
      const { rows, more } = (await testLog.log.rowsAfter(position!, 10))!;
      expect([rows.map(({ seq }) => seq), more]).toEqual([[2, 3, 4], true]);
      const last = { position: placeOfLong, entries: rest.slice(1), more: false };
      expect(await testLog.log.readOn(5, 10)).toEqual(last);
    });

    test('is read on past an event that is longer than 4 MiB by itself', async () => {
      const event = { entityId: 'entity', step: 0 };
      const known = {
        entityId: 'entity',
        event,
        text: JSON.stringify({ ...event, long: 'x'.repeat(4_500_000) }),
      };
      for (const [at, changes] of [{}, { known }, {}].entries()) await append(`event ${at}`, {}, changes);
      const position = (await testLog.log.position(1))!;
      const { rows, more } = (await testLog.log.rowsAfter(position, 10))!;
      expect([rows.map(({ seq }) => seq), more]).toEqual([[2], true]);
      const onward = await testLog.log.readOn(1, 10);
      expect([onward.entries.map(({ seq }) => seq), onward.more]).toEqual([[2], true]);
    });

    test('is read with turns of the event loop between long events', async () => {
      const ids = numbers(10).map((n) => `event ${n}`);
      for (const id of ids) await append(id);
      const text = JSON.stringify({ long: 'x'.repeat(700_000) });
      const { kysely } = testLog.database;
      await kysely.updateTable('events').set({ entity: text }).where('seq', '>', 1).execute();
      let turns = 0;
      let isOver = false;
      const tick = () => {
        turns += 1;
        if (!isOver) setImmediate(tick);
      };
      setImmediate(tick);
      const entries: LogEntry[] = [];
      while (entries.length < 10) entries.push(...(await read(entries.length, 20)));
      isOver = true;
      expect(turns).toBeGreaterThanOrEqual(9);
      expect(entries.map(({ eventId }) => eventId)).toEqual(ids);
      expect(entries[9]).toMatchObject({ event: { step: 0 }, weight: expect.closeTo(700_000, -4) });
      const onward = { position: await testLog.log.position(3), entries: entries.slice(3, 8), more: true };
      expect(await testLog.log.readOn(3, 20)).toEqual(onward);
    });

    test('is read even where an event is corrupt, which only whoever looks at it is told', async () => {
      await Promise.all(numbers(3).map((n) => append(`event ${n}`)));
      await testLog.database.kysely.updateTable('events').set({ event: '{' }).where('seq', '=', 2).execute();
      const [before, corrupt, after] = await everything();
      expect(corrupt).toMatchObject((await testLog.log.position(2))!);
      expect(() => corrupt!.event).toThrow('JSON');
      expect(() => corrupt!.entity).toThrow('JSON');
      expect([before, after]).toMatchObject([{ event: { step: 0 } }, { event: { step: 0 } }]);
    });

    test('returns every text as it was received', async () => {
      const strange = 'NUL \0, a lone surrogate \ud800, a \\ and a "';
      const known = { entityId: strange, event: { entityId: strange, step: 1 } };
      await append(strange, {}, { type: strange, endpointId: strange, apiVersion: strange, known });
      expect(await everything()).toEqual([
        {
          seq: 1,
          family: 'shipments',
          eventId: strange,
          entityId: strange,
          event: known.event,
          entity: { entityId: strange, steps: [1] },
          weight: expect.any(Number),
          witness: expect.any(String),
        },
      ]);
      const row = await testLog.database.kysely
        .selectFrom('events')
        .select(['type', 'received_at'])
        .executeTakeFirstOrThrow();
      expect([fromKeyText(row.type), row.received_at]).toEqual([strange, Date.parse('2026-01-01T00:00:00Z')]);
    });

    test('signals its new end once that can be read', async () => {
      let signalled: LogPosition | undefined;
      const found = new Promise<LogPosition | undefined>((resolve) => {
        testLog.database.listen('log', (payload) => {
          signalled = positionFrom(payload);
          resolve(testLog.log.position(1));
        });
      });
      await append('event');
      expect(await found).toMatchObject({ seq: 1 });
      expect(signalled).toEqual(await found);
    });
  });

  describe('every event once', () => {
    test('stores one of a hundred concurrent deliveries with the same id', async () => {
      const outcomes = await Promise.all(numbers(100).map(() => append('event')));
      expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(1);
      expect(outcomes[0]).toBe('stored');
      expect(await head()).toBe(1);
      expect([await count('stored'), await count('duplicate')]).toEqual([1, 99]);
    });

    test('recognises an event again later, even one that was skipped', async () => {
      await append('event');
      await append('skipped', {}, { known: null });
      expect([await append('event'), await append('skipped')]).toEqual(['duplicate', 'duplicate']);
      expect((await everything()).map(({ event }) => event === null)).toEqual([false, true]);
    });

    test('does not mistake events of two families for each other', async () => {
      const outcomes = [await append('event'), await append('event', {}, { family: 'payments' })];
      expect(outcomes).toEqual(['stored', 'stored']);
      expect(await append('event', {}, { family: 'payments' })).toBe('duplicate');
    });

    test('folds a repeated event once', async () => {
      await Promise.all([append('a', { step: 1 }), append('a', { step: 1 }), append('b', { step: 2 })]);
      await append('a', { step: 1 });
      expect(await readEntities(testLog.database.kysely, ['entity'])).toEqual([
        { entityId: 'entity', steps: [1, 2] },
      ]);
    });

    test('stores an altered body of a known event once, and counts it each time', async () => {
      const other = { body: '{"other":true}', apiVersion: '2027-01-01' };
      await Promise.all([append('event'), append('event', {}, other), append('event', {}, other)]);
      expect(await append('event', {}, other)).toBe('unkept');
      expect(await alteredBodies()).toMatchObject([
        { family: 'shipments', event_id: 'event', body: other.body, api_version: other.apiVersion },
      ]);
      expect([await count('altered'), await count('duplicate')]).toEqual([3, 0]);
      expect(await head()).toBe(1);
    });

    test('limits how many altered bodies of one event are stored', async () => {
      await append('event');
      const others = numbers(maxAlteredBodies + 4).map((n) => append('event', {}, { body: `{"n":${n}}` }));
      const outcomes = await Promise.all(others);
      expect(outcomes.filter((outcome) => outcome === 'altered')).toHaveLength(maxAlteredBodies);
      expect(outcomes.filter((outcome) => outcome === 'unkept')).toHaveLength(4);
      expect(await append('event', {}, { body: '{"n":"late"}' })).toBe('unkept');
      expect((await alteredBodies()).map(({ body }) => body).toSorted()).toEqual(
        numbers(maxAlteredBodies)
          .map((n) => `{"n":${n}}`)
          .toSorted(),
      );
    });
  });

  describe('folding', () => {
    test('stores with each event its entity as it was just after it', async () => {
      await Promise.all([
        append('1', { entityId: 'a', step: 1 }),
        append('2', { entityId: 'b', step: 2 }),
        append('3', { entityId: 'a', step: 3 }),
      ]);
      await Promise.all([
        append('4', { entityId: 'a', step: 4 }),
        append('5', {}, { known: null }),
        append('6', { entityId: 'b', step: 6 }, { family: 'payments' }),
      ]);
      expect((await everything()).map(({ entity }) => entity)).toEqual([
        { entityId: 'a', steps: [1] },
        { entityId: 'b', steps: [2] },
        { entityId: 'a', steps: [1, 3] },
        { entityId: 'a', steps: [1, 3, 4] },
        null,
        { entityId: 'b', steps: [2, 6] },
      ]);
    });

    test('loses no step of an entity, however many arrive at once', async () => {
      const steps = numbers(600);
      await Promise.all(steps.map((step) => append(`event ${step}`, { step })));
      expect(await readEntities(testLog.database.kysely, ['entity'])).toEqual([
        { entityId: 'entity', steps },
      ]);
    });

    test('counts and stores a skipped event, and folds nothing', async () => {
      await append('event', {}, { known: null });
      expect(await everything()).toMatchObject([{ entityId: null, event: null, entity: null }]);
      expect(await readEntities(testLog.database.kysely, ['entity'])).toEqual([]);
      expect(await count('skipped')).toBe(1);
    });
  });

  describe('failure', () => {
    test.each([
      ['cannot be folded', () => delivery('poison', { step: 'impossible' })],
      ['cannot be stored', () => delivery('poison', {}, { body: '\0' })],
    ])('rejects only the event that %s, and leaves no gap', async (_, poison) => {
      const settled = await Promise.allSettled([
        append('1', { step: 1 }),
        testLog.log.append(poison()),
        append('2', { step: 2 }),
        testLog.log.append(poison()),
        append('3', { step: 3 }),
      ]);
      expect(settled.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'fulfilled',
        'rejected',
        'fulfilled',
      ]);
      expect((await everything()).map(({ seq, eventId }) => [seq, eventId])).toEqual([
        [1, '1'],
        [2, '2'],
        [3, '3'],
      ]);
      expect(await readEntities(testLog.database.kysely, ['entity'])).toMatchObject([{ steps: [1, 2, 3] }]);
      expect(await count('stored')).toBe(3);
    });

    test('rejects events while the database fails, and accepts them once it works again', async () => {
      await append('before');
      const rename = (from: string, to: string) =>
        sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(testLog.database.kysely);
      await rename('events', 'away');
      const failed = await Promise.allSettled([append('a'), append('b'), append('c')]);
      expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
      await rename('away', 'events');
      expect(await Promise.all([append('a'), append('b'), append('c')])).toEqual([
        'stored',
        'stored',
        'stored',
      ]);
      expect((await everything()).map(({ seq, eventId }) => [seq, eventId])).toEqual([
        [1, 'before'],
        [2, 'a'],
        [3, 'b'],
        [4, 'c'],
      ]);
    });

    test('rejects an event of a family without a fold', async () => {
      await expect(append('event', {}, { family: 'parcels' })).rejects.toThrow('parcels');
    });

    test('stores the accepted events when it is stopped, and refuses new ones', async () => {
      const taken = numbers(300).map((n) => append(`event ${n}`));
      const stopped = testLog.log.stop();
      await expect(append('late')).rejects.toThrow('stopped');
      await stopped;
      expect(new Set(await Promise.all(taken))).toEqual(new Set(['stored']));
      expect(await head()).toBe(300);
    });
  });

  describe('retention', () => {
    const old = () => ({ receivedAt: testLog.clock.iso() });

    test('deletes all events that are older, however many, and keeps the others', async () => {
      await Promise.all(numbers(1_200).map((n) => append(`old ${n}`, {}, old())));
      testLog.clock.moveDays(91);
      await append('young', {}, old());
      await testLog.log.prune();
      expect((await everything()).map(({ eventId }) => eventId)).toEqual(['young']);
      expect(await testLog.log.bounds()).toMatchObject({ pruned: 1_200, head: 1_201 });
    });

    test('keeps an event until it is older than the retention', async () => {
      await append('event', {}, old());
      testLog.clock.moveDays(90);
      await testLog.log.prune();
      expect(await everything()).toHaveLength(1);
    });

    test('deletes an event dated in the future if a later one is too old', async () => {
      await append('old', {}, old());
      await append('ahead', {}, { receivedAt: '2029-01-01T00:00:00.000Z' });
      await append('behind it', {}, old());
      testLog.clock.moveDays(91);
      await append('ahead again', {}, { receivedAt: '2029-01-01T00:00:00.000Z' });
      await append('young', {}, old());
      await testLog.log.prune();
      expect((await everything()).map(({ eventId }) => eventId)).toEqual(['ahead again', 'young']);
    });

    test('deletes an old event behind any number of events dated in the future', async () => {
      const ahead = { receivedAt: '2029-01-01T00:00:00.000Z' };
      await Promise.all(numbers(1_200).map((n) => append(`ahead ${n}`, {}, ahead)));
      await append('old', {}, old());
      testLog.clock.moveDays(91);
      await append('young', {}, old());
      await testLog.log.prune();
      expect((await everything()).map(({ eventId }) => eventId)).toEqual(['young']);
      expect(await testLog.log.bounds()).toMatchObject({ pruned: 1_201, head: 1_202 });
    });

    test('keeps events dated in the future while none behind them is too old', async () => {
      const ahead = { receivedAt: '2029-01-01T00:00:00.000Z' };
      await Promise.all(numbers(1_000).map((n) => append(`ahead ${n}`, {}, ahead)));
      await append('young', {}, old());
      await testLog.log.prune();
      expect(await everything()).toHaveLength(1_001);
    });

    test('keeps event ids and entity state for ever', async () => {
      await append('event', { step: 1 }, old());
      testLog.clock.moveDays(91);
      await testLog.log.prune();
      expect(await append('event', { step: 1 })).toBe('duplicate');
      expect(await append('next', { step: 2 })).toBe('stored');
      expect(await everything()).toMatchObject([{ seq: 2, entity: { steps: [1, 2] } }]);
    });

    test('deletes the altered bodies of an event with it, and stores none afterwards', async () => {
      const other = { ...old(), body: '{"other":true}' };
      await append('old', {}, old());
      await append('old', {}, other);
      testLog.clock.moveDays(91);
      await append('young', {}, old());
      await append('young', {}, other);
      await testLog.log.prune();
      expect(await append('old', {}, { body: '{"late":true}' })).toBe('unkept');
      expect((await alteredBodies()).map(({ event_id }) => event_id)).toEqual([keyText('young')]);
    });

    test('leaves the position of the newest event, from which the log is read on', async () => {
      const { log, database, clock } = testLog;
      await Promise.all(numbers(3).map((n) => append(`event ${n}`, {}, old())));
      const positions = [(await log.position(3))!, { seq: 3, witness: '' }];
      const rowsAfter = (limit: number) =>
        Promise.all(
          positions.map(async (position) =>
            (await log.rowsAfter(position, limit))?.rows.map(({ seq }) => seq),
          ),
        );
      clock.moveDays(91);
      await log.prune();
      expect(await rowsAfter(10)).toEqual([[], []]);
      expect(await log.rowsAfter({ seq: 2, witness: '' }, 10)).toBeUndefined();
      await append('event 4', {}, old());
      await append('event 5', {}, old());
      expect(await rowsAfter(10)).toEqual([
        [4, 5],
        [4, 5],
      ]);
      expect(await rowsAfter(1)).toEqual([[4], [4]]);
      expect(await log.rowsAfter({ seq: 2, witness: '' }, 10)).toBeUndefined();
      await restore(database, 1);
      await database.kysely.updateTable('log_head').set({ pruned: 1 }).execute();
      expect(await rowsAfter(10)).toEqual([undefined, undefined]);
    });

    test('continues where a crash interrupted it', async () => {
      await Promise.all(numbers(3).map((n) => append(`event ${n}`, {}, old())));
      await testLog.database.kysely.updateTable('log_head').set({ pruned: 2 }).execute();
      testLog.clock.moveDays(91);
      await testLog.log.prune();
      expect([(await testLog.log.bounds()).pruned, await everything()]).toEqual([3, []]);
    });
  });
}
