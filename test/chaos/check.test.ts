import { expect, test } from 'vitest';
import { faults, findFaults, type Fault } from './check.js';
import type { Contents, StoredEvent } from './contents.js';
import { createRandom } from './random.js';
import type { Sent } from './sender.js';
import type { Subscriber } from './subscriber.js';

const event = (seq: number, stage = 'CREATED', occurredAt = `2026-01-0${seq}`): StoredEvent => ({
  seq,
  family: 'shipments',
  event_id: `e${seq}`,
  entity_id: 's1',
  event: { stage, occurredAt },
});
const log = (events: readonly StoredEvent[], more: Partial<Contents> = {}): Contents => ({
  head: events.length,
  ids: events,
  events,
  shipments: [{ shipment_id: 's1', stage: 'CREATED' }],
  ...more,
});
const sent = (id: string): Sent => ({ id, family: 'shipments', type: '', body: '', acknowledged: true });
const subscriber = (ids: readonly string[], content = 'one'): Subscriber => ({
  habit: { name: 'all', family: 'shipments' },
  seen: ids.map((eventId) => ({ eventId, content: `${eventId} ${content}` })),
  endings: [],
  stop: async () => undefined,
});
const three = [event(1), event(2), event(3)];
const all = three.map(({ event_id }) => event_id);

const cases: readonly (readonly [Fault, readonly Sent[], Contents, readonly Subscriber[]])[] = [
  ['acknowledged and lost', [sent('e4')], log(three), []],
  ['acknowledged and lost', [sent('e3')], log(three, { ids: three.slice(0, 2) }), []],
  ['stored twice', [], log([...three, { ...event(4), event_id: 'e1' }]), []],
  ['delivered twice', [], log(three), [subscriber(['e1', 'e2', 'e2', 'e3'])]],
  ['out of log order', [], log(three), [subscriber(['e1', 'e3', 'e2'])]],
  ['out of log order', [], log(three), [subscriber([...all, 'e9'])]],
  ['out of log order', [], log([event(1), event(3)], { head: 3 }), []],
  ['out of log order', [], log(three, { head: 2 }), []],
  ['not delivered', [], log(three), [subscriber(['e1', 'e3'])]],
  ['told differently', [], log(three), [subscriber(all), subscriber(all, 'other')]],
  ['folded wrongly', [], log([event(1), event(2, 'DELIVERED'), event(3, 'IN_TRANSIT', '2026-01-01')]), []],
];

test.each(cases)('finds what is %s', (fault, acknowledged, contents, subscribers) => {
  const found = findFaults(acknowledged, contents, subscribers).map((finding) => finding.fault);
  expect(new Set(found)).toEqual(new Set([fault]));
});

test('finds every fault but a process that ends, which the run hears of', () => {
  expect(new Set(cases.map(([fault]) => fault))).toEqual(
    new Set(faults.filter((it) => it !== 'ended by itself')),
  );
});

test('finds nothing where all is well', () => {
  expect(findFaults(all.map(sent), log(three), [subscriber(all), subscriber(all)])).toEqual([]);
});

test('a seed gives the same draws again', () => {
  const draw = (seed: string) => {
    const random = createRandom(seed).fork('a');
    return Array.from({ length: 20 }, () => random.whole(0, 1_000_000));
  };
  expect(draw('7')).toEqual(draw('7'));
  expect(draw('7')).not.toEqual(draw('8'));
});
