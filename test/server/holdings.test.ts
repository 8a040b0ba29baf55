import { parse } from 'graphql';
import { expect, test } from 'vitest';
import { createHoldings, weigh } from '../../src/server/holdings.js';

const holding = (key: string, bytes: number) => ({ key, bytes });

test('a user holds no more than that, and others as much', () => {
  const holdings = createHoldings(10);
  const leave = holdings.take('one', [holding('a', 4), holding('b', 6)]);
  expect(holdings.take('one', [holding('c', 1)])).toBeUndefined();
  expect(holdings.take('other', [holding('c', 10)])).toBeTypeOf('function');
  leave!();
  expect(holdings.take('one', [holding('c', 10)])).toBeTypeOf('function');
});

test('what is shared counts once, until the last has let go of it', () => {
  const holdings = createHoldings(10);
  const leave = holdings.take('one', [holding('a', 6), holding('b', 4)])!;
  const [second, third] = [
    holdings.take('one', [holding('a', 6)])!,
    holdings.take('one', [holding('a', 6)])!,
  ];
  leave();
  second();
  expect(holdings.take('one', [holding('c', 5)])).toBeUndefined();
  third();
  expect(holdings.take('one', [holding('c', 10)])).toBeTypeOf('function');
});

test('what is let go of while others stay makes room', () => {
  const holdings = createHoldings(10);
  holdings.take('one', [holding('a', 4)]);
  const leave = holdings.take('one', [holding('b', 6)])!;
  leave();
  expect(holdings.take('one', [holding('c', 7)])).toBeUndefined();
  expect(holdings.take('one', [holding('c', 6)])).toBeTypeOf('function');
});

test('a subscription weighs something by itself, however much it shares', () => {
  const document = parse('subscription { shipmentUpdates { cursor } }');
  const [, , ...own] = weigh(document, 'key', '', []);
  const [, , ...others] = weigh(document, 'key', '', []);
  const holdings = createHoldings(own.reduce((sum, { bytes }) => sum + bytes, 0));
  expect(holdings.take('one', own)).toBeTypeOf('function');
  expect(holdings.take('one', others)).toBeUndefined();
});
