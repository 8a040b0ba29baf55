import { expect, test } from 'vitest';
import { createContexts, type Common, type Own } from '../src/context.js';
import { Ending } from '../src/signal.js';

test('what outlives an operation ends neither with it nor with another', () => {
  const common = { feed: { place: () => ({ seq: 0, witness: '' }) } } as unknown as Common;
  const make = createContexts(common, {} as Own);
  const operation = make({ session: undefined, signal: () => new Ending(), ip: '', requestId: 'request' });
  const [one, other] = [operation.lasting(), operation.lasting()];
  operation.giveUp();
  expect([operation.signal.aborted, one.signal.aborted, other.signal.aborted]).toEqual([true, false, false]);
  one.giveUp();
  expect([one.signal.aborted, other.signal.aborted]).toEqual([true, false]);
});
