import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { createOutflow } from '../../../src/server/http/response-budget.js';

const mebibyte = 1024 * 1024;
const respond = (closed = false) =>
  Object.assign(new EventEmitter(), { closed }) as unknown as ServerResponse;

test('admits long answers until too much waits, and again once one is sent', () => {
  const outflow = createOutflow(10 * mebibyte);
  const first = respond();
  expect(outflow.admits(first, 6 * mebibyte, 'a')).toBe(true);
  expect(outflow.admits(respond(), 5 * mebibyte, 'b')).toBe(false);
  expect(outflow.admits(respond(), 4 * mebibyte, 'c')).toBe(true);
  first.emit('close');
  expect(outflow.admits(respond(), 7 * mebibyte, 'd')).toBe(false);
  expect(outflow.admits(respond(), 6 * mebibyte, 'd')).toBe(true);
});

test('admits a single answer of any length, and short ones whatever waits', () => {
  const outflow = createOutflow(mebibyte);
  expect(outflow.admits(respond(), 20 * mebibyte, 'a')).toBe(true);
  expect(outflow.admits(respond(), mebibyte, 'b')).toBe(false);
  expect(outflow.admits(respond(), 1_000, 'a')).toBe(true);
});

test('does not count an answer whose client has gone', () => {
  const outflow = createOutflow(mebibyte);
  expect(outflow.admits(respond(true), mebibyte, 'a')).toBe(true);
  expect(outflow.admits(respond(), mebibyte, 'b')).toBe(true);
});

test('leaves most of it to other users, all who are not signed in being one', () => {
  for (const user of ['a', undefined]) {
    const outflow = createOutflow(8 * mebibyte);
    const response = respond();
    expect(outflow.admits(response, mebibyte, user)).toBe(true);
    expect(outflow.admits(respond(), mebibyte, user)).toBe(true);
    expect(outflow.admits(respond(), mebibyte, user)).toBe(false);
    expect(outflow.admits(respond(), mebibyte, 'b')).toBe(true);
    response.emit('close');
    expect(outflow.admits(respond(), mebibyte, user)).toBe(true);
  }
});
