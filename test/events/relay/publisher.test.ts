import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Publisher } from '../../../src/events/relay/publisher.js';
import type { NatsStream } from '../../../src/events/relay/nats-stream.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { withLease } from '../../../src/store/leases.js';
import { noPostgres } from '../../support/engines.js';
import { createMigratedDatabase } from '../../support/postgres.js';
import { openTestLog, type TestLog } from '../test-log.js';

const sealer = createSealer([randomBytes(32)]);
const relays = 'this replica relays events to the others';
const cannot = 'this replica cannot relay events; all read them from the database until one can';
const others = 'the lease to relay events is taken: this replica waits for it';

/** A stream that takes everything, once it has begun. */
function createStream() {
  let last = 0;
  const begin = vi.fn<NatsStream['begin']>(async () => last);
  const never = new Promise<never>(() => undefined);
  const stream: NatsStream = {
    maxBytes: 32_768,
    begin,
    publish: async () => (last += 1),
    hear: () => never,
    closed: never,
    close: async () => undefined,
  };
  return { stream, begin };
}

describe.skipIf(noPostgres)('a replica that may relay events', () => {
  let own: TestLog;
  let other: TestLog;
  let lines: string[];
  let stopping: AbortController;
  let running: Promise<void>;

  beforeEach(async () => {
    const url = await createMigratedDatabase();
    [own, other] = await Promise.all([openTestLog(url), openTestLog(url)]);
    lines = [];
    stopping = new AbortController();
  });
  afterEach(async () => {
    stopping.abort();
    await running;
    await Promise.all([own.stop(), other.stop()]);
  });

  function run(stream: NatsStream): void {
    const telemetry = createTelemetry('info', {
      write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg),
    });
    const { log, database } = own;
    running = new Publisher({ log, database, sealer, telemetry }).run(stream, stopping.signal);
  }

  /** Holds the lease as the other replica does. */
  const hold = (work: () => Promise<void>) => withLease(other.database, 'relay', { ttlMs: 4_000 }, work);

  test('says nothing of a bid that fails while another relays them', async () => {
    await hold(async () => {
      const bid = vi.spyOn(own.database.kysely, 'insertInto').mockImplementationOnce(() => {
        throw new Error('The database is away.');
      });
      run(createStream().stream);
      await expect.poll(() => bid.mock.results.map(({ type }) => type)).toContain('return');
    });
    await expect.poll(() => lines).toEqual([relays]);
  });

  test('says nothing of a failure of the database while it relays them', async () => {
    const read = vi.spyOn(own.log, 'rowsAfter').mockRejectedValueOnce(new Error('The database is away.'));
    run(createStream().stream);
    await expect.poll(() => read.mock.calls.length).toBeGreaterThan(1);
    expect(lines).toEqual([relays]);
  });

  test('says that it cannot, and takes that back once another does', async () => {
    const { stream, begin } = createStream();
    begin.mockRejectedValue(new Error('No stream.'));
    run(stream);
    await expect.poll(() => lines).toEqual([cannot]);
    await hold(async () => {
      await expect.poll(() => lines).toEqual([cannot, others]);
      begin.mockReset().mockResolvedValue(0);
    });
    await expect.poll(() => lines).toEqual([cannot, others, relays]);
  });
});
