import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Multicast } from '../../../src/events/feed/multicast.js';
import type { Sources } from '../../../src/events/feed/log-reader.js';
import type { LogEntry } from '../../../src/events/log/log.js';
import { Pace } from '../../../src/lib/async/pace.js';
import { heapInUse, mebibyte } from '../../support/memory.js';
import { createMember, createRendering } from '../members.js';

const pageSize = 32;

/** The past of a log of long events, read anew each time. */
function createSources(perTurn = 32): Sources {
  const entry = (seq: number) => {
    const event = Buffer.alloc(10_000, String(seq)).toString('latin1');
    const shown = { seq, witness: String(seq), family: 'shipments', entityId: 'one' };
    return { ...shown, event, weight: event.length } as Partial<LogEntry>;
  };
  const page = async (seq: number) => {
    const first = seq - ((seq - 1) % pageSize);
    return Array.from({ length: pageSize }, (_, at) => entry(first + at) as LogEntry);
  };
  const retry = (read: () => Promise<unknown>) => read();
  const tail = {
    entry: () => undefined,
    position: () => ({ seq: 1_000_000, witness: '' }),
    follow: () => () => undefined,
  };
  const sent = { live: { value: 0 }, replayed: { value: 0 } };
  return { past: { page }, tail, retrier: { retry }, pace: new Pace(perTurn), sent } as unknown as Sources;
}

/** Clients that take nothing: what would go on once they do. */
const waiting: unknown[] = [];
const wait = () => new Promise<never>((...settle) => void waiting.push(settle));

test.each([
  ['to be written', { replay: wait }],
  ['until there is room', { untilRoom: wait }],
])('members hold nothing of the log while updates for their clients wait %s', async (_, slow) => {
  const multicast = new Multicast(createSources());
  const rendering = createRendering(({ seq }) => (seq % pageSize === 1 ? `${seq}` : undefined));
  const before = heapInUse();
  const members = Array.from({ length: 200 }, (__, at) => createMember(at * pageSize, slow));
  for (const member of members) multicast.join('group', rendering, member);
  for (let turns = 0; turns < 200; turns += 1) await nextTurn();
  await expect.poll(() => (heapInUse() - before) / mebibyte, { timeout: 5_000 }).toBeLessThan(10);
});

test('members of another caller get the past as soon as one of a caller who has many', async () => {
  const multicast = new Multicast(createSources(1));
  const rendering = createRendering();
  let sent = 0;
  const count = async () => (sent += 1) < 1_000;
  const join = (caller: string, after: number, replay: () => Promise<boolean>) =>
    multicast.join('group', rendering, { ...createMember(after, { replay }), caller });
  for (let at = 0; at < 500; at += 1) join('many', at * pageSize, count);
  const sentBefore = await new Promise((resolve) => {
    join('other', 500_000, async () => {
      resolve(sent);
      return false;
    });
  });
  expect(sentBefore).toBeLessThan(20);
});
