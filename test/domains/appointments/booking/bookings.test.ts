import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LightAbortController } from '../../../../src/lib/async/abort.js';
import type { FaultAction } from '../../../../src/sandbox/faults.js';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.js';
import { engines, noPostgres } from '../../../support/engines.js';
import { createMigratedDatabase } from '../../../support/postgres.js';
import { createMigratedFile } from '../../../support/sqlite.js';
import { bookingsContract } from './bookings.contract.js';
import {
  bookedBy,
  callMs,
  hideTable,
  leavePending,
  letPass,
  other,
  postsOf,
  type Replica,
  requestOf,
  startReplica,
} from '../replica.js';

describe.each(engines)('bookings on %s', (_, freshUrl) => bookingsContract(freshUrl));

describe('bookings that stop', () => {
  let sandbox: Sandbox;
  let replica: Replica;

  beforeEach(async () => {
    sandbox = await startSandbox({ demo: false });
    replica = await startReplica(sandbox, await createMigratedFile());
  });
  afterEach(async () => {
    await replica.stop();
    await sandbox.stop();
  });

  /** Begins a booking whose outcome cannot be written until the returned function is called. */
  async function bookWhileAway() {
    sandbox.faults.add({ service: 'appointments', act: { kind: 'delay', ms: callMs } });
    const inProgress = bookedBy(replica);
    await expect.poll(() => postsOf(sandbox), { timeout: 10_000 }).toBe(1);
    const restoreTable = await hideTable(replica);
    return { inProgress, restoreTable };
  }
  const list = () => replica.read().list({ backward: false, limit: 100 });

  test('settle those in progress before', async () => {
    const { inProgress, restoreTable } = await bookWhileAway();
    const stopped = replica.bookings.stop();
    await sandbox.clock.advance(callMs);
    const made = await inProgress; // the first attempts to write it have failed
    await restoreTable();
    await stopped;
    expect([made.confirmation, await list()]).toEqual(['CONFIRMED', [made]]);
  });

  test('settle one at once that waits for its next retry', async () => {
    const { inProgress, restoreTable } = await bookWhileAway();
    await sandbox.clock.advance(callMs);
    const made = await inProgress;
    await sleep(3_500); // after which the pauses are longer than it takes to stop
    await restoreTable();
    await replica.bookings.stop();
    expect(await list()).toEqual([made]);
  });
});

