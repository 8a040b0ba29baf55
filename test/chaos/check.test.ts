import { expect, test } from 'vitest';
import type { Booking, Listed, Shown } from './check-bookings.js';
import { findFaults, type Evidence } from './check.js';
import type { StoredEvent } from './contents.js';
import { faults, type Fault } from './faults.js';
import type { Profile } from './profiles.js';
import { createRandom } from './random.js';
import type { Sent } from './sender.js';
import type { Seen } from './subscriber.js';
import { expectedFrom } from './expected.js';

function shipment(seq: number, type = 'in_transit', at = seq, rest = {}): StoredEvent {
  const created_at = `2026-01-0${at}T00:00:00Z`;
  const data = { shipment: { id: 's1', status: type, ...rest } };
  return stored('shipments', seq, { id: `e${seq}`, type: `shipment.${type}`, created_at, data });
}
function payment(seq: number, created: number, rest = {}): StoredEvent {
  const data = { object: { id: 'p1', ...rest } };
  return stored('payments', seq, { id: `e${seq}`, type: 'payment.succeeded', created, livemode: true, data });
}
function stored(family: StoredEvent['family'], seq: number, body: object): StoredEvent {
  return { family, seq, event_id: `e${seq}`, body: JSON.stringify(body) };
}

/** A log, and what a correct gateway shows of it. */
function evidence(events: readonly StoredEvent[], more: Partial<Evidence> = {}): Evidence {
  const expected = [...expectedFrom(events).values()];
  const last = (family: string) => expected.filter((it) => it.family === family).slice(-1);
  return {
    sent: [],
    contents: { head: events.length, ids: events, events },
    readModels: {
      shipments: last('shipments').map(({ entity }) => entity),
      payments: last('payments').map(({ entity }) => entity),
      appointments: [],
    },
    subscribers: [],
    bookings: [],
    ...more,
  };
}

const sent = (id: string): Sent => ({ id, family: 'shipments', type: '', body: '', acknowledged: true });
const saw = (ids: readonly string[], more: Partial<Seen> = {}, profile: Partial<Profile> = {}) => ({
  profile: { name: 'all', family: 'shipments', selects: 'all', ...profile } as const,
  seen: ids.map((eventId): Seen => {
    const { event = {}, entity = {} } = expectedFrom(three).get(eventId) ?? {};
    return { eventId, cursor: eventId, event, entity, newest: undefined, ...more };
  }),
});
const three = [shipment(1), shipment(2), shipment(3)];
const all = three.map(({ event_id }) => event_id);
const delivering = (...subscribers: Evidence['subscribers']) => evidence(three, { subscribers });

const answer: Shown = { id: 'b1', upstreamId: 'a1', confirmation: 'CONFIRMED' };
const patient = 'Patient/1';
const row: Listed = { ...answer, participants: [{ actor: { reference: patient } }] };
const booking: Booking = { patient, answers: [answer], refusals: [], booked: ['a1'] };
const booked = (more: Partial<Booking>, appointments = [row]) =>
  evidence([], {
    bookings: [{ ...booking, ...more }],
    readModels: { shipments: [], payments: [], appointments },
  });

