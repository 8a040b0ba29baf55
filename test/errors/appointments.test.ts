import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { codesOf } from '../support/testbed.js';
import { faultsOf, only, type Person, type Harness, startHarness } from './harness.js';

const fields = `id upstreamId status start end bookedAt bookedBy confirmation
  participants { actor { reference resourceType resourceId } status }`;
const create = `mutation ($input: CreateAppointmentInput!) { createAppointment(input: $input) {
  appointment { ${fields} } appointmentEdge { cursor node { id } } errors { code message path } } }`;
const list = `query ($filter: AppointmentFilter, $first: Int, $after: String) {
  appointments(filter: $filter, first: $first, after: $after) { nodes { ${fields} } } }`;

const patient = { actor: { reference: 'Patient/42' }, status: 'ACCEPTED' };
const valid = {
  status: 'BOOKED',
  start: '2026-11-21T09:30:00.125+01:00',
  end: '2026-11-21T10:00:00+01:00',
  participants: [patient, { actor: { reference: 'Practitioner/7' }, status: 'NEEDS_ACTION' }],
};

let harness: Harness;
let person: Person;

beforeAll(async () => {
  harness = await startHarness();
});
beforeEach(async () => {
  harness.sandbox.faults.clear();
  person = await harness.join();
});
afterAll(() => harness.stop());

const book = async (input: object, by = person) => only(await by.ask(create, { input }));
const listed = async (variables: object = {}, by = person) => only(await by.ask(list, variables)).nodes;
const booked = () => harness.sandbox.appointments.booked;