describe.skipIf(noPostgres)('replicas that book on postgres', () => {
  const idempotencyKey = 'k';
  let sandbox: Sandbox;
  let url: string;
  let one: Replica;
  let two: Replica;

  beforeEach(async () => {
    sandbox = await startSandbox({ demo: false });
    url = await createMigratedDatabase();
    [one, two] = [await startReplica(sandbox, url), await startReplica(sandbox, url)];
  });
  afterEach(async () => {
    await one.stop();
    await two.stop();
    await sandbox.stop();
  });

  /** Makes the service misbehave on the next booking. */
  const fail = (act: FaultAction) => sandbox.faults.add({ service: 'appointments', times: 1, act });
  const posted = async (count: number) => {
    await expect.poll(() => postsOf(sandbox), { timeout: 10_000 }).toBe(count);
  };

  test('post once for fifty concurrent requests with the same key', async () => {
    fail({ kind: 'delay', ms: 100 });
    const all = Array.from({ length: 50 }, (_, at) => bookedBy(at % 2 === 0 ? one : two, { idempotencyKey }));
    const answers = await Promise.all(all);
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]!.upstreamId).toBe(sandbox.appointments.booked[0]!.id);
    expect(postsOf(sandbox)).toBe(1);
  });

  test('report a conflict for another input while the first is in progress on another replica', async () => {
    fail({ kind: 'delay', ms: 500 });
    const first = bookedBy(one, { idempotencyKey });
    await posted(1);
    expect(await two.bookings.book(requestOf({ idempotencyKey, appointment: other }))).toEqual({
      conflict: true,
    });
    expect((await first).confirmation).toBe('CONFIRMED');
  });

  test('tell who gave the input of the first from who gave another at the same moment', async () => {
    fail({ kind: 'delay', ms: 500 });
    const first = bookedBy(one, { idempotencyKey });
    await posted(1);
    const [conflicting, waiting] = await Promise.all([
      two.bookings.book(requestOf({ idempotencyKey, appointment: other })),
      bookedBy(two, { idempotencyKey }),
    ]);
    expect([conflicting, waiting]).toEqual([{ conflict: true }, await first]);
    expect(postsOf(sandbox)).toBe(1);
  });

  test('wait for a booking on another replica, and book if that one is refused', async () => {
    fail({ kind: 'delay', ms: 500, act: { kind: 'answer', status: 422 } });
    const first = one.bookings.book(requestOf({ idempotencyKey }));
    await posted(1);
    const waiting = bookedBy(two, { idempotencyKey });
    expect(await first).toEqual({ refused: 422 });
    expect((await waiting).confirmation).toBe('CONFIRMED');
    expect(postsOf(sandbox)).toBe(2);
  });

  test('book nothing after that for an operation that ended while it waited, but for one that goes on', async () => {
    const refuseLater = () => fail({ kind: 'delay', ms: 500, act: { kind: 'answer', status: 422 } });
    refuseLater();
    const first = one.bookings.book(requestOf({ idempotencyKey }));
    await posted(1);
    const signal = new LightAbortController();
    const ending = bookedBy(two, { idempotencyKey, signal });
    signal.abort();
    await expect(ending).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    expect([await first, postsOf(sandbox)]).toEqual([{ refused: 422 }, 1]);

    refuseLater();
    const again = one.bookings.book(requestOf({ idempotencyKey }));
    await posted(2);
    const ended = bookedBy(two, { idempotencyKey, signal });
    const goingOn = bookedBy(two, { idempotencyKey, signal: new LightAbortController() });
    await expect(ended).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    expect([await again, (await goingOn).confirmation]).toEqual([{ refused: 422 }, 'CONFIRMED']);
    expect(postsOf(sandbox)).toBe(3);
  });

  test('never repeat a booking whose outcome another replica does not know', async () => {
    fail({ kind: 'afterwards', act: { kind: 'delay', ms: 500, act: { kind: 'refuse' } } });
    const first = bookedBy(one, { idempotencyKey });
    await posted(1);
    const waiting = bookedBy(two, { idempotencyKey });
    expect(await first).toMatchObject({ confirmation: 'UNCONFIRMED', upstreamId: null });
    expect(await waiting).toEqual(await first);
    expect(await bookedBy(two, { idempotencyKey })).toEqual(await first);
    expect(postsOf(sandbox)).toBe(1);
  });

  test('do not wait for one that was killed until a clock of the database that was set back comes to its end', async () => {
    const made = await bookedBy(one, { idempotencyKey });
    await leavePending(one);
    await letPass(one, -3_600_000);
    const unconfirmed = { ...made, confirmation: 'UNCONFIRMED', upstreamId: null };
    const waiting = bookedBy(two, { idempotencyKey });
    expect(await Promise.race([waiting, sleep(5_000, 'waits')])).toEqual(unconfirmed);
    expect(postsOf(sandbox)).toBe(1);
  });

  describe.each([-60, 90])('one of them with a clock %i seconds ahead', (seconds) => {
    let ahead: Replica;
    beforeEach(async () => {
      const clock = { now: () => sandbox.clock.now() + seconds * 1_000 };
      ahead = await startReplica(sandbox, url, { clock });
    });
    afterEach(() => ahead.stop());

    test('wait for its booking, and it for theirs', async () => {
      const pairs = [[ahead, one] as const, [one, ahead] as const];
      for (const [at, [first, second]] of pairs.entries()) {
        fail({ kind: 'delay', ms: 1_000 });
        const made = bookedBy(first, { idempotencyKey: `k ${at}` });
        await posted(at + 1);
        const waiting = bookedBy(second, { idempotencyKey: `k ${at}` });
        expect((await made).confirmation).toBe('CONFIRMED');
        expect(await waiting).toEqual(await made);
      }
      expect(postsOf(sandbox)).toBe(pairs.length);
    });

    test('wait no longer than a booking takes if it is killed', async () => {
      const made = await bookedBy(ahead, { idempotencyKey });
      await leavePending(ahead);
      const waiting = bookedBy(one, { idempotencyKey });
      // Two seconds are for the call, and five to write before and after it.
      await letPass(ahead, 2_000);
      expect(await Promise.race([waiting, sleep(300, 'waits')])).toBe('waits');
      await letPass(ahead, 5_000);
      const unconfirmed = { ...made, confirmation: 'UNCONFIRMED', upstreamId: null };
      expect(await Promise.race([waiting, sleep(5_000, 'waits')])).toEqual(unconfirmed);
      expect(postsOf(sandbox)).toBe(1);
    });
  });
});
