import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Broadcast } from '../../../src/events/feed/broadcast.js';
import { createMember } from '../members.js';

test.each([0, 1, 2, 3, 4])('hands on an item that comes %i microtasks after another', async (microtasks) => {
  const broadcast = new Broadcast<string>({ value: 0 });
  const member = createMember();
  broadcast.join('all', (item) => item, member);
  broadcast.offer('first');
  for (let passed = 0; passed < microtasks; passed += 1) await Promise.resolve();
  broadcast.offer('second');
  await nextTurn();
  expect(member.got).toEqual(['first', 'second']);
});

test('resolves once an item is rendered for all, and hands it to those whose filters let it pass', async () => {
  const sent = { value: 0 };
  const broadcast = new Broadcast<number>(sent);
  const [even, all] = [createMember(), createMember()];
  broadcast.join('even', async (item) => (item % 2 === 0 ? `even ${item}` : undefined), even);
  broadcast.join('all', (item) => String(item), all);
  for (const item of [1, 2, 3]) await broadcast.send(item);
  expect(even.got).toEqual(['even 2']);
  expect(all.got).toEqual(['1', '2', '3']);
  expect(sent.value).toBe(4);
});

test('hands all members of a group the same payloads, by which they know that the bytes are the same', async () => {
  const broadcast = new Broadcast<string>({ value: 0 });
  const given: unknown[] = [];
  const deliver = (payloads: readonly string[]) => void given.push(payloads);
  for (let count = 0; count < 2; count += 1)
    broadcast.join('all', (item) => item, createMember(undefined, { deliver }));
  await broadcast.send('one');
  expect(given).toEqual([['one'], ['one']]);
  expect(given[0]).toBe(given[1]);
});

test('ends a group whose item cannot be rendered, and no other', async () => {
  const audiences: boolean[] = [];
  const broadcast = new Broadcast<string>({ value: 0 }, (isThere) => audiences.push(isThere));
  const [broken, whole] = [createMember(), createMember()];
  const fault = new Error('It cannot be rendered.');
  broadcast.join('broken', () => Promise.reject(fault), broken);
  const leave = broadcast.join('whole', (item) => item, whole);
  await broadcast.send('one');
  expect(await broken.ended).toBe(fault);
  expect(broadcast.size).toBe(1);
  await broadcast.send('two');
  expect(whole.got).toEqual(['one', 'two']);
  leave();
  expect(audiences).toEqual([true, false]);
});

test('renders items for many groups over several turns of the event loop', async () => {
  const broadcast = new Broadcast<string>({ value: 0 });
  let turns = 0;
  const turnsAt = new Set<number>();
  const render = (item: string) => {
    for (const until = performance.now() + 5; performance.now() < until;);
    turnsAt.add(turns);
    return item;
  };
  const members = Array.from({ length: 20 }, () => createMember());
  for (const [at, member] of members.entries()) broadcast.join(`group ${at}`, render, member);
  let counting = true;
  const count = () => {
    turns += 1;
    if (counting) setImmediate(count);
  };
  count();
  for (const item of ['first', 'second']) await broadcast.send(item);
  counting = false;
  for (const { got } of members) expect(got).toEqual(['first', 'second']);
  expect(turnsAt.size).toBeGreaterThan(5);
});
