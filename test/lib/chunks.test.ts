import { expect, test } from 'vitest';
import { blockLength, Chunks } from '../../src/lib/chunks.js';

const kibibyte = 1024;

test.each([
  ['single bytes', Array.from({ length: 40 * kibibyte }, () => 1)],
  ['long ones between short ones', [10, 20 * kibibyte, 10, 10, blockLength, 1]],
  ['one', [10]],
  ['none', []],
])('chunks are joined in order: %s', (_, lengths) => {
  const parts = lengths.map((length, at) => Buffer.alloc(length, at));
  const chunks = new Chunks();
  for (const part of parts) chunks.add(part);
  expect(chunks.concat().equals(Buffer.concat(parts))).toBe(true);
});

test('a block that is hardly filled is not kept', () => {
  const chunks = new Chunks();
  for (const text of ['ab', 'cd']) chunks.add(Buffer.from(text));
  const whole = chunks.concat();
  expect(whole.toString()).toBe('abcd');
  expect(whole.buffer.byteLength).toBeLessThan(blockLength);
});