describe('createAppointment', () => {
  test('books, sends date-times as they were written, and returns who booked and when', async () => {
    const before = harness.sandbox.clock.now();
    const { appointment, appointmentEdge, errors } = await book(valid);
    const upstream = booked().at(-1)!;
    expect(upstream).toEqual({
      id: expect.any(String),
      status: 'booked',
      start: valid.start,
      end: valid.end,
      participant: [
        { actor: { reference: 'Patient/42' }, status: 'accepted' },
        { actor: { reference: 'Practitioner/7' }, status: 'needs-action' },
      ],
    });
    expect(errors).toEqual([]);
    expect(appointment).toMatchObject({
      upstreamId: upstream.id,
      status: 'BOOKED',
      start: valid.start,
      end: valid.end,
      bookedBy: person.email,
      confirmation: 'CONFIRMED',
    });
    expect(appointment.participants[1]).toEqual({
      actor: { reference: 'Practitioner/7', resourceType: 'Practitioner', resourceId: '7' },
      status: 'NEEDS_ACTION',
    });
    const at = Date.parse(appointment.bookedAt);
    expect(at >= Math.floor(before) && at <= harness.sandbox.clock.now()).toBe(true);
    expect(appointmentEdge).toEqual({ node: { id: appointment.id }, cursor: expect.any(String) });
    expect(await listed({ filter: { participant: 'Practitioner/7' }, first: 1 })).toEqual([appointment]);
  });

  test('returns an edge whose cursor is valid in `appointments`', async () => {
    const older = await book(valid);
    await harness.sandbox.clock.advance(1000);
    const { appointmentEdge } = await book(valid, person);
    const [next] = await listed({ after: appointmentEdge.cursor, first: 1 });
    expect(next.id).toBe(older.appointment.id);
  });

  test.each(['2026-11-21T09:30:00Z', '2026-11-21T09:30:00.123456789Z', '2026-11-21T09:30-03:30'])(
    'sends the start %s as it is written',
    async (start) => {
      const { appointment } = await book({ ...valid, start, end: '2026-11-22T00:00:00Z' });
      expect([appointment.start, booked().at(-1)!.start]).toEqual([start, start]);
    },
  );

  test('accepts an end equal to the start, in another offset', async () => {
    const same = { start: '2026-11-21T09:30:00.5+01:00', end: '2026-11-21T08:30:00.500Z' };
    expect((await book({ ...valid, ...same })).errors).toEqual([]);
  });

  test.each<[string, object, readonly string[]]>([
    ['empty texts', { start: '', end: '' }, ['REQUIRED start', 'REQUIRED end']],
    ['an empty list of participants', { participants: [] }, ['REQUIRED participants']],
    [
      'a missing patient',
      { participants: [{ actor: { reference: 'Practitioner/7' }, status: 'ACCEPTED' }] },
      ['REQUIRED participants'],
    ],
    [
      'a patient spelled in lower case',
      { participants: [{ actor: { reference: 'patient/7' }, status: 'ACCEPTED' }] },
      ['REQUIRED participants'],
    ],
    ['a date without a time', { start: '2026-11-21' }, ['INVALID start']],
    ['a text that is not a date', { end: 'tomorrow' }, ['INVALID end']],
    ['a day that does not exist', { start: '2026-02-30T09:00:00Z' }, ['INVALID start']],
    [
      'an end before the start by its offset',
      { start: '2026-11-21T09:30:00+01:00', end: '2026-11-21T09:30:00+02:00' },
      ['INVALID end'],
    ],
    [
      'an end before the start by a fraction',
      { start: '2026-11-21T09:30:00.0000002Z', end: '2026-11-21T09:30:00.0000001Z' },
      ['INVALID end'],
    ],
    [
      'an empty reference',
      { participants: [{ actor: { reference: '' }, status: 'ACCEPTED' }, patient] },
      ['REQUIRED participants.0.actor.reference'],
    ],
    ...['Practitioner', 'Practitioner/', '/7', 'Practitioner/7/8', 'Practitioner/a b'].map(
      (reference): [string, object, readonly string[]] => [
        `the reference ${reference}`,
        { participants: [patient, { actor: { reference }, status: 'ACCEPTED' }] },
        ['INVALID participants.1.actor.reference'],
      ],
    ),
    ['an empty key', { idempotencyKey: '' }, ['INVALID idempotencyKey']],
    [
      'several errors at once',
      { start: 'soon', participants: [{ actor: { reference: 'Harness' }, status: 'ACCEPTED' }] },
      ['INVALID start', 'REQUIRED participants', 'INVALID participants.0.actor.reference'],
    ],
  ])('reports %s before any call', async (_, change, expected) => {
    const calls = await harness.callsOf(async () => {
      const payload = await book({ ...valid, ...change });
      expect(payload).toMatchObject({ appointment: null, appointmentEdge: null });
      expect(faultsOf(payload)).toEqual(expected);
    });
    expect(calls).toEqual([]);
  });

  test.each([400, 404, 409, 422])('books nothing if refused with %i', async (status) => {
    harness.sandbox.faults.add({ service: 'appointments', times: 1, act: { kind: 'answer', status } });
    const payload = await book(valid);
    expect(payload).toMatchObject({ appointment: null, appointmentEdge: null });
    expect(faultsOf(payload)).toEqual(['INVALID ']);
    expect(await listed({}, await harness.join('none.example'))).toEqual([]);
  });
});

