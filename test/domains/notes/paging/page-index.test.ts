import { expect, test } from 'vitest';
import { createSightings, type PagePlace } from '../../../../src/domains/notes/paging/page-index.js';
import { heapInUse, mebibyte } from '../../../support/memory.js';
import { noteOf } from '../service.js';

const placeOf = (tag?: string, cursor?: string): PagePlace => ({
  filter: { tag },
  start: { limit: 20, cursor },
});
const notes = [noteOf(1), noteOf(2)];

test('a remembered page does not keep the text of its request in memory', () => {
  const sightings = createSightings();
  const before = heapInUse();
  for (let at = 0; at < 60; at += 1) {
    const request = `{ notes(filter: { tag: "a-tag-of-some-length-${at}" }) } #${'x'.repeat(mebibyte)}`;
    const tag = request.slice(24, request.indexOf('"', 24));
    sightings.remember(`session ${at % 3}`, placeOf(tag, `cursor ${tag}`), notes);
    expect(sightings.find(`session ${at % 3}`, '1')?.filter).toEqual({
      tag: expect.stringMatching(/^a-tag/),
    });
  }
  expect(heapInUse() - before).toBeLessThan(20 * mebibyte);
});

test('tags and cursors count towards the memory limit, even if their pages have few notes', () => {
  const sightings = createSightings(500_000);
  const long = (letter: string) => letter.repeat(30_000);
  sightings.remember('early', placeOf(), notes);
  const before = heapInUse();
  for (let at = 0; at < 100; at += 1)
    sightings.remember(`late ${at}`, placeOf(long('t') + at, long('c') + at), notes);
  expect(sightings.find('early', '1')).toBeUndefined();
  expect(sightings.find('late 0', '1')).toBeUndefined();
  expect(sightings.find('late 99', '1')).toBeDefined();
  expect(heapInUse() - before).toBeLessThan(mebibyte);
});

test('an empty page is not remembered, and replaces only what was known of the same page', () => {
  const sightings = createSightings();
  const before = heapInUse();
  sightings.remember('mine', placeOf('tag'), notes);
  for (let at = 0; at < 500; at += 1) sightings.remember('mine', placeOf('x'.repeat(40_000) + at), []);
  for (let at = 0; at < 500; at += 1) sightings.remember(`other ${at}`, placeOf('x'.repeat(40_000) + at), []);
  expect(sightings.find('mine', '2')).toEqual(placeOf('tag'));
  expect(heapInUse() - before).toBeLessThan(mebibyte);
  sightings.remember('mine', placeOf('tag'), []);
  expect(sightings.find('mine', '2')).toBeUndefined();
});

test('a look-up takes no longer for pages of many notes', () => {
  const sightings = createSightings();
  const idAt = (at: number) => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`;
  const page = Array.from({ length: 100 }, (_, at) => ({ ...noteOf(1), upstreamId: idAt(at) }));
  for (let at = 0; at < 50; at += 1) sightings.remember('mine', placeOf(undefined, `${at}`), page);
  const before = process.cpuUsage();
  for (let at = 100; at < 10_100; at += 1) sightings.find('mine', idAt(at));
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500);
});
