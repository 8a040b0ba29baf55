import { parse } from 'graphql';
import { expect, test } from 'vitest';
import { MemoryLedger } from '../../../src/lib/memory-ledger.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { createHoldings, weigh } from '../../../src/server/live/subscription-quota.js';

const holding = (key: string, bytes: number, fields = 0, values: readonly unknown[] = ['any']) => ({
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
  const holdings = createHoldings(ledger(), most, 0);
  const release = holdings.take('one', [holding('a', 4), holding('b', 6)]);
  expect(holdings.take('one', [holding('c', 1)])).toBeUndefined();
  expect(holdings.take('other', [holding('c', 10)])).toBeTypeOf('function');
  release!();
  expect(holdings.take('one', [holding('c', 10)])).toBeTypeOf('function');
});

test('refuses more fields than a user may have rendered for each event, until some are released', () => {
  const holdings = createHoldings(ledger(), most, 0);
  const release = holdings.take('one', [holding('a', 1, 6)])!;
  expect(holdings.take('one', [holding('b', 1, 5)])).toBeUndefined();
  expect(holdings.take('one', [holding('a', 1, 6)])).toBeTypeOf('function');
  expect(holdings.take('other', [holding('b', 1, 5)])).toBeTypeOf('function');
  expect(holdings.take('one', [holding('c', 1, 4)])).toBeTypeOf('function');
  release();
  expect(holdings.take('one', [holding('d', 1, 1)])).toBeUndefined();
});

test('counts fields for each value by itself', () => {
  const holdings = createHoldings(ledger(), most, 0);
  const release = holdings.take('one', [holding('a', 1, 6, ['x', 'y'])])!;
  expect(holdings.take('one', [holding('b', 1, 6, ['z'])])).toBeTypeOf('function');
  expect(holdings.take('one', [holding('c', 1, 6, ['w', 'y'])])).toBeUndefined();
  expect(holdings.take('one', [holding('d', 1, 4, ['w', 'y'])])).toBeTypeOf('function');
  release();
  expect(holdings.take('one', [holding('e', 1, 6, ['x', 'y'])])).toBeTypeOf('function');
});

test('frees the fields of what is released', () => {
  const holdings = createHoldings(ledger(), most, 0);
  holdings.take('one', [holding('a', 1, 6)])!();
  expect(holdings.take('one', [holding('b', 1, 10)])).toBeTypeOf('function');
});

test('counts a shared thing once, until its last holder releases it', () => {
  const holdings = createHoldings(ledger(), most, 0);
  const release = holdings.take('one', [holding('a', 6), holding('b', 4)])!;
  const [second, third] = [
    holdings.take('one', [holding('a', 6)])!,
    holdings.take('one', [holding('a', 6)])!,
  ];
  release();
  second();
  expect(holdings.take('one', [holding('c', 5)])).toBeUndefined();
  third();
  expect(holdings.take('one', [holding('c', 10)])).toBeTypeOf('function');
});

test('frees what is released while the rest is still held', () => {
  const holdings = createHoldings(ledger(), most, 0);
  holdings.take('one', [holding('a', 4)]);
  const release = holdings.take('one', [holding('b', 6)])!;
  release();
  expect(holdings.take('one', [holding('c', 7)])).toBeUndefined();
  expect(holdings.take('one', [holding('c', 6)])).toBeTypeOf('function');
});

test('counts some memory for each subscription, even if it shares all the rest', () => {
  const document = parse('subscription { shipmentUpdates { cursor } }');
  const items = weigh({ document, key: 'key', parameters: '', selected: [], fields: 5 });
  const shared = items.reduce((sum, { bytes }) => sum + bytes, 0);
  const holdings = createHoldings(ledger(), { bytes: shared + 2_000, fields: 5 }, 1_000);
  const release = holdings.take('one', items)!;
  expect(holdings.take('one', items)).toBeTypeOf('function');
  expect(holdings.take('one', items)).toBeUndefined();
  release();
  expect(holdings.take('one', items)).toBeTypeOf('function');
  expect(createHoldings(ledger(), { bytes: shared, fields: 5 }).take('one', items)).toBeUndefined();
});

test('refuses what there is no memory for, though each user holds less than the limit', () => {
  const held = ledger(10 * mebibyte);
  const holdings = createHoldings(held);
  const take = (user: string) => holdings.take(user, [holding('a', 4 * mebibyte)]);
  const release = take('one');
  expect(take('two')).toBeTypeOf('function');
  expect(take('three')).toBeUndefined();
  expect(held.hasRoom('user three', mebibyte)).toBe(false);
  release!();
  expect(take('three')).toBeTypeOf('function');
});