describe('an idempotency key', () => {
  const keyed = { ...valid, idempotencyKey: 'k' };
  const posts = (run: () => Promise<unknown>) =>
    harness.callsOf(run).then((calls) => calls.filter((call) => call === 'POST /appointments').length);

  test('gives the first answer again and posts nothing', async () => {
    const count = await posts(async () => {
      const first = await book(keyed);
      expect(await book(keyed)).toEqual(first);
      const { participants, ...rest } = keyed;
      expect(await book({ participants, ...rest })).toEqual(first);
    });
    expect(count).toBe(1);
  });

  test('posts once for fifty concurrent requests', async () => {
    harness.sandbox.faults.add({ service: 'appointments', times: 1, act: { kind: 'delay', ms: 50 } });
    const before = booked().length;
    const answers = await Promise.all(Array.from({ length: 50 }, () => book(keyed)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(booked().length - before).toBe(1);
  });

  test.each<[string, object]>([
    ['status', { status: 'FULFILLED' }],
    ['start', { start: '2026-11-21T09:29:00Z', end: '2026-11-21T10:29:00Z' }],
    ['end', { end: '2026-11-21T11:00:00+01:00' }],
    ['participants', { participants: [patient] }],
    ['participant status', { participants: [{ ...patient, status: 'DECLINED' }, valid.participants[1]] }],
    ['spelling of a date-time', { start: '2026-11-21T08:30:00.125Z' }],
  ])('with another %s is a CONFLICT', async (_, change) => {
    const count = await posts(async () => {
      await book(keyed);
      const payload = await book({ ...keyed, ...change });
      expect(payload).toMatchObject({ appointment: null, appointmentEdge: null });
      expect(faultsOf(payload)).toEqual(['CONFLICT idempotencyKey']);
    });
    expect(count).toBe(1);
  });

  test('is independent of the same key of another user', async () => {
    const count = await posts(async () => {
      const one = await book(keyed);
      const two = await book({ ...keyed, status: 'NOSHOW' }, await harness.join());
      expect(one.appointment.id).not.toBe(two.appointment.id);
    });
    expect(count).toBe(2);
  });

  test('is free again after a refusal, even for another input', async () => {
    harness.sandbox.faults.add({ service: 'appointments', times: 1, act: { kind: 'answer', status: 422 } });
    expect(faultsOf(await book(keyed))).toEqual(['INVALID ']);
    const again = await book({ ...keyed, status: 'FULFILLED' });
    expect(again).toMatchObject({ appointment: { status: 'FULFILLED' }, errors: [] });
  });

  test('is optional: with null, each request makes a booking', async () => {
    const count = await posts(async () => {
      await book({ ...valid, idempotencyKey: null });
      await book({ ...valid, idempotencyKey: null });
    });
    expect(count).toBe(2);
  });
});

describe('appointments', () => {
  test('filters by status, by participant, and by a range of starts', async () => {
    const whose = (await harness.join()).email.replace(/@.*/, '');
    const me = { actor: { reference: `Patient/${whose}` }, status: 'ACCEPTED' };
    const made = async (start: string, status = 'BOOKED') =>
      (await book({ status, start, end: '2026-12-31T00:00:00Z', participants: [me] })).appointment.id;
    const early = await made('2026-11-21T09:00:00+01:00');
    const exact = await made('2026-11-21T09:00:00Z', 'CANCELLED');
    const late = await made('2026-11-21T09:00:00.001Z');
    const ids = async (filter: object) =>
      (await listed({ filter: { participant: me.actor.reference, ...filter } })).map(
        ({ id }: { id: string }) => id,
      );
    expect(await ids({})).toEqual([late, exact, early]);
    expect(await ids({ status: 'CANCELLED' })).toEqual([exact]);
    expect(await ids({ from: '2026-11-21T10:00:00+01:00' })).toEqual([late, exact]);
    expect(await ids({ to: '2026-11-21T10:00:00+01:00' })).toEqual([early]);
    expect(await ids({ from: '2026-11-21T08:00:00Z', to: '2026-11-21T09:00:00.0005Z' })).toEqual([
      exact,
      early,
    ]);
    expect(await ids({ from: '2026-11-21T09:00:00.0005Z', status: 'BOOKED' })).toEqual([late]);
    expect(await listed({ filter: { participant: 'Patient/nobody' } })).toEqual([]);
    const wrong = await person.ask(list, { filter: { from: 'soon' } });
    expect(codesOf(wrong)).toEqual(['BAD_USER_INPUT']);
  });

  test('shows the caller’s own bookings without APPOINTMENTS_READ, and everybody’s with it', async () => {
    const { appointment } = await book(valid);
    const node = `query ($id: ID!) { node(id: $id) { ... on Appointment { bookedBy } } }`;
    const stranger = await harness.join('none.example');
    expect(await listed({}, stranger)).toEqual([]);
    expect(only(await stranger.ask(node, { id: appointment.id }))).toBeNull();
    const reader = await harness.join();
    expect(await listed({ first: 1 }, reader)).toEqual([appointment]);
    expect(only(await reader.ask(node, { id: appointment.id }))).toEqual({ bookedBy: person.email });
  });
});
