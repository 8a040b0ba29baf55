import { describe, expect, it } from 'vitest';
import { LightAbortController, type Signal } from '../../src/lib/async/abort.js';
import { createFlights } from '../../src/upstream/shared-calls.js';
import { abortedSignal } from '../support/endings.js';

/** A call that the test settles. */
function startCall() {
  let resolve!: (outcome: string) => void;
  let reject!: (error: Error) => void;
  const outcome = new Promise<string>((...ways) => ([resolve, reject] = ways));
  const starts: Signal[] = [];
  const start = (signal: Signal) => {
    starts.push(signal);
    return outcome;
  };
  return { resolve, reject, start, starts };
}

describe('shared calls', () => {
  it('make one call for all callers that ask for the same', async () => {
    const flights = createFlights<string>('notes');
    const { start, starts, resolve } = startCall();
    const asking = Array.from({ length: 50 }, () => flights.share('owner', 'key', start));
    resolve('landed');
    expect(new Set(await Promise.all(asking))).toEqual(new Set(['landed']));
    expect(starts).toHaveLength(1);
  });

  it('do not start for a caller whose signal is aborted', async () => {
    const flights = createFlights<string>('notes');
    const { start, starts } = startCall();
    const asking = flights.share('owner', 'key', start, abortedSignal());
    await expect(asking).rejects.toMatchObject({ reason: 'abandoned' });
    expect(starts).toHaveLength(0);
  });

  it('are not shared between owners or keys, nor after they have ended', async () => {
    const flights = createFlights<string>('notes');
    const { start, starts, resolve } = startCall();
    const asking = [
      flights.share('one', 'key', start),
      flights.share('two', 'key', start),
      flights.share('one', 'other', start),
    ];
    resolve('landed');
    await Promise.all(asking);
    await flights.share('one', 'key', start);
    expect(starts).toHaveLength(4);
  });

  it('go on when one caller leaves; that caller gets an error at once', async () => {
    const flights = createFlights<string>('notes');
    const { start, starts, resolve } = startCall();
    const ending = new LightAbortController();
    const leaving = flights.share('owner', 'key', start, ending);
    const staying = flights.share('owner', 'key', start, new LightAbortController());
    ending.abort();
    await expect(leaving).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    expect(starts[0]?.aborted).toBe(false);
    resolve('landed');
    expect(await staying).toBe('landed');
  });

  it('are aborted when all callers have left, and nobody joins them afterwards', async () => {
    const flights = createFlights<string>('notes');
    const given = startCall();
    const ending = new LightAbortController();
    const leaving = [1, 2].map(() => flights.share('owner', 'key', given.start, ending));
    ending.abort();
    await Promise.allSettled(leaving);
    expect(given.starts.map(({ aborted }) => aborted)).toEqual([true]);
    given.reject(new Error('given up'));
    const next = startCall();
    next.resolve('landed');
    expect(await flights.share('owner', 'key', next.start)).toBe('landed');
  });

  it('that were dropped still end, but later callers start one of their own', async () => {
    const flights = createFlights<string>('notes');
    const [before, after] = [startCall(), startCall()];
    const early = flights.share('owner', 'key', before.start);
    flights.drop('owner');
    const late = flights.share('owner', 'key', after.start);
    before.resolve('before');
    expect(await early).toBe('before');
    const joining = flights.share('owner', 'key', before.start);
    after.resolve('after');
    expect(await Promise.all([late, joining])).toEqual(['after', 'after']);
  });

  it('fail for all callers', async () => {
    const flights = createFlights<string>('notes');
    const { start, reject } = startCall();
    const asking = [1, 2, 3].map(() => flights.share('owner', 'key', start));
    reject(new Error('lost'));
    const outcomes = await Promise.allSettled(asking);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });
});
