import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { NotSent } from '../../src/appointments/client.js';
import type { BookingRequest } from '../../src/appointments/ledger.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.js';
import {
  appointment,
  bookedBy,
  other,
  postsOf,
  type Replica,
  requestOf,
  startReplica,
  unbounded,
} from './room.js';

/** What every ledger keeps to, on either engine. `freshUrl` gives the address of a new, empty database. */
export function ledgerContract(freshUrl: () => Promise<string>): void {
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
  const book = (more?: Partial<BookingRequest>, by = replica) => by.ledger.book(requestOf(more));
  const booked = (more?: Partial<BookingRequest>, by = replica) => bookedBy(by, more);
  const fail = (act: Parameters<Sandbox['faults']['add']>[0]['act'], times = 1) =>
    sandbox.faults.add({ service: 'appointments', times, act });
  const list = () => replica.ledger.list({ backward: false, limit: 100 }, unbounded);

  test('posts nothing where the row was kept too late', async () => {
    let at = sandbox.clock.now();
    const slow = await startReplica(sandbox, await freshUrl(), { clock: { now: () => (at += 6_000) } });
    await expect(book({}, slow)).rejects.toThrow('took too long');
    expect([posts(), await slow.ledger.list({ backward: false, limit: 1 }, unbounded)]).toEqual([0, []]);
    await slow.stop();
  });

  test('keeps what the service has booked, as it was written', async () => {
    const made = await booked();
    const upstream = sandbox.appointments.booked.at(-1)!;
    expect(made).toEqual({
      kind: 'Appointment',
      ledgerId: expect.stringMatching(/^[0-9a-f-]{36}$/),
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
    expect(await replica.ledger.find(made.ledgerId, 'user_1')).toEqual(made);
    expect(await replica.ledger.find(made.ledgerId, 'user_2')).toBeNull();
    expect(await replica.ledger.find('no\0id')).toBeNull();
  });

  test('books each request without a key for itself', async () => {
    const [one, two] = [await booked(), await booked()];
    expect([one.ledgerId === two.ledgerId, posts()]).toEqual([false, 2]);
  });

  test('gives the first answer again for the same key and input', async () => {
    const one = await booked({ idempotencyKey: 'k' });
    const reordered = { ...appointment };
    expect([await booked({ idempotencyKey: 'k', appointment: reordered }), posts()]).toEqual([one, 1]);
    expect(await book({ idempotencyKey: 'k', appointment: other })).toEqual({ conflict: true });
    await booked({ idempotencyKey: 'k', userId: 'user_2' });
    expect(posts()).toBe(2);
  });

  const keys = ['\0', '\ud800', '\ud800'.repeat(255), '"\\'];
  test.each(keys.map((key) => [JSON.stringify(key).slice(0, 40), key] as const))(
    'takes the key %s as it is',
    async (__, idempotencyKey) => {
      const [one, two] = [await booked({ idempotencyKey }), await booked({ idempotencyKey })];
      expect([one, posts()]).toEqual([two, 1]);
    },
  );

  test('posts once for fifty at the same moment', async () => {
    fail({ kind: 'delay', ms: 100 });
    const all = await Promise.all(Array.from({ length: 50 }, () => booked({ idempotencyKey: 'k' })));
    const ids = new Set(all.map(({ upstreamId }) => upstreamId));
    expect([ids, posts()]).toEqual([new Set([sandbox.appointments.booked.at(-1)!.id]), 1]);
  });

  test('tells another input at the same moment of its conflict at once', async () => {
    fail({ kind: 'delay', ms: 100 });
    const one = booked({ idempotencyKey: 'k' });
    expect(await book({ idempotencyKey: 'k', appointment: other })).toEqual({ conflict: true });
    expect((await one).confirmation).toBe('CONFIRMED');
  });

  test('frees the key of what the service refused', async () => {
    fail({ kind: 'answer', status: 422 });
    expect(await book({ idempotencyKey: 'k' })).toEqual({ refused: 422 });
    expect(await list()).toEqual([]);
    expect((await booked({ idempotencyKey: 'k', appointment: other })).status).toBe('FULFILLED');
  });

  test('frees the key of what was never sent', async () => {
    const back = sandbox.faults.add({ service: 'issuer', act: { kind: 'answer', status: 503 } });
    const lost = await startReplica(sandbox, await freshUrl());
    sandbox.appointments.revokeTokens();
    await expect(book({ idempotencyKey: 'k' }, lost)).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
    back();
    expect(await lost.ledger.list({ backward: false, limit: 1 }, unbounded)).toEqual([]);
    expect((await booked({ idempotencyKey: 'k' }, lost)).confirmation).toBe('CONFIRMED');
    await lost.stop();
  });

  test.each([
    ['cut', { kind: 'cut' }],
    ['failing', { kind: 'answer', status: 500 }],
    ['failing after all', { kind: 'afterwards', act: { kind: 'answer', status: 502 } }],
    ['hanging', { kind: 'hang' }],
  ] as const)('does not know what became of a call that is %s, and never posts it again', async (__, act) => {
    const quick = await startReplica(sandbox, await freshUrl(), { timeoutMs: 1_000 });
    fail(act);
    const one = await booked({ idempotencyKey: 'k' }, quick);
    expect([one.confirmation, one.upstreamId]).toEqual(['UNCONFIRMED', null]);
    expect([await booked({ idempotencyKey: 'k' }, quick), posts()]).toEqual([one, 1]);
    await quick.stop();
  });

  test('reads what a crash left behind as unconfirmed, and gives up waiting for it', async () => {
    const one = await booked({ idempotencyKey: 'k' });
    await replica.database.kysely
      .updateTable('bookings')
      .set({ state: 'PENDING', upstream_id: null })
      .execute();
    const late = booked({ idempotencyKey: 'k' });
    await new Promise((resolve) => setTimeout(resolve, 150));
    await sandbox.clock.advance(60_000);
    expect(await late).toEqual({ ...one, confirmation: 'UNCONFIRMED', upstreamId: null });
    expect([posts(), await list()]).toEqual([1, [await late]]);
  });

  /** The table is not there until it is put back. */
  const takeAway = async (table = 'bookings') => {
    const { schema } = replica.database.kysely;
    await schema.alterTable(table).renameTo(`${table}_away`).execute();
    return () => schema.alterTable(`${table}_away`).renameTo(table).execute();
  };

  test('books nothing where the token cannot be looked up, which is no fault of the issuer', async () => {
    const putBack = await takeAway('keyv');
    await expect(book({ idempotencyKey: 'k' })).rejects.toBeInstanceOf(NotSent);
    await putBack();
    expect([posts(), await list()]).toEqual([0, []]);
    expect((await booked({ idempotencyKey: 'k' })).confirmation).toBe('CONFIRMED');
  });

  test('answers what it knows when the row cannot be settled, and settles it later', async () => {
    fail({ kind: 'delay', ms: 200 });
    const under = booked({ idempotencyKey: 'k' });
    await expect.poll(posts, { timeout: 10_000 }).toBe(1);
    const putBack = await takeAway();
    const back = sleep(2_000).then(putBack);
    const made = await under;
    expect(made.confirmation).toBe('CONFIRMED');
    expect(await booked({ idempotencyKey: 'k' })).toEqual(made);
    expect(await book({ idempotencyKey: 'k', appointment: other })).toEqual({ conflict: true });
    await back;
    expect((await list())[0]!.confirmation).toBe('UNCONFIRMED');
    expect(await booked({ idempotencyKey: 'k' })).toEqual(made);
    await expect.poll(list, { timeout: 15_000 }).toEqual([made]);
    expect([await booked({ idempotencyKey: 'k' }), posts()]).toEqual([made, 1]);
  });

  test('frees the key of what was refused later, when it cannot at once', async () => {
    fail({ kind: 'delay', ms: 200, act: { kind: 'answer', status: 422 } });
    const under = book({ idempotencyKey: 'k' });
    await expect.poll(posts, { timeout: 10_000 }).toBe(1);
    const putBack = await takeAway();
    expect(await under).toEqual({ refused: 422 });
    expect(await book({ idempotencyKey: 'k' })).toEqual({ refused: 422 });
    await putBack();
    await expect.poll(list, { timeout: 15_000 }).toEqual([]);
    expect((await booked({ idempotencyKey: 'k', appointment: other })).status).toBe('FULFILLED');
  });

  test('leaves what it could not settle before its end as unconfirmed, and never posts it again', async () => {
    fail({ kind: 'delay', ms: 200 });
    const under = booked({ idempotencyKey: 'k' });
    await expect.poll(posts, { timeout: 10_000 }).toBe(1);
    await replica.database.stop();
    const made = await under;
    expect(made.confirmation).toBe('CONFIRMED');
    await replica.ledger.stop();
    replica = await startReplica(sandbox, url);
    await sandbox.clock.advance(60_000);
    const again = await booked({ idempotencyKey: 'k' });
    expect([again.ledgerId, again.confirmation, posts()]).toEqual([made.ledgerId, 'UNCONFIRMED', 1]);
  });

  test('stops when what is under way is settled, and hurries', async () => {
    fail({ kind: 'delay', ms: 200 });
    const under = booked();
    await expect.poll(posts, { timeout: 10_000 }).toBe(1);
    const putBack = await takeAway();
    const back = sleep(1_200).then(putBack);
    await replica.ledger.stop();
    await back;
    expect(await list()).toEqual([await under]);
    expect((await under).confirmation).toBe('CONFIRMED');
  });

  test('keeps a thousand participants and more', async () => {
    const participants = Array.from({ length: 2_500 }, (__, index) => ({
      actor: { reference: `Patient/${index}` },
      status: 'TENTATIVE' as const,
    }));
    const made = await booked({ appointment: { ...appointment, participants } });
    const found = await replica.ledger.list(
      { participant: 'Patient/2499', backward: false, limit: 5 },
      unbounded,
    );
    expect(found.map(({ ledgerId }) => ledgerId)).toEqual([made.ledgerId]);
  });
}
