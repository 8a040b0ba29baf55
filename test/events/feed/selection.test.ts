import { expect, onTestFinished, test, vi } from 'vitest';
import { createInterests } from '../../../src/events/feed/multicast.js';
import { selections, type Selection } from '../../../src/events/feed/selection.js';
import { isSelected } from '../../../src/events/feed/subscription-group.js';
import type { LogEntry } from '../../../src/events/log/log.js';
import { heapInUse, mebibyte } from '../../support/memory.js';

const entry = (changes: Partial<LogEntry> = {}): LogEntry => ({
  seq: 1,
  witness: '',
  family: 'shipments',
  eventId: 'event',
  entityId: 'entity',
  event: { type: 'step' },
  entity: {},
  weight: 0,
  ...changes,
});
const byType = ({ event }: LogEntry) => (event as { readonly type: string }).type;
const byEntity = ({ entityId }: LogEntry) => entityId;
const only = (keyOf: Selection['keyOf'], ...values: readonly string[]): Selection => ({
  keyOf,
  values: new Set(values),
});

test('selects an entry only if it matches every member of the filter', () => {
  const filter = (types?: readonly string[] | null, entities?: readonly string[] | null) =>
    selections({
      types: [byType, types],
      entities: [byEntity, entities],
      later: [({ seq }) => seq > 1, [false]],
    });
  expect(filter(['step'], null)).toHaveLength(2);
  expect(isSelected(entry(), filter())).toBe(true);
  expect(isSelected(entry(), filter(['leap', 'step'], ['entity']))).toBe(true);
  expect(isSelected(entry(), filter(['step'], []))).toBe(false);
  expect(isSelected(entry({ event: { type: 'leap' } }), filter(['step'], ['entity']))).toBe(false);
  expect(isSelected(entry({ entityId: null }), filter(null, ['entity']))).toBe(false);
  expect(isSelected(entry({ seq: 2 }), filter())).toBe(false);
  expect(isSelected(entry({ seq: 2 }), [])).toBe(true);
});

test('computes the key of an entry once, however many values there are', () => {
  let calls = 0;
  const counted = (one: LogEntry) => {
    calls += 1;
    return byType(one);
  };
  expect(isSelected(entry(), selections({ types: [counted, ['leap', 'rest', 'step']] }))).toBe(true);
  expect(calls).toBe(1);
});

test('refuses a list of more than 1,000 values in a filter', () => {
  const ids = Array.from({ length: 1_001 }, (_, at) => `${at}`);
  const select = (values: readonly string[]) =>
    selections({ types: [byType, ['a']], ids: [byEntity, values] });
  expect(select(ids.slice(1))).toHaveLength(2);
  expect(() => select(ids)).toThrow(
    expect.objectContaining({
      code: 'BAD_USER_INPUT',
      message: '`ids` has 1001 values; at most 1000 are allowed.',
    }),
  );
});

test('finds the interests of the family, and those with a selection only if it matches', () => {
  const interests = createInterests<string>();
  interests.add({ family: 'shipments', selected: [] }, 'all');
  interests.add({ family: 'payments', selected: [] }, 'payments');
  interests.add({ family: 'shipments', selected: [only(byType, 'step', 'leap')] }, 'steps and leaps');
  interests.add({ family: 'shipments', selected: [only(byEntity, 'entity')] }, 'the entity');
  interests.add({ family: 'shipments', selected: [only(byEntity)] }, 'nothing');
  const found = (changes?: Partial<LogEntry>) => [...interests.in(entry(changes))];
  expect(found()).toEqual(['all', 'steps and leaps', 'the entity']);
  expect(found({ event: { type: 'leap' }, entityId: 'other' })).toEqual(['all', 'steps and leaps']);
  expect(found({ event: { type: 'rest' }, entityId: 'other' })).toEqual(['all']);
  expect(found({ family: 'payments' })).toEqual(['payments']);
  expect(found({ family: 'others' })).toEqual([]);
  expect(found({ entityId: null })).toEqual([]);
});

test('finds each interest once, and none that was removed', () => {
  const interests = createInterests<string>();
  const forget = interests.add({ family: 'shipments', selected: [only(byType, 'step', 'step')] }, 'a');
  interests.add({ family: 'shipments', selected: [only(byType, 'step')] }, 'b');
  expect([...interests.in(entry())]).toEqual(['a', 'b']);
  forget();
  expect([...interests.in(entry())]).toEqual(['b']);
});

test('keeps nothing of removed interests in memory', () => {
  const interests = createInterests<string>();
  const add = (value: string) =>
    interests.add({ family: 'shipments', selected: [only(byType, value)] }, 'one');
  add('first')();
  const before = heapInUse();
  for (let at = 0; at < 50_000; at += 1) add(`value ${at}`)();
  expect(heapInUse() - before).toBeLessThan(2 * mebibyte);
  expect([...interests.in(entry())]).toEqual([]);
});

test('stays as it was if adding an interest fails', () => {
  const interests = createInterests<string>();
  interests.add({ family: 'shipments', selected: [only(byType, 'step')] }, 'one');
  const { set } = Map.prototype;
  vi.spyOn(Map.prototype, 'set').mockImplementation(function (this: Map<unknown, unknown>, key, value) {
    if (key === 'too much') throw new RangeError('Map maximum size exceeded');
    return set.call(this, key, value);
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const much = { family: 'shipments', selected: [only(byType, 'step', 'leap', 'too much')] };
  expect(() => interests.add(much, 'two')).toThrow(RangeError);
  expect([...interests.in(entry()), ...interests.in(entry({ event: { type: 'leap' } }))]).toEqual(['one']);
});

test('finds every interest that an unreadable entry may concern', () => {
  const interests = createInterests<string>();
  const failing = () => {
    throw new Error('This entry is of a later version.');
  };
  interests.add({ family: 'shipments', selected: [only(failing, 'a')] }, 'one');
  interests.add({ family: 'shipments', selected: [only(failing, 'b')] }, 'two');
  interests.add({ family: 'shipments', selected: [only(byType, 'other')] }, 'three');
  expect([...interests.in(entry())]).toEqual(['one', 'two']);
});
