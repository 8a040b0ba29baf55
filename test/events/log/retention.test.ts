import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { startRetention } from '../../../src/events/log/retention.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { engines } from '../../support/engines.js';
import { createTestClock, delivery, openTestLog, type TestLog } from '../test-log.js';

const dayMs = 86_400_000;
const lines: string[] = [];
const telemetry = createTelemetry('info', { write: (line) => void lines.push(line) });

describe.each(engines)('retention on %s', (engine, freshUrl) => {
  let testLog: TestLog;
  const clock = createTestClock();

  beforeEach(async () => {
    lines.length = 0;
    testLog = await openTestLog(await freshUrl());
    for (const id of ['one', 'two']) await testLog.log.append(delivery(id));
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await testLog.stop();
  });

  /** Lets so many days pass, prunes as a starting process does, and returns the ids of the events left. */
  async function prune(days: number): Promise<readonly unknown[]> {
    clock.moveDays(days);
    const retention = startRetention({ database: testLog.database, clock, telemetry, retentionDays: 90 });
    await retention.prune();
    await retention.stop();
    return (await testLog.log.read(0, 10)).map(({ eventId }) => eventId);
  }

  const logged = () => lines.map((line) => JSON.parse(line) as object);

  test('logs how many events it deleted, and nothing if there was none', async () => {
    expect(await prune(80)).toEqual(['one', 'two']);
    expect(logged()).toEqual([]);
    expect(await prune(20)).toEqual([]);
    expect(logged()).toMatchObject([{ level: 30, deleted: 2, msg: 'old events were deleted' }]);
  });

  test('accepts no cursor that another process refuses, even if its events are still there', async () => {
    clock.moveDays(100);
    await testLog.log.append(delivery('young', {}, { receivedAt: clock.iso() }));
    await testLog.database.kysely.updateTable('log_head').set({ pruned: 3 }).execute();
    expect(await prune(0)).toEqual(['young']);
    expect((await testLog.log.bounds()).pruned).toBe(3);
  });

  test('deletes the altered bodies of events that version 0.1.0 was deleting as it ended', async () => {
    await testLog.log.append(delivery('one', { step: 1 }));
    await testLog.database.kysely.updateTable('log_head').set({ pruned: 2 }).execute();
    expect(await prune(100)).toEqual([]);
    expect(await testLog.database.kysely.selectFrom('event_renderings').selectAll().execute()).toEqual([]);
  });

  test.each([
    ['ahead', 100 * dayMs],
    ['behind', -dayMs],
  ])('deletes nothing from a database for several replicas if the local clock is %s', async (_, aheadMs) => {
    const now = Date.now.bind(Date);
    vi.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
    const left = await prune(100);
    expect(left).toEqual(engine === 'sqlite' ? [] : ['one', 'two']);
    if (engine === 'sqlite') return;
    const error = { level: 50, msg: expect.stringMatching(/clocks of this process .* database/) as unknown };
    expect(logged()).toMatchObject([error, error]); // at the start, and now
    const [{ aheadMs: seen }] = logged() as [{ aheadMs: number }];
    expect(Math.abs(seen - aheadMs)).toBeLessThan(60_000);
  });
});
