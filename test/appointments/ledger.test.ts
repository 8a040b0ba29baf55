import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FaultAction } from '../../src/sandbox/faults.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.js';
import { engines, noPostgres } from '../support/engines.js';
import { createTestDatabase } from '../support/postgres.js';
import { ledgerContract } from './ledger.contract.js';
import { bookedBy, other, postsOf, type Replica, requestOf, startReplica } from './room.js';

describe.each(engines)('the ledger on %s', (_, freshUrl) => ledgerContract(freshUrl));

describe.skipIf(noPostgres)('replicas of the ledger on postgres', () => {
  const idempotencyKey = 'k';
  let sandbox: Sandbox;
  let one: Replica;
  let two: Replica;

  beforeEach(async () => {
    sandbox = await startSandbox({ demo: false });
    const url = await createTestDatabase();
    [one, two] = [await startReplica(sandbox, url), await startReplica(sandbox, url)];
  });
  afterEach(async () => {
    await one.stop();
    await two.stop();
    await sandbox.stop();
  });

  /** The first booking misbehaves so. */
  const fail = (act: FaultAction) => sandbox.faults.add({ service: 'appointments', times: 1, act });
  const posted = async (count: number) => {
    await expect.poll(() => postsOf(sandbox), { timeout: 10_000 }).toBe(count);
  };

  test('post once for fifty of the same key at the same moment', async () => {
    fail({ kind: 'delay', ms: 100 });
    const all = Array.from({ length: 50 }, (_, at) => bookedBy(at % 2 === 0 ? one : two, { idempotencyKey }));
    const answers = await Promise.all(all);
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]!.upstreamId).toBe(sandbox.appointments.booked[0]!.id);
    expect(postsOf(sandbox)).toBe(1);
  });

  test('tell another input of its conflict while the first is under way elsewhere', async () => {
    fail({ kind: 'delay', ms: 500 });
    const under = bookedBy(one, { idempotencyKey });
    await posted(1);
    expect(await two.ledger.book(requestOf({ idempotencyKey, appointment: other }))).toEqual({
      conflict: true,
    });
    expect((await under).confirmation).toBe('CONFIRMED');
  });

  test('wait for one that is refused elsewhere, and then book', async () => {
    fail({ kind: 'delay', ms: 500, act: { kind: 'answer', status: 422 } });
    const under = one.ledger.book(requestOf({ idempotencyKey }));
    await posted(1);
    const waiting = bookedBy(two, { idempotencyKey });
    expect(await under).toEqual({ refused: 422 });
    expect((await waiting).confirmation).toBe('CONFIRMED');
    expect(postsOf(sandbox)).toBe(2);
  });

  test('never post again what another does not know the outcome of', async () => {
    fail({ kind: 'afterwards', act: { kind: 'delay', ms: 500, act: { kind: 'refuse' } } });
    const under = bookedBy(one, { idempotencyKey });
    await posted(1);
    const waiting = bookedBy(two, { idempotencyKey });
    expect(await under).toMatchObject({ confirmation: 'UNCONFIRMED', upstreamId: null });
    expect(await waiting).toEqual(await under);
    expect(await bookedBy(two, { idempotencyKey })).toEqual(await under);
    expect(postsOf(sandbox)).toBe(1);
  });
});
