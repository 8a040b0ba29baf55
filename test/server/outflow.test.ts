import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { createOutflow } from '../../src/server/outflow.js';

const mebibyte = 1024 * 1024;
const respond = (closed = false) =>
  Object.assign(new EventEmitter(), { closed }) as unknown as ServerResponse;

test('admits long answers until too much waits, and again once one is sent', () => {
  const outflow = createOutflow(10 * mebibyte);
  const first = respond();
  expect(outflow.admits(first, 6 * mebibyte)).toBe(true);
  expect(outflow.admits(respond(), 5 * mebibyte)).toBe(false);
  expect(outflow.admits(respond(), 4 * mebibyte)).toBe(true);
  first.emit('close');
  expect(outflow.admits(respond(), 7 * mebibyte)).toBe(false);
  expect(outflow.admits(respond(), 6 * mebibyte)).toBe(true);
});

test('admits a single answer of any length, and short ones whatever waits', () => {
  const outflow = createOutflow(mebibyte);
  expect(outflow.admits(respond(), 20 * mebibyte)).toBe(true);
  expect(outflow.admits(respond(), mebibyte)).toBe(false);
  expect(outflow.admits(respond(), 1_000)).toBe(true);
});

test('does not count an answer whose client has gone', () => {
  const outflow = createOutflow(mebibyte);
  expect(outflow.admits(respond(true), mebibyte)).toBe(true);
  expect(outflow.admits(respond(), mebibyte)).toBe(true);
});
