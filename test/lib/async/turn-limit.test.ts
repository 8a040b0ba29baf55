import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createPace } from '../../../src/lib/async/turn-limit.js';

test('runs a limited amount of work per turn of the event loop, in the order of the calls', async () => {
  const pace = createPace(2);
  const ran: string[] = [];
  const schedule = (name: string) => pace(() => ran.push(name));
  const turns: string[] = [];
  const recordTurn = async () => {
    const before = ran.length;
    await nextTurn();
    turns.push(ran.slice(before).join(' '));
  };

  for (const name of ['a', 'b', 'c']) schedule(name);
  pace(() => schedule('e'));
  schedule('d');
  expect(ran).toEqual([]);
  for (let turn = 0; turn < 4; turn++) await recordTurn();
  expect(turns).toEqual(['a b', 'c', 'd e', '']);

  schedule('f');
  await recordTurn();
  expect(ran.at(-1)).toBe('f');
});
