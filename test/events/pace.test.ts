import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createPace } from '../../src/events/pace.js';

test('begins so much in a round of the event loop, in the order of asking, and what comes meanwhile behind it', async () => {
  const pace = createPace(2);
  const begun: string[] = [];
  const begin = (name: string) => pace(() => begun.push(name));
  const rounds: string[] = [];
  const next = async () => {
    const before = begun.length;
    await turn();
    rounds.push(begun.slice(before).join(' '));
  };

  for (const name of ['a', 'b', 'c']) begin(name);
  pace(() => begin('e'));
  begin('d');
  expect(begun).toEqual([]);
  for (let round = 0; round < 4; round++) await next();
  expect(rounds).toEqual(['a b', 'c', 'd e', '']);

  begin('f');
  await next();
  expect(begun.at(-1)).toBe('f');
});
