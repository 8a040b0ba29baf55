import { expect, test } from 'vitest';
import {
  createRequestsUnderWay,
  type Keyed,
} from '../../../../src/domains/appointments/booking/requests-under-way.js';

const request: Keyed = { userId: 'ada', key: 'k1', inputDigest: 'morning' };
const other: Keyed = { ...request, inputDigest: 'evening' };

function createDeferred<T = void>() {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((succeed, fail) => {
    resolve = succeed;
    reject = fail;
  });
  return { promise, resolve, reject };
}

/** Requests that are told when to take their key, to end, and to have their row settled. */
function openRequests() {
  const requests = createRequestsUnderWay<string>();
  const started: Keyed[] = [];
  const join = (keyed: Keyed, row?: Promise<void>) => {
    const end = createDeferred<string>();
    let hold!: () => void;
    const result = requests.join(keyed, {
      start(take) {
        started.push(keyed);
        hold = take;
        return end.promise;
      },
      settled: () => row,
    });
    return { result, end, hold: () => hold() };
  };
  return { join, started };
}

test('the same request under way is carried out once, and shares its result', async () => {
  const { join, started } = openRequests();
  const first = join(request);
  const second = join(request);
  first.end.resolve('booked');
  expect(await Promise.all([first.result, second.result])).toEqual(['booked', 'booked']);
  expect(started).toEqual([request]);
});

test('another input is carried out too until the first one has taken the key, and then none is', () => {
  const { join, started } = openRequests();
  const first = join(request);
  expect(join(other).result).toBeDefined();
  first.hold();
  expect(join({ ...request, inputDigest: 'noon' }).result).toBeUndefined();
  expect(join(request).result).toBe(first.result);
  expect(started).toEqual([request, other]);
});

test('whoever ends without the key leaves it to its holder', async () => {
  const { join } = openRequests();
  const first = join(request);
  const second = join(other);
  first.hold();
  second.end.resolve('conflict');
  await second.result;
  expect(join(other).result).toBeUndefined();
});

test.each([
  ['another user', { ...other, userId: 'bob' }],
  ['another key', { ...other, key: 'k2' }],
  ['parts that only look alike in a row', { ...other, userId: 'ad', key: 'ak1' }],
])('%s is not held up', (_, keyed) => {
  const { join } = openRequests();
  join(request).hold();
  expect(join(keyed).result).toBeDefined();
});

test('what arrives before the row is settled still shares the result', async () => {
  const { join, started } = openRequests();
  const row = createDeferred();
  const first = join(request, row.promise);
  first.hold();
  first.end.resolve('booked');
  await first.result;
  expect(await join(request).result).toBe('booked');
  expect(join(other).result).toBeUndefined();
  row.resolve();
  await row.promise;
  expect(join(other).result).toBeDefined();
  expect(started).toEqual([request, other]);
});

test('a failure is shared, and leaves the key free', async () => {
  const { join, started } = openRequests();
  const first = join(request);
  const second = join(request);
  first.hold();
  first.end.reject(new Error('refused'));
  await expect(first.result).rejects.toThrow('refused');
  await expect(second.result).rejects.toThrow('refused');
  join(other).end.resolve('booked');
  expect(started).toEqual([request, other]);
});
