import { describe, expect, test } from 'vitest';
import { createRetrier } from '../../src/events/retrier.js';
import { createTelemetry } from '../../src/telemetry.js';

const given = () => true;

function open() {
  return createRetrier({
    database: { ping: async () => undefined },
    telemetry: createTelemetry('silent'),
  });
}

/** Work that fails while the database is `away`, and how often it was tried. */
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

describe('what goes on trying', () => {
  test('tries at once when it is woken, however long its pause has become', async () => {
    const { retry, wake } = open();
    const database = { away: true };
    const work = createWork(database);
    const read = retry(work.read, { given });
    // By then a pause takes several seconds.
    await expect.poll(() => work.tries, { timeout: 20_000 }).toBe(7);
    database.away = false;
    const begun = performance.now();
    wake();
    expect(await read).toBe('read');
    expect(performance.now() - begun).toBeLessThan(3_000);
  });

  test('is woken by what is tried more often, once that succeeds', async () => {
    const { retry } = open();
    const database = { away: true };
    const [patient, eager] = [createWork(database), createWork(database)];
    const read = retry(patient.read, { given });
    const other = retry(eager.read, { given, longestPauseMs: 200 });
    await expect.poll(() => patient.tries, { timeout: 20_000 }).toBe(7);
    expect(eager.tries).toBeGreaterThan(7);
    database.away = false;
    expect(await Promise.all([read, other])).toEqual(['read', 'read']);
    expect(patient.tries).toBe(8);
  });

  test('is given up when nobody waits any more, without waiting out its pause', async () => {
    const { retry, wake } = open();
    const work = createWork({ away: true });
    let wanted = true;
    const read = retry(work.read, { given: () => wanted });
    await expect.poll(() => work.tries).toBeGreaterThan(1);
    wanted = false;
    wake();
    expect(await read).toBeUndefined();
  });
});
