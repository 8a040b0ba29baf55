import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSealer } from '../src/seal.js';

test('equal texts are sealed alike in one place only, and open there alone', () => {
  const sealer = createSealer([randomBytes(32)]);
  const sealed = sealer.sealSame('text', 'here');
  expect(sealer.sealSame('text', 'here')).toBe(sealed);
  expect(sealer.sealSame('text', 'there')).not.toBe(sealed);
  expect([sealer.open(sealed, 'here'), sealer.open(sealed, 'there')]).toEqual(['text', undefined]);
});
