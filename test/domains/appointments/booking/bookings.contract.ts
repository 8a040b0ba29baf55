import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { NotSent, type NewAppointment } from '../../../../src/domains/appointments/service/client.js';
import type { BookingRequest } from '../../../../src/domains/appointments/booking/bookings.js';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.js';
import {
  appointment,
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

/** The tests of the bookings that hold on every engine; `freshUrl` gives the address of a new, empty database. */
export function bookingsContract(freshUrl: () => Promise<string>): void {
  let sandbox: Sandbox;
  let url: string;
  let replica: Replica;
  let before: number;

  beforeAll(async () => {
    sandbox = await startSandbox({ demo: false });
  });
  afterAll(() => sandbox.stop());
  beforeEach(async () => {
    sandbox.faults.clear();
    url = await freshUrl();
    replica = await startReplica(sandbox, url);
    before = postsOf(sandbox);
  });
  afterEach(() => replica.stop());

  const posts = () => postsOf(sandbox) - before;
  const book = (more?: Partial<BookingRequest>, by = replica) => by.bookings.book(requestOf(more));
  const booked = (more?: Partial<BookingRequest>, by = replica) => bookedBy(by, more);
  const fail = (act: Parameters<Sandbox['faults']['add']>[0]['act'], times = 1) =>
    sandbox.faults.add({ service: 'appointments', times, act });
  const list = () => replica.read().list({ backward: false, limit: 100 });

  test.each([
    [1, 'too busy'],
    [2, 'took too long'],
  ])('posts nothing if storing the row is late, by the clock after %i look: %s', async (looks, fault) => {
    const began = sandbox.clock.now();
    let looked = 0;
    const now = () => (looked++ < looks ? began : began + 6_000);
    const slow = await startReplica(sandbox, await freshUrl(), { clock: { now } });
    await expect(book({}, slow)).rejects.toThrow(fault);
    expect([posts(), await slow.read().list({ backward: false, limit: 1 })]).toEqual([0, []]);
    await slow.stop();
  });

  test('stores what the service has booked, with date-times as they were written', async () => {
    const made = await booked();
    const upstream = sandbox.appointments.booked.at(-1)!;
    expect(made).toEqual({
      kind: 'Appointment',
      bookingId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      upstreamId: upstream.id,
      ...appointment,
      bookedAt: expect.stringMatching(/Z$/),
      bookedBy: 'one@example.com',
      confirmation: 'CONFIRMED',
    });
    expect([upstream.start, upstream.end, upstream.participant[1]!.status]).toEqual([
      appointment.start,
      appointment.end,
      'needs-action',
    ]);
    expect(await list()).toEqual([made]);
    expect(await replica.read().find(made.bookingId, 'user_1')).toEqual(made);
    expect(await replica.read().find(made.bookingId, 'user_2')).toBeNull();
    expect(await replica.read().find('no\0id')).toBeNull();
  });

  test('stores a start with a fraction of any length', async () => {
    // Random, as Postgres compresses what it repeats.
    const digits = Array.from({ length: 20_000 }, () => randomInt(10)).join('');
    const start = `2026-11-21T09:30:00.${digits}Z`;
    const made = await booked({ appointment: { ...appointment, start, end: '2026-11-22T00:00:00Z' } });
    expect([made.start, await list()]).toEqual([start, [made]]);
  });

  test('makes a new booking for each request without a key', async () => {
    const [one, two] = [await booked(), await booked()];
    expect([one.bookingId === two.bookingId, posts()]).toEqual([false, 2]);
  });

  test('gives the first answer again for the same key and input', async () => {
    const one = await booked({ idempotencyKey: 'k' });
    const reordered = Object.fromEntries(Object.entries(appointment).toReversed()) as typeof appointment;
    expect([await booked({ idempotencyKey: 'k', appointment: reordered }), posts()]).toEqual([one, 1]);
    const [patient, practitioner] = appointment.participants;
    const changes: readonly Partial<NewAppointment>[] = [
      { status: 'FULFILLED' },
      { start: '2026-11-21T09:30:00.126+01:00' },
      { end: '2026-11-21T10:00:01+01:00' },
      { participants: [patient] },
      { participants: [patient, { ...practitioner, status: 'DECLINED' }] },
      { participants: [patient, { ...practitioner, actor: { reference: 'Practitioner/8' } }] },
    ];
    for (const change of changes)
      expect(await book({ idempotencyKey: 'k', appointment: { ...appointment, ...change } })).toEqual({
        conflict: true,
      });
    await booked({ idempotencyKey: 'k', userId: 'user_2' });
    expect(posts()).toBe(2);
  });

  test('accepts any key as it is', async () => {
    const keys = ['\0', '\ud800', '\ud800'.repeat(255), '"\\'];
    for (const [at, idempotencyKey] of keys.entries()) {
      const [one, two] = [await booked({ idempotencyKey }), await booked({ idempotencyKey })];
      expect([idempotencyKey, one, posts()]).toEqual([idempotencyKey, two, at + 1]);
    }
  });

  test('posts once for fifty concurrent requests with the same key', async () => {
    fail({ kind: 'delay', ms: 100 });
    const all = await Promise.all(Array.from({ length: 50 }, () => booked({ idempotencyKey: 'k' })));
    const ids = new Set(all.map(({ upstreamId }) => upstreamId));
    expect([ids, posts()]).toEqual([new Set([sandbox.appointments.booked.at(-1)!.id]), 1]);
  });

  test('tells users apart who give the same key at the same time', async () => {
    fail({ kind: 'delay', ms: 100 });
    const idempotencyKey = 'k';
    const [one, two] = await Promise.all([
      booked({ idempotencyKey }),
      booked({ idempotencyKey, userId: 'user_2', email: 'two@example.com' }),
    ]);
    expect([one.bookedBy, two.bookedBy, posts()]).toEqual(['one@example.com', 'two@example.com', 2]);
  });

  test('reports a conflict for another input at once, while the first is in progress', async () => {
    fail({ kind: 'delay', ms: 100 });
    // Whichever is written first is made.
    const outcomes: string[] = [];
    const inputs = [{}, { appointment: other }].map(async (input) => {
      const outcome = await book({ idempotencyKey: 'k', ...input });
      outcomes.push('conflict' in outcome ? 'conflict' : JSON.stringify('appointment' in outcome));
    });
    await Promise.all(inputs);
    expect(outcomes).toEqual(['conflict', 'true']);
  });

  test('frees the key of a booking that the service refused', async () => {
    fail({ kind: 'answer', status: 422 });
    expect(await book({ idempotencyKey: 'k' })).toEqual({ refused: 422 });
    expect(await list()).toEqual([]);
    expect((await booked({ idempotencyKey: 'k', appointment: other })).status).toBe('FULFILLED');
  });

  test('frees the key of a booking that was never sent', async () => {
    const restoreIssuer = sandbox.faults.add({ service: 'issuer', act: { kind: 'answer', status: 503 } });
    const withoutToken = await startReplica(sandbox, await freshUrl());
    sandbox.appointments.revokeTokens();
    await expect(book({ idempotencyKey: 'k' }, withoutToken)).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
    });
    restoreIssuer();
    expect(await withoutToken.read().list({ backward: false, limit: 1 })).toEqual([]);
    expect((await booked({ idempotencyKey: 'k' }, withoutToken)).confirmation).toBe('CONFIRMED');
    await withoutToken.stop();
  });

  test.each([
    ['cuts its answer', { kind: 'cut' }],
    ['fails', { kind: 'answer', status: 500 }],
    ['books and then fails', { kind: 'afterwards', act: { kind: 'answer', status: 502 } }],
    ['hangs', { kind: 'hang' }],
  ] as const)(
    'reports a booking as UNCONFIRMED, and never posts it again, if the service %s',
    async (__, act) => {
      const quick = await startReplica(sandbox, await freshUrl(), { timeoutMs: 1_000 });
      fail(act);
      const one = await booked({ idempotencyKey: 'k' }, quick);
      expect([one.confirmation, one.upstreamId]).toEqual(['UNCONFIRMED', null]);
      expect([await booked({ idempotencyKey: 'k' }, quick), posts()]).toEqual([one, 1]);
      await quick.stop();
    },
  );

  test('reads a booking left pending by a crash as UNCONFIRMED, though the clock was ahead until then', async () => {
    const ahead = { now: () => sandbox.clock.now() + 90_000 };
    await replica.stop();
    replica = await startReplica(sandbox, url, { clock: ahead, timeoutMs: 1_000 });
    const one = await booked({ idempotencyKey: 'k' });
    await leavePending(replica);
    await replica.stop();
    replica = await startReplica(sandbox, url);
    // A second is for the call, and five to write before and after it.
    await letPass(replica, 6_000);
    const late = booked({ idempotencyKey: 'k' });
    const unconfirmed = { ...one, confirmation: 'UNCONFIRMED', upstreamId: null };
    expect(await Promise.race([late, sleep(5_000, 'waits')])).toEqual(unconfirmed);
    expect([posts(), await list()]).toEqual([1, [unconfirmed]]);
  });

  test('books nothing if the token cannot be looked up in the database', async () => {
    const restoreTable = await hideTable(replica, 'keyv');
    await expect(book({ idempotencyKey: 'k' })).rejects.toBeInstanceOf(NotSent);
    await restoreTable();
    expect([posts(), await list()]).toEqual([0, []]);
    expect((await booked({ idempotencyKey: 'k' })).confirmation).toBe('CONFIRMED');
  });

  test('returns the known outcome if the row cannot be settled, and settles it later', async () => {
    fail({ kind: 'delay', ms: callMs });
    const inProgress = booked({ idempotencyKey: 'k' });
    await expect.poll(posts, { timeout: 10_000 }).toBe(1);
    const restoreTable = await hideTable(replica);
    await sandbox.clock.advance(callMs);
    const made = await inProgress;
    expect(made.confirmation).toBe('CONFIRMED');
    expect(await booked({ idempotencyKey: 'k' })).toEqual(made);
    expect(await book({ idempotencyKey: 'k', appointment: other })).toEqual({ conflict: true });
    await restoreTable();
    expect((await list())[0]!.confirmation).toBe('UNCONFIRMED');
    expect(await booked({ idempotencyKey: 'k' })).toEqual(made);
    await expect.poll(list, { timeout: 15_000 }).toEqual([made]);
    expect([await booked({ idempotencyKey: 'k' }), posts()]).toEqual([made, 1]);
  });

  test('frees the key of a refused booking later if it cannot at once', async () => {
    fail({ kind: 'delay', ms: callMs, act: { kind: 'answer', status: 422 } });
    const inProgress = book({ idempotencyKey: 'k' });
    await expect.poll(posts, { timeout: 10_000 }).toBe(1);
    const restoreTable = await hideTable(replica);
    await sandbox.clock.advance(callMs);
    expect(await inProgress).toEqual({ refused: 422 });
    expect(await book({ idempotencyKey: 'k' })).toEqual({ refused: 422 });
    await restoreTable();
    await expect.poll(list, { timeout: 15_000 }).toEqual([]);
    expect((await booked({ idempotencyKey: 'k', appointment: other })).status).toBe('FULFILLED');
  });

  test('leaves a booking UNCONFIRMED if it stops before settling it, and never posts it again', async () => {
    fail({ kind: 'delay', ms: callMs });
    const inProgress = booked({ idempotencyKey: 'k' });
    await expect.poll(posts, { timeout: 10_000 }).toBe(1);
    await replica.database.stop();
    await sandbox.clock.advance(callMs);
    const made = await inProgress;
    expect(made.confirmation).toBe('CONFIRMED');
    await replica.bookings.stop();
    replica = await startReplica(sandbox, url);
    await letPass(replica, 7_000);
    const again = await booked({ idempotencyKey: 'k' });
    expect([again.bookingId, again.confirmation, posts()]).toEqual([made.bookingId, 'UNCONFIRMED', 1]);
  });

  test('stores a booking of 2,500 participants', async () => {
    const participants = Array.from({ length: 2_500 }, (__, index) => ({
      actor: { reference: `Patient/${index}` },
      status: 'TENTATIVE' as const,
    }));
    const made = await booked({ appointment: { ...appointment, participants } });
    const found = await replica.read().list({ participant: 'Patient/2499', backward: false, limit: 5 });
    expect(found.map(({ bookingId }) => bookingId)).toEqual([made.bookingId]);
  });
}
