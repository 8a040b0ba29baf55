import { expect, test } from 'vitest';
import type { Sink } from '../../../src/client/core/transport.js';
import { TriviumError } from '../../../src/client/core/error.js';
import { createStreams, type Part } from '../../../src/client/live/streams.js';

const updates = 'subscription ($after: String) { shipmentUpdates(after: $after) { cursor } }';
const update = (cursor: string) => ({ data: { shipmentUpdates: { cursor } } });

/** The streams of a client that is fed by hand, and who takes part. */
function openStreams() {
  const sinks: Sink[] = [];
  const streams = createStreams((_, __, sink) => {
    sinks.push(sink);
    return () => {};
  });
  /** Joins from a place; `heard` is called with each cursor, or the code of the failure. */
  const join = (after: string, heard: (what: string) => void): Part =>
    streams.join(updates, {}, after, {
      next: (_, cursor) => heard(cursor!),
      error: ({ code }) => heard(code),
    });
  return { sinks, join };
}

test('who leaves while another hears of the end hears nothing of it', () => {
  const { sinks, join } = openStreams();
  const heard: string[] = [];
  join('a', (what) => {
    heard.push(what);
    other.stop();
  });
  const other = join('a', () => expect.unreachable());
  sinks[0]!.error(new TriviumError('FORBIDDEN', 'no'));
  expect(heard).toEqual(['FORBIDDEN']);
});

test('who leaves while another is caught up, as two streams become one, hears nothing more', () => {
  const { sinks, join } = openStreams();
  join('a', () => {});
  for (const cursor of ['b', 'c']) sinks[0]!.next(update(cursor));
  const heard: string[] = [];
  const left: string[] = [];
  join('z', (cursor) => {
    heard.push(cursor);
    if (cursor === 'c') leaving.stop();
  });
  const leaving = join('z', (cursor) => left.push(cursor));
  sinks[1]!.next(update('b'));
  sinks[0]!.next(update('d'));
  expect(sinks).toHaveLength(2);
  expect([heard, left]).toEqual([['b', 'c', 'd'], ['b']]);
});

test('parts at many places have a few streams at once, and each hears every update once', () => {
  const { sinks, join } = openStreams();
  const heard = Array.from({ length: 20 }, (): string[] => []);
  for (const [index, mine] of heard.entries()) join(`of ${index}`, (cursor) => mine.push(cursor));
  expect(sinks).toHaveLength(8);
  for (let told = 0; told < sinks.length; told++) sinks[told]!.next(update('event'));
  expect(sinks).toHaveLength(20);
  expect(heard).toEqual(heard.map(() => ['event']));
});
