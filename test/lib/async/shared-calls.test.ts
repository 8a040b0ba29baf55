import { describe, expect, it } from 'vitest';
import { LightAbortController, type Signal } from '../../../src/lib/async/abort.js';
import { SharedCalls } from '../../../src/lib/async/shared-calls.js';
import { abortedSignal } from '../../support/endings.js';

const abandoned = () => new Error('abandoned');

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
    const calls = new SharedCalls<string>(abandoned);
    const { start, starts, resolve } = startCall();
    const asking = Array.from({ length: 50 }, () => calls.share('owner', 'key', start));
    resolve('landed');
    expect(new Set(await Promise.all(asking))).toEqual(new Set(['landed']));
    expect(starts).toHaveLength(1);
  });

  it('do not start for a caller whose signal is aborted', async () => {
    const calls = new SharedCalls<string>(abandoned);
    const { start, starts } = startCall();
    const asking = calls.share('owner', 'key', start, abortedSignal());
    await expect(asking).rejects.toThrow('abandoned');
    expect(starts).toHaveLength(0);
  });

  it('are not shared between owners or keys, nor after they have ended', async () => {
    const calls = new SharedCalls<string>(abandoned);
    const { start, starts, resolve } = startCall();
    const asking = [
      calls.share('one', 'key', start),
      calls.share('two', 'key', start),
      calls.share('one', 'other', start),
    ];
    resolve('landed');
    await Promise.all(asking);
    await calls.share('one', 'key', start);
    expect(starts).toHaveLength(4);
  });

  it('go on when one caller leaves; that caller gets an error at once', async () => {
    const calls = new SharedCalls<string>(abandoned);
    const { start, starts, resolve } = startCall();
    const ending = new LightAbortController();
    const leaving = calls.share('owner', 'key', start, ending);
    const staying = calls.share('owner', 'key', start, new LightAbortController());
    ending.abort();
    await expect(leaving).rejects.toThrow('abandoned');
    expect(starts[0]?.aborted).toBe(false);
    resolve('landed');
    expect(await staying).toBe('landed');
  });

  it('are aborted when all callers have left, and nobody joins them afterwards', async () => {
    const calls = new SharedCalls<string>(abandoned);
    const given = startCall();
    const ending = new LightAbortController();
    const leaving = [1, 2].map(() => calls.share('owner', 'key', given.start, ending));
    ending.abort();
    await Promise.allSettled(leaving);
    expect(given.starts.map(({ aborted }) => aborted)).toEqual([true]);
    given.reject(new Error('given up'));
    const next = startCall();
    next.resolve('landed');
    expect(await calls.share('owner', 'key', next.start)).toBe('landed');
  });

  it('that were dropped still end, but later callers start one of their own', async () => {
    const calls = new SharedCalls<string>(abandoned);
    const [before, after] = [startCall(), startCall()];
    const early = calls.share('owner', 'key', before.start);
    calls.drop('owner');
    const late = calls.share('owner', 'key', after.start);
    before.resolve('before');
    expect(await early).toBe('before');
    const joining = calls.share('owner', 'key', before.start);
    after.resolve('after');
    expect(await Promise.all([late, joining])).toEqual(['after', 'after']);
  });

  it('fail for all callers', async () => {
    const calls = new SharedCalls<string>(abandoned);
    const { start, reject } = startCall();
    const asking = [1, 2, 3].map(() => calls.share('owner', 'key', start));
    reject(new Error('lost'));
    const outcomes = await Promise.allSettled(asking);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });
});