const cases: readonly (readonly [Fault, Evidence])[] = [
  ['acknowledged and lost', evidence(three, { sent: [sent('e4')] })],
  [
    'acknowledged and lost',
    evidence(three, { sent: [sent('e3')], contents: { head: 3, ids: three.slice(0, 2), events: three } }),
  ],
  ['stored twice', evidence([...three, { ...shipment(4), event_id: 'e3' }])],
  ['delivered twice', delivering(saw(['e1', 'e2', 'e2', 'e3']))],
  ['out of log order', delivering(saw(['e1', 'e3', 'e2']))],
  ['out of log order', delivering(saw([...all, 'e9']))],
  [
    'out of log order',
    evidence([shipment(1), shipment(3)], {
      contents: { head: 3, ids: [], events: [shipment(1), shipment(3)] },
    }),
  ],
  ['out of log order', evidence(three, { contents: { head: 2, ids: three, events: three } })],
  ['not delivered', delivering(saw(['e1', 'e3']))],
  ['not delivered', delivering(saw(['e1', 'e3'], {}, { isLeaving: true }))],
  ['not delivered', delivering(saw(['e1', 'e3'], {}, { filter: { shipmentIds: ['s1'] } }))],
  ['told differently', delivering(saw(all), saw(all, { cursor: 'other' }))],
  ['told differently', delivering(saw(all, { event: { stage: 'DELIVERED' } }))],
  ['told differently', delivering(saw(all, { newest: 'e1' }))],
  ['folded wrongly', delivering(saw(all, { entity: { stage: 'DELIVERED' } }))],
  ['folded wrongly', evidence(three, { readModels: evidence([]).readModels })],
  ['folded wrongly', evidence(three, { readModels: evidence(three.slice(0, 2)).readModels })],
  ['folded wrongly', evidence([payment(1, 1)], { readModels: evidence([payment(1, 2)]).readModels })],
  ['booked twice', booked({ booked: ['a1', 'a2'] })],
  ['booked twice', booked({}, [row, { ...row, id: 'b2' }])],
  ['booking lost', booked({}, [])],
  ['booking lost', booked({ answers: [] }, [])],
  ['booking lost', booked({ booked: [] })],
  ['booking lost', booked({ refusals: ['CONFLICT'] })],
];

test.each(cases)('finds the fault: %s', (fault, found) => {
  expect(new Set(findFaults(found).map((finding) => finding.fault))).toEqual(new Set([fault]));
});

test('finds every fault, except those that a run notices while they happen', () => {
  const seen: readonly Fault[] = [
    'refused wrongly',
    'turned away',
    'outlived its sign-out',
    'ended by itself',
    'written to an old primary',
  ];
  expect(new Set([...cases.map(([fault]) => fault), ...seen])).toEqual(new Set(faults));
});

test('finds no fault in correct evidence', () => {
  const leaving = saw(['e2'], {}, { isLeaving: true });
  const filtered = saw([], {}, { filter: { stages: ['DELIVERED'] } });
  expect(
    findFaults(
      evidence(three, {
        sent: all.map(sent),
        subscribers: [saw(all), saw(all, { newest: 'e3' }), leaving, filtered],
      }),
    ),
  ).toEqual([]);
  expect(findFaults(booked({}))).toEqual([]);
  expect(
    findFaults(booked({ answers: [] }, [{ ...row, confirmation: 'UNCONFIRMED', upstreamId: null }])),
  ).toEqual([]);
});

test('expects folds by time, then stage, then place in the log, without erasing known values', () => {
  const fold = (...events: readonly StoredEvent[]) => [...expectedFrom(events).values()].at(-1)?.entity;
  const late = shipment(2, 'in_transit', 1, { carrier: 'north' });
  expect(fold(shipment(1, 'delivered', 3), late)).toMatchObject({ stage: 'DELIVERED', carrier: 'north' });
  expect(fold(shipment(1, 'delivered', 1), shipment(2, 'created', 1))).toMatchObject({ stage: 'DELIVERED' });
  expect(
    fold(shipment(1, 'created', 1, { carrier: 'a' }), shipment(2, 'created', 1, { carrier: 'b' })),
  ).toMatchObject({ carrier: 'b' });
  expect(fold(payment(1, 2_000, { amount: 1 }), payment(2, 1_000, { amount: 2, status: 'old' }))).toEqual({
    paymentId: 'p1',
    livemode: true,
    amount: 1,
    status: 'old',
    updatedAt: '1970-01-01T00:33:20.000Z',
  });
});

test('random numbers are the same for the same seed', () => {
  const draw = (seed: string) => {
    const random = createRandom(seed).fork('a');
    return Array.from({ length: 20 }, () => random.whole(0, 1_000_000));
  };
  expect(draw('7')).toEqual(draw('7'));
  expect(draw('7')).not.toEqual(draw('8'));
});
