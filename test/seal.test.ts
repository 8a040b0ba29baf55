import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMac, createSealer } from '../src/seal.js';

test('the code of a message is that of RFC 2104', () => {
  const keys = fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(keys, fc.string({ unit: 'binary' }), (key, text) => {
      const expected = createHmac('sha256', key).update(text).digest();
      expect(createMac(key)(text)).toEqual(expected);
    }),
  );
});

test('equal texts are sealed alike in one place only, and open there alone', () => {
  const sealer = createSealer([randomBytes(32)]);
  const sealed = sealer.sealSame('text', 'here');
  expect(sealer.sealSame('text', 'here')).toBe(sealed);
  expect(sealer.sealSame('text', 'there')).not.toBe(sealed);
  expect([sealer.open(sealed, 'here'), sealer.open(sealed, 'there')]).toEqual(['text', undefined]);
});
