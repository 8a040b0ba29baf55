import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startRetention } from '../../src/events/retention.js';
import { createTelemetry } from '../../src/telemetry.js';
import { engines } from '../support/engines.js';
import { createTestClock, delivery, openJournal, type Journal } from './journal.js';

const lines: string[] = [];
const telemetry = createTelemetry('info', { write: (line) => void lines.push(line) });

describe.each(engines)('retention on %s', (_, freshUrl) => {
  let journal: Journal;
  const clock = createTestClock();

  beforeEach(async () => {
    lines.length = 0;
    journal = await openJournal(await freshUrl());
    for (const id of ['one', 'two']) await journal.log.append(delivery(id));
  });
  afterEach(() => journal.stop());

  /** A process that prunes as it starts, by this clock. */
  async function prune(days: number): Promise<readonly unknown[]> {
    clock.moveDays(days);
    const retention = startRetention({ database: journal.database, clock, telemetry, retentionDays: 90 });
    await retention.prune();
    await retention.stop();
    return (await journal.log.read(0, 10)).map(({ eventId }) => eventId);
  }

  const told = () => lines.map((line) => JSON.parse(line) as object);

  test('tells how many events it deleted, and nothing where there was none', async () => {
    expect(await prune(80)).toEqual(['one', 'two']);
    expect(told()).toEqual([]);
    expect(await prune(20)).toEqual([]);
    expect(told()).toMatchObject([{ level: 30, deleted: 2, msg: 'old events were deleted' }]);
  });
});
