import { parse } from 'graphql';
import { expect, test } from 'vitest';
import { createHoldings, weigh } from '../../src/server/holdings.js';

const holding = (key: string, bytes: number) => ({ key, bytes });

test('refuses what exceeds the limit of a user, whatever other users hold', () => {
  const holdings = createHoldings(10);
  const release = holdings.take('one', [holding('a', 4), holding('b', 6)]);
  expect(holdings.take('one', [holding('c', 1)])).toBeUndefined();
  expect(holdings.take('other', [holding('c', 10)])).toBeTypeOf('function');
  release!();
  expect(holdings.take('one', [holding('c', 10)])).toBeTypeOf('function');
});

test('counts a shared thing once, until its last holder releases it', () => {
  const holdings = createHoldings(10);
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
  const holdings = createHoldings(10);
  holdings.take('one', [holding('a', 4)]);
  const release = holdings.take('one', [holding('b', 6)])!;
  release();
  expect(holdings.take('one', [holding('c', 7)])).toBeUndefined();
  expect(holdings.take('one', [holding('c', 6)])).toBeTypeOf('function');
});

test('counts some memory for each subscription, even if it shares all the rest', () => {
  const document = parse('subscription { shipmentUpdates { cursor } }');
  const [, , ...own] = weigh(document, 'key', '', []);
  const [, , ...others] = weigh(document, 'key', '', []);
  const holdings = createHoldings(own.reduce((sum, { bytes }) => sum + bytes, 0));
  expect(holdings.take('one', own)).toBeTypeOf('function');
  expect(holdings.take('one', others)).toBeUndefined();
});
