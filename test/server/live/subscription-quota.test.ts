import { parse } from 'graphql';
import { expect, test } from 'vitest';
import { MemoryLedger } from '../../../src/lib/memory/memory-ledger.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { createSubscriptionQuota, weigh } from '../../../src/server/live/subscription-quota.js';

const item = (key: string, bytes: number, fields = 0, values: readonly unknown[] = ['any']) => ({
  key,
  bytes,
  fields,
  values,
});
const most = { bytes: 10, fields: 10 };
const mebibyte = 1024 * 1024;
const ledger = (heap = 100 * mebibyte) =>
  new MemoryLedger(createTelemetry('silent'), { heap, buffers: heap });

test('refuses what exceeds the limit of a user, whatever other users hold', () => {
  const quota = createSubscriptionQuota(ledger(), most, 0);
  const release = quota.take('one', [item('a', 4), item('b', 6)]);
  expect(quota.take('one', [item('c', 1)])).toBeUndefined();
  expect(quota.take('other', [item('c', 10)])).toBeTypeOf('function');
  release!();
  expect(quota.take('one', [item('c', 10)])).toBeTypeOf('function');
});

test('refuses more fields than a user may have rendered for each event, until some are released', () => {
  const quota = createSubscriptionQuota(ledger(), most, 0);
  const release = quota.take('one', [item('a', 1, 6)])!;
  expect(quota.take('one', [item('b', 1, 5)])).toBeUndefined();
  expect(quota.take('one', [item('a', 1, 6)])).toBeTypeOf('function');
  expect(quota.take('other', [item('b', 1, 5)])).toBeTypeOf('function');
  expect(quota.take('one', [item('c', 1, 4)])).toBeTypeOf('function');
  release();
  expect(quota.take('one', [item('d', 1, 1)])).toBeUndefined();
});

test('counts fields for each value by itself', () => {
  const quota = createSubscriptionQuota(ledger(), most, 0);
  const release = quota.take('one', [item('a', 1, 6, ['x', 'y'])])!;
  expect(quota.take('one', [item('b', 1, 6, ['z'])])).toBeTypeOf('function');
  expect(quota.take('one', [item('c', 1, 6, ['w', 'y'])])).toBeUndefined();
  expect(quota.take('one', [item('d', 1, 4, ['w', 'y'])])).toBeTypeOf('function');
  release();
  expect(quota.take('one', [item('e', 1, 6, ['x', 'y'])])).toBeTypeOf('function');
});

test('frees the fields of what is released', () => {
  const quota = createSubscriptionQuota(ledger(), most, 0);
  quota.take('one', [item('a', 1, 6)])!();
  expect(quota.take('one', [item('b', 1, 10)])).toBeTypeOf('function');
});

test('counts a shared thing once, until its last holder releases it', () => {
  const quota = createSubscriptionQuota(ledger(), most, 0);
  const release = quota.take('one', [item('a', 6), item('b', 4)])!;
  const [second, third] = [quota.take('one', [item('a', 6)])!, quota.take('one', [item('a', 6)])!];
  release();
  second();
  expect(quota.take('one', [item('c', 5)])).toBeUndefined();
  third();
  expect(quota.take('one', [item('c', 10)])).toBeTypeOf('function');
});

test('frees what is released while the rest is still held', () => {
  const quota = createSubscriptionQuota(ledger(), most, 0);
  quota.take('one', [item('a', 4)]);
  const release = quota.take('one', [item('b', 6)])!;
  release();
  expect(quota.take('one', [item('c', 7)])).toBeUndefined();
  expect(quota.take('one', [item('c', 6)])).toBeTypeOf('function');
});

test('counts some memory for each subscription, even if it shares all the rest', () => {
  const document = parse('subscription { shipmentUpdates { cursor } }');
  const items = weigh({ document, key: 'key', parameters: '', selected: [], fields: 5 });
  const shared = items.reduce((sum, { bytes }) => sum + bytes, 0);
  const quota = createSubscriptionQuota(ledger(), { bytes: shared + 2_000, fields: 5 }, 1_000);
  const release = quota.take('one', items)!;
  expect(quota.take('one', items)).toBeTypeOf('function');
  expect(quota.take('one', items)).toBeUndefined();
  release();
  expect(quota.take('one', items)).toBeTypeOf('function');
  expect(createSubscriptionQuota(ledger(), { bytes: shared, fields: 5 }).take('one', items)).toBeUndefined();
});

test('refuses what there is no memory for, though each user holds less than the limit', () => {
  const held = ledger(10 * mebibyte);
  const quota = createSubscriptionQuota(held);
  const take = (user: string) => quota.take(user, [item('a', 4 * mebibyte)]);
  const release = take('one');
  expect(take('two')).toBeTypeOf('function');
  expect(take('three')).toBeUndefined();
  expect(held.hasRoom('user three', mebibyte)).toBe(false);
  release!();
  expect(take('three')).toBeTypeOf('function');
});
