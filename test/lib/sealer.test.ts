import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSealer } from '../../src/lib/sealer.js';

test('equal texts are sealed alike in the same place only, and open only there', () => {
  const sealer = createSealer([randomBytes(32)]);
  const sealed = sealer.sealDeterministically('text', 'here');
  expect(sealer.sealDeterministically('text', 'here')).toBe(sealed);
  expect(sealer.sealDeterministically('text', 'there')).not.toBe(sealed);
  expect([sealer.open(sealed, 'here'), sealer.open(sealed, 'there')]).toEqual(['text', undefined]);
});

test('no two texts or places share a nonce', () => {
  const sealer = createSealer([randomBytes(32)]);
  const all = [
    sealer.seal('text', 'here'),
    sealer.seal('text', 'here'),
    sealer.sealDeterministically('text', 'here'),
    sealer.sealDeterministically('next', 'here'),
    sealer.sealDeterministically('text', 'there'),
    sealer.sealDeterministically('ext', 'heret'), // place and text together have the same characters as before
  ];
  const nonces = all.map((sealed) => Buffer.from(sealed, 'base64url').subarray(4, 16).toString('hex'));
  expect(new Set(nonces).size).toBe(all.length);
});

test.each(['', 'text', 'ein Wörtchen'])(
  '%j can be opened again, but not if it was altered or truncated',
  (text) => {
    const sealer = createSealer([randomBytes(32)]);
    const sealed = sealer.seal(text, 'here');
    expect(sealer.open(sealed, 'here')).toBe(text);
    const bytes = Buffer.from(sealed, 'base64url');
    const altered = Array.from(bytes, (byte, at) =>
      Buffer.from(bytes.with(at, byte ^ 1)).toString('base64url'),
    );
    const cut = Array.from(bytes, (_, length) => bytes.subarray(0, length).toString('base64url'));
    for (const other of [...altered, ...cut, `${sealed}=`, `${sealed} `])
      expect([other, sealer.open(other, 'here')]).toEqual([other, undefined]);
  },
);

test('opens what any of its keys sealed, and knows whether the first key did', () => {
  const [young, old] = [randomBytes(32), randomBytes(32)];
  const [before, after] = [createSealer([old]), createSealer([young, old])];
  const [first, second] = [before.seal('text', 'here'), after.seal('text', 'here')];
  expect([first, second].map((sealed) => after.open(sealed, 'here'))).toEqual(['text', 'text']);
  expect([first, second].map((sealed) => before.open(sealed, 'here'))).toEqual(['text', undefined]);
  expect([first, second].map(after.isCurrent)).toEqual([false, true]);
});
