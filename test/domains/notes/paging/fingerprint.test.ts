import { expect, test } from 'vitest';
import { fingerprint } from '../../../../src/domains/notes/paging/fingerprint.js';
import { noteOf } from '../service.js';

test('fingerprints differ, and use all of their 36 bits', () => {
  const all = Array.from({ length: 50_000 }, (_, at) => fingerprint(noteOf(at)));
  expect(new Set(all).size).toBe(all.length);
  for (const at of [0, 1, 2, 3, 4, 5]) expect(new Set(all.map((print) => print[at])).size).toBe(64);
  expect(new Set(all.map(({ length }) => length))).toEqual(new Set([6]));
});

test('fingerprints never change, as clients hold cursors made of them', () => {
  const prints = ['', '1', 'note_1'].map((upstreamId) => fingerprint({ ...noteOf(1), upstreamId }));
  expect(prints).toEqual(['LwnoIs', 'PW3qr6', 'a657mr']);
});
