import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Retrier } from '../../../src/events/feed/retrier.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';

const isWanted = () => true;

function open(telemetry = createTelemetry('silent')) {
  return new Retrier({ database: { ping: async () => undefined }, telemetry });
}

/** Work that fails while the database is `away`, and counts how often it was tried. */
function createWork(database: { away: boolean }) {
  const work = {
    tries: 0,
    async read() {
      work.tries += 1;
      if (database.away) throw new Error('The database is away.');
      return 'read';
    },
  };
  return work;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a retrier', () => {
  test('retries at once when it is woken, however long the pause has become', async () => {
    const retrier = open();
    const database = { away: true };
    const work = createWork(database);
    const read = retrier.retry(work.read, { isWanted });
    // The pause that has then begun takes several seconds.
    await vi.advanceTimersByTimeAsync(6_300);
    expect(work.tries).toBe(7);
    database.away = false;
    const begun = Date.now();
    retrier.wake();
    expect(await read).toBe('read');
    expect(Date.now()).toBe(begun);
  });

  test('ends every pause once something retried more often succeeds', async () => {
    const retrier = open();
    const database = { away: true };
    const [patient, eager] = [createWork(database), createWork(database)];
    const read = retrier.retry(patient.read, { isWanted });
    const other = retrier.retry(eager.read, { isWanted, maxPauseMs: 200 });
    await vi.advanceTimersByTimeAsync(6_300);
    expect(patient.tries).toBe(7);
    expect(eager.tries).toBeGreaterThan(7);
    database.away = false;
    await vi.advanceTimersByTimeAsync(200);
    expect(await Promise.all([read, other])).toEqual(['read', 'read']);
    expect(patient.tries).toBe(8);
  });

  test('gives up when nobody waits any more, without waiting out the pause', async () => {
    const retrier = open();
    const work = createWork({ away: true });
    let wanted = true;
    const read = retrier.retry(work.read, { isWanted: () => wanted });
    await vi.advanceTimersByTimeAsync(150);
    expect(work.tries).toBe(2);
    wanted = false;
    retrier.wake();
    expect(await read).toBeUndefined();
    expect(work.tries).toBe(2);
  });
});

describe('the log of failures', () => {
  /** Makes this many callers wait while the database is away for some seconds; returns what was logged. */
  async function logWhileAway(
    waiting: number,
    want: (retrier: Retrier, read: () => Promise<string>) => unknown,
  ) {
    const lines: string[] = [];
    const retrier = open(createTelemetry('info', { write: (line) => void lines.push(line) }));
    const database = { away: true };
    const work = createWork(database);
    const all = Array.from({ length: waiting }, () => want(retrier, work.read));
    await vi.advanceTimersByTimeAsync(3_500);
    database.away = false;
    const failures = work.tries;
    retrier.wake();
    await Promise.all(all);
    const logged = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    return { logged, failures };
  }

  test('has one line a second, however many wait, with the number of failures left out', async () => {
    const { logged, failures } = await logWhileAway(100, (retrier, read) =>
      retrier.retry(read, { isWanted }),
    );
    // They fail at 0, 100, 300, 700, 1,500 and 3,100 ms.
    expect(failures).toBe(600);
    const msg = 'the event log cannot be read; retrying';
    const err = expect.objectContaining({ message: 'The database is away.' }) as unknown;
    expect(logged).toMatchObject([
      { level: 40, msg, err, pauseMs: 100, suppressed: 0 },
      { level: 40, msg, err, pauseMs: 1_600, suppressed: 399 },
      { level: 40, msg, err, pauseMs: 3_200, suppressed: 99 },
    ]);
  });

  test('distinguishes failing events from a failing log', async () => {
    const { logged } = await logWhileAway(10, (retrier, read) =>
      Promise.all([retrier.retry(read, { isWanted }), retrier.render(1, read, { isWanted })]),
    );
    expect(logged.slice(0, 2).map(({ msg }) => msg)).toEqual([
      'the event log cannot be read; retrying',
      'an event could not be read or rendered; retrying',
    ]);
  });
});
